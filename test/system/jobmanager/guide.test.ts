import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openTopics } from '../../../src/connectors/topics/open.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { LONGEST_BLOCK_MS } from '../../run/until.ts'
import { commitSeed } from '../../services/commit-seed.ts'
import { sharedKafka } from '../../services/lending/kafka.ts'
import { type CommandResult, REPOSITORY } from '../cli/command-process.ts'
import { installPackage } from '../docs/installed-package.ts'
import { commandsOf, guidePage } from '../docs/page-commands.ts'
import { runPage } from '../docs/page-session.ts'

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-guide-'))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

function checkCluster({ stdout }: CommandResult): void {
  expect(stdout).toMatch(/^Job has been submitted with JobID [0-9a-f]{32}$/m)
  expect(stdout).toMatch(/^Savepoint completed\. Path: file:\S+$/m)
  expect(stdout).toMatch(/: online-als \(FINISHED\)$/m)
  expect(stdout).toMatch(/^JobManager stopped: (?:process \d+|\S+:\d+)$/m)
}

async function runOnLog(): Promise<void> {
  checkCluster(
    await runPage(commandsOf(guidePage('cluster.md')), { folder: join(folder, 'cluster') }),
  )
}

async function runOnKafka(): Promise<void> {
  await using broker = await sharedKafka()
  const cwd = join(folder, 'cluster-on-kafka')
  const settings = { WEIR_BROKERS: broker.bootstrap }
  checkCluster(await runPage(commandsOf(guidePage('cluster.md')), { folder: cwd, settings }))
  await using topics = await openTopics({ kafka: { brokers: broker.bootstrap } })
  const ends = (await topics.bounds('observations')).map(({ end }) => end)
  expect(Math.max(...ends)).toBeGreaterThan(0)
  expect(existsSync(join(cwd, '.weir/log'))).toBe(false)
}

/** Where the session of the page runs. The short part has one of them, by the seed. */
const PLACES = [
  ['the embedded log', runOnLog],
  ['Kafka', runOnKafka],
] as const

it.each(PLACES.filter((_, n) => campaignSize(n === commitSeed() % 2, true)))(
  'docs/guide/cluster.md: its commands run on %s, one after the other',
  (_, run) => run(),
)

it('docs/guide/tutorial.md: its commands run in the project that npm create makes', async () => {
  const project = join(folder, 'tutorial')
  execFileSync(process.execPath, [join(REPOSITORY, 'create/create.js'), project], {
    timeout: LONGEST_BLOCK_MS,
  })
  installPackage(project)
  const { stdout } = await runPage(commandsOf(guidePage('tutorial.md')), { folder: project })
  expect(stdout).toMatch(/^home +2$/m)
  expect(stdout).toMatch(/^Savepoint completed\. Path: file:\S+$/m)
})
