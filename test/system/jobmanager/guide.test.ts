import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openTopics } from '../../../src/connectors/topics/open.ts'
import { freePorts } from '../../services/free-port.ts'
import { KafkaBroker } from '../../services/kafka-broker.ts'
import { CommandProcess, type CommandResult, REPOSITORY } from '../cli/command-process.ts'

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-guide-'))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Runs the shell blocks of a guide page in one session in `cwd`, on free ports, with further settings. */
async function runPage(
  name: string,
  cwd: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<CommandResult> {
  const [rest, query, http] = await freePorts(3)
  const page = readFileSync(join(REPOSITORY, 'docs/guide', name), 'utf8')
  const blocks = [...page.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map((match) => match[1]!)
  expect(blocks.length).toBeGreaterThan(5)
  const bin = join(cwd, 'bin')
  mkdirSync(bin, { recursive: true })
  const main = join(REPOSITORY, 'src/cli/main.ts')
  writeFileSync(join(bin, 'weir'), `#!/bin/sh\nexec "${process.execPath}" "${main}" "$@"\n`, {
    mode: 0o755,
  })
  const script = join(cwd, 'session.sh')
  writeFileSync(
    script,
    [
      'set -eux -o pipefail',
      `trap 'kill %1 || true; weir cluster stop || true' EXIT`,
      ...blocks.map((block) =>
        block.replaceAll('8080', String(http)).replaceAll('8081', String(rest)),
      ),
      'trap - EXIT',
    ].join('\n'),
  )
  await using session = new CommandProcess('bash', [script], {
    cwd,
    env: {
      PATH: `${bin}:${dirname(process.execPath)}:${process.env['PATH']}`,
      WEIR_REST_PORT: String(rest),
      WEIR_JOBMANAGER: `127.0.0.1:${rest}`,
      WEIR_PORT: String(query),
      ...settings,
    },
  })
  const result = await session.ended
  expect(result.code, `${result.stdout}\n${result.stderr}`).toBe(0)
  return result
}

function checkCluster({ stdout }: CommandResult): void {
  expect(stdout).toMatch(/^Job has been submitted with JobID [0-9a-f]{32}$/m)
  expect(stdout).toMatch(/^Savepoint completed\. Path: file:\S+$/m)
  expect(stdout).toMatch(/: online-als \(FINISHED\)$/m)
  expect(stdout).toMatch(/^JobManager stopped: process \d+$/m)
}

it('docs/guide/cluster.md: its commands run, one after the other', async () => {
  checkCluster(await runPage('cluster.md', join(folder, 'cluster')))
})

it('docs/guide/cluster.md: the same session runs on Kafka', async () => {
  await using broker = await KafkaBroker.start({ startsQuickly: true })
  const cwd = join(folder, 'cluster-on-kafka')
  checkCluster(await runPage('cluster.md', cwd, { WEIR_BROKERS: broker.bootstrap }))
  await using topics = await openTopics({ kafka: { brokers: broker.bootstrap } })
  const ends = (await topics.bounds('observations')).map(({ end }) => end)
  expect(Math.max(...ends)).toBeGreaterThan(0)
  expect(existsSync(join(cwd, '.weir/log'))).toBe(false)
})

it('docs/guide/tutorial.md: its commands run in the project that npm create makes', async () => {
  const project = join(folder, 'tutorial')
  execFileSync(process.execPath, [join(REPOSITORY, 'create/create.js'), project])
  // The package of the repository in place of an installed one.
  const installed = join(project, 'node_modules/@weirjs/weir')
  mkdirSync(installed, { recursive: true })
  const { name, type } = JSON.parse(
    readFileSync(join(REPOSITORY, 'package.json'), 'utf8'),
  ) as Record<string, string>
  const exports = { '.': './src/index.ts', './testing': './src/testing/index.ts' }
  writeFileSync(join(installed, 'package.json'), JSON.stringify({ name, type, exports }))
  symlinkSync(join(REPOSITORY, 'src'), join(installed, 'src'))
  const { stdout } = await runPage('tutorial.md', project)
  expect(stdout).toMatch(/^home +2$/m)
  expect(stdout).toMatch(/^Savepoint completed\. Path: file:\S+$/m)
})
