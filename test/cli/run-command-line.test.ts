import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { describe, expect, it, vi } from 'vitest'
import { COMMANDS } from '../../src/cli/commands.ts'
import { runCommandLine } from '../../src/cli/run-command-line.ts'
import { WeirError } from '../../src/core/errors.ts'
import { recordedIo } from './recorded-io.ts'

async function run(...argv: string[]): Promise<{ code: number; out: string; err: string }> {
  const { io, out, err } = recordedIo()
  const code = await runCommandLine(argv, io)
  return { code, out: out.join('\n'), err: err.join('\n') }
}

describe('weir', () => {
  it('prints its version', async () => {
    const { version } = JSON.parse(
      readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
    ) as { version: string }
    expect(await run('--version')).toMatchObject({ code: 0, out: `weir ${version}` })
  })

  it('lists every verb with --help, and as an error if no verb is given', async () => {
    const help = await run('--help')
    // A long summary goes on in the next line.
    const text = help.out.replaceAll(/\s+/g, ' ')
    for (const { name, summary } of COMMANDS) expect(text).toContain(`${name} ${summary}`)
    const nothing = await run()
    expect(nothing).toMatchObject({ code: 2, out: '', err: help.out })
  })

  it.each(COMMANDS.map(({ name }) => name))(
    'shows the help of %s in both ways, with an example',
    async (name) => {
      const words = name.split(' ')
      const after = await run(...words, '--help')
      expect(after.code).toBe(0)
      expect(after.out).toContain(`Usage: weir ${name}`)
      expect(after.out, 'an example').toMatch(new RegExp(`^ {2}(\\S.* )?weir ${name}\\b`, 'm'))
      expect(await run('help', ...words)).toEqual(after)
    },
  )

  it('lists the verbs of a group with help', async () => {
    const { out } = await run('help', 'topic')
    expect(out).toContain('topic consume')
    expect(out).not.toContain('quickstart')
    for (const flag of ['--help', '-h']) {
      expect(await run('topic', flag)).toMatchObject({ code: 0, out, err: '' })
    }
  })

  it('lists the subcommands of a group when one is missing or unknown', async () => {
    expect(await run('topic')).toMatchObject({
      code: 2,
      err: 'weir: missing subcommand for "weir topic"; expected list, create, produce, consume, archive',
    })
    expect((await run('topic', 'remove')).err).toContain(
      'unknown subcommand "remove" for "weir topic"',
    )
  })

  it('refuses an argument that the command does not take', async () => {
    for (const words of [
      ['topic', 'list', 'foo'],
      ['run', 'als-serving', 's'],
      ['train', 'als', 'u'],
    ]) {
      expect(await run(...words)).toMatchObject({
        code: 2,
        err: expect.stringContaining(`unexpected argument "${words.at(-1)}". Usage: weir`),
      })
    }
  })

  it('ends a command that waits as soon as Ctrl-C comes', async () => {
    const silent = createServer().listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const { port } = silent.address() as AddressInfo
    const { io, err } = recordedIo({ interrupted: Promise.resolve() })
    expect(await runCommandLine(['predict', '1', '2', '--port', String(port)], io)).toBe(130)
    expect(err).toEqual(['weir: interrupted'])
    silent.close()
  })

  it.each([
    [['--json', 'topic', 'list', 'more']],
    [['topic', '--json', 'list', 'more']],
    [['--data-dir', 'list', 'topic', 'list', 'more']],
  ])('takes flags before and within a verb: %j', async (words) => {
    const { err, code } = await run(...words)
    expect(code).toBe(2)
    // The command was found: what is wrong is the word behind it.
    expect(err).toContain('Usage: weir topic list')
  })

  it.each([
    [['topics'], 'topic list'],
    [['topics', 'list'], 'topic list'],
    [['topic', 'lst'], 'topic list'],
    [['model', 'ls'], 'model list'],
    [['models', 'remove'], 'model drop'],
    [['token', 'rm'], 'token revoke'],
    [['topic', 'cat'], 'topic consume'],
    [['cluster', 'down'], 'cluster stop'],
  ])('guesses what %j means', async (words, meant) => {
    expect((await run(...words)).err).toMatch(new RegExp(`did you mean "(weir )?${meant}"\\?`))
  })

  it('prints the help of each verb within 80 columns, and the verbs in groups', async () => {
    const help = await run('--help')
    expect(help.out).toContain('\nTopics:\n  topic list')
    for (const words of [[], ...COMMANDS.map(({ name }) => name.split(' '))]) {
      const { out } = await run(...words, '--help')
      // A word that is longer than a line stays whole.
      const long = out.split('\n').filter((line) => line.length > 80 && / /.test(line.trim()))
      expect({ words, long }).toEqual({ words, long: [] })
    }
  })

  it('has each verb in one group', async () => {
    const { out } = await run('--help')
    const listed = out
      .split('\n')
      .flatMap((line) => /^ {2}([a-z][a-z -]*?) {2,}/.exec(line)?.[1] ?? [])
    expect(listed.toSorted()).toEqual(COMMANDS.map(({ name }) => name).toSorted())
  })

  it.each(COMMANDS.map(({ name }) => name))(
    'prints an error of %s as JSON with --json, one of its words and one of its own',
    async (name) => {
      const words = name.split(' ')
      const { out, err, code } = await run(...words, '--json', '--nonsense')
      expect({ out, code }).toEqual({ out: '', code: 2 })
      expect(JSON.parse(err)).toMatchObject({
        error: { code: 'INVALID_ARGUMENT', message: expect.stringContaining('--nonsense') },
      })
      const command = COMMANDS.find((one) => one.name === name)!
      // A verb with positional arguments that are missing does not run.
      const failing = vi.spyOn(command, 'run').mockRejectedValue(new WeirError('DISK_FULL', 'full'))
      const required = Object.entries(command.options).filter(([, { isRequired }]) => isRequired)
      const needed = (command.positions ?? []).some(({ isOptional }) => isOptional !== true)
      try {
        const own = await run(...words, '--json')
        const error = needed || required.length > 0 ? 'INVALID_ARGUMENT' : 'DISK_FULL'
        expect(JSON.parse(own.err)).toMatchObject({ error: { code: error } })
      } finally {
        failing.mockRestore()
      }
    },
  )

  it.each([
    [['topic', 'nonsense', '--json'], 'INVALID_ARGUMENT'],
    [['topic', 'list', '--json', '--nonsense'], 'INVALID_ARGUMENT'],
    [['log', 'check', '--data-dir', '/nowhere', '--json'], expect.any(String)],
  ])('prints the error of %j as JSON', async (words, code) => {
    const { out, err } = await run(...words)
    expect(out).toBe('')
    expect(JSON.parse(err)).toMatchObject({ error: { code, message: expect.any(String) } })
  })

  it('suggests the most similar verb', async () => {
    expect(await run('recomend', '1')).toMatchObject({ code: 2, out: '' })
    expect((await run('recomend', '1')).err).toContain('did you mean "recommend"?')
    expect((await run('train', 'asl')).err).toContain('expected als')
  })
})
