import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { needs } from '../../run/needs.ts'
import { LONGEST_BLOCK_MS } from '../../run/until.ts'
import { builtEntry, CommandProcess, weir } from './command-process.ts'

/** Proposals for a line of words; the last one is being typed. */
type Complete = (words: readonly string[]) => readonly string[]

let folder: string

/** Writes the script of a shell as the page says. */
async function install(shell: string): Promise<string> {
  const { code, stdout, stderr } = await weir(['completion', shell]).ended
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const file = join(folder, shell === 'zsh' ? '_weir' : `weir.${shell}`)
  writeFileSync(file, stdout)
  return file
}

function lines(command: string, args: readonly string[]): readonly string[] {
  const out = execFileSync(command, args, {
    cwd: join(folder, 'here'),
    encoding: 'utf8',
    timeout: LONGEST_BLOCK_MS,
    env: {
      ...process.env,
      HOME: folder,
      TERM: 'xterm',
      PATH: `${join(folder, 'bin')}:${process.env['PATH']}`,
    },
  })
  return out.split('\n').filter((line) => line !== '')
}

/** What readline would get from the function of the script. */
function bash(script: string): Complete {
  return (words) =>
    lines('bash', [
      ...['--norc', '-c'],
      `source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() { :; }
       _weir; printf '%s\\n' "\${COMPREPLY[@]}"`,
      ...[script, 'weir', ...words],
    ])
}

/** What fish proposes itself. */
function fish(script: string): Complete {
  return (words) =>
    lines('fish', [
      ...['--no-config', '-c', 'source $argv[1]; complete -C "$argv[2]"'],
      ...[script, `weir ${words.join(' ')}`],
    ]).map((line) => line.split('\t')[0]!)
}

/** What zsh would show: the candidates that the script passes to `compadd`. */
function zsh(script: string): Complete {
  return (words) =>
    lines('zsh', [
      ...['-f', '-c'],
      `compdef() { :; }
       _describe() { local name="\${@[-1]}"; local -a all=("\${(@P)name}"); print -rl -- "\${all[@]%%:*}"; }
       _files() { print -rl -- *(N); }
       compadd() { local name="\${@[-1]}"; print -rl -- "\${(@P)name}"; }
       source "$1"; words=(weir "\${@:2}"); CURRENT=$#words; PREFIX=$words[-1]; _weir`,
      ...['zsh', script, ...words],
    ])
}

/** A JobManager that knows two running jobs and one that has ended. */
const JOBS = `
const job = (digit, name, end) => ({ jid: digit.repeat(32), name, 'end-time': end })
const jobs = [job('a', 'counts', -1), job('b', 'two words', -1), job('c', 'ended', 5)]
const server = require('node:http').createServer((_, response) => response.end(JSON.stringify({ jobs })))
server.listen(0, '127.0.0.1', () => console.log('port ' + server.address().port))
`

let jobManager: CommandProcess
let port: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-completion-'))
  mkdirSync(join(folder, 'here'))
  writeFileSync(join(folder, 'here', 'u.data'), '')
  mkdirSync(join(folder, 'bin'))
  const script = `#!/bin/sh\nexec '${process.execPath}' '${builtEntry()}' "$@"\n`
  writeFileSync(join(folder, 'bin', 'weir'), script, { mode: 0o755 })
  for (const topic of ['clicks', 'ratings']) {
    const created = await weir(['topic', 'create', topic, '--data-dir', join(folder, 'data')]).ended
    expect(created.code, created.stderr).toBe(0)
  }
  jobManager = new CommandProcess(process.execPath, ['-e', JOBS])
  ;[, port] = (await jobManager.printed(/port (\d+)/)) as unknown as [string, string]
})

afterAll(async () => {
  jobManager?.signal('SIGKILL')
  await jobManager?.ended
  rmSync(folder, { recursive: true, force: true })
})

const SHELLS: readonly (readonly [string, (script: string) => Complete])[] = [
  ['bash', bash],
  ['zsh', zsh],
  ['fish', fish],
]

describe.each(SHELLS)('the completion script of %s', (shell, completeWith) => {
  const isMissing =
    spawnSync(shell, ['--version'], { timeout: LONGEST_BLOCK_MS }).error !== undefined
  it(
    'proposes commands, subcommands and flags',
    needs(!isMissing, `no ${shell} here`),
    async () => {
      const complete = completeWith(await install(shell))
      expect(complete([''])).toEqual(expect.arrayContaining(['train', 'run', 'completion']))
      expect([...complete(['train', ''])].sort()).toEqual([
        'als',
        'bmf',
        'logistic',
        'popularity',
        'svm',
      ])
      expect([...complete(['kafka', 'transactions', ''])].sort()).toEqual([
        'abort',
        'commit',
        'list',
      ])
      const flags = complete(['train', 'als', '--implicit', '--'])
      expect(flags).toEqual(expect.arrayContaining(['--ratings', '--factors', '--help']))
      expect(flags).not.toContain('--sasl-password')
    },
  )

  it(
    'proposes keys of the configuration after -D, topics and running jobs',
    needs(!isMissing, `no ${shell} here`),
    async () => {
      const complete = completeWith(await install(shell))
      const keys = complete(['run', 'job.ts', '-D', 'rest.po']).map((key) => key.replace(/=$/, ''))
      expect(keys.filter((key) => key.startsWith('rest.po'))).toEqual(['rest.port'])
      // A loaded machine may need longer than a person waits for names: then there are none.
      const proposes = async (
        words: readonly string[],
        names: readonly string[],
      ): Promise<void> => {
        await expect.poll(() => [...complete([...words, ''])].sort()).toEqual(names)
      }
      const data = ['--data-dir', join(folder, 'data')]
      await proposes(['topic', 'consume', ...data], ['clicks', 'ratings'])
      await proposes(['run', 'histories', ...data, '--topic'], ['clicks', 'ratings'])
      // By their names, or by the id of a name that a shell would take for two words.
      await proposes(['stop', '-m', port], ['b'.repeat(32), 'counts'])
    },
  )
})
