import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { serveAlsJob } from '../../../src/jobs/serve/als.ts'
import { dataDirectory } from '../../../src/jobs/serve/data-directory.ts'
import type { ServedJob } from '../../../src/jobs/served-job.ts'
import { until } from '../../run/until.ts'
import { jsonLines, weir } from '../cli/command-process.ts'

const TOPIC = 'als-model'
/** Rows of a publication that takes minutes: it has not ended when it is killed. */
const MANY = 100_000_000

function folderOfTest(): string {
  const root = mkdtempSync(join(tmpdir(), 'weir-killed-publisher-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  return root
}

async function serve(root: string, warnings: string[]): Promise<ServedJob> {
  const live = vi.fn()
  const job = await serveAlsJob({
    ...{ data: dataDirectory(root), topic: TOPIC, slots: 2, queryThreads: 1, port: 0 },
    ...{ configuration: {}, onLive: live, onWarning: (warning) => warnings.push(warning) },
  })
  onTestFinished(() => job[Symbol.asyncDispose]())
  await until('the model is live', () => live.mock.calls.length > 0)
  return job
}

/** Shared memory of the row tables of a job. */
async function rowTableBytes({ execution }: ServedJob): Promise<number> {
  const metrics = Object.entries(await execution.metrics())
  const found = metrics.filter(([name]) => name.endsWith('.rowTableBytes'))
  return found.reduce((sum, [, value]) => sum + Number(value), 0)
}

const generate = (root: string, users: number) =>
  weir([
    ...['generate', 'als-model', '--users', String(users), '--items', '50', '--factors', '16'],
    ...['--data-dir', root],
  ])

/** Runs a command of the model; returns what it printed. */
async function model(root: string, args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await weir(['model', ...args, '--data-dir', root]).ended
  expect(code, stderr + stdout).toBe(0)
  return stdout
}

it('what a killed publisher has sent leaves the memory of a job, is listed, and goes with the next publication', async () => {
  const root = folderOfTest()
  expect((await generate(root, 200).ended).code).toBe(0)
  const warnings: string[] = []
  const job = await serve(root, warnings)
  const before = await rowTableBytes(job)

  await using publisher = generate(root, MANY)
  const most = await until('the job has rows of the publication', async () => {
    const bytes = await rowTableBytes(job)
    return bytes > 20 * before && bytes
  })
  // It must not end before it is looked at.
  publisher.signal('SIGSTOP')
  // While its publisher runs it is no leftover.
  const [, running] = jsonLines(await model(root, ['list', '--json']))
  expect(running).toMatchObject({ number: 2, state: 'publishing' })
  const refused = await weir(['model', 'drop', '2', '--data-dir', root]).ended
  expect(refused.stderr).toContain(`is being published by process ${publisher.pid}`)
  publisher.signal('SIGKILL')
  expect(await publisher.ended).toMatchObject({ signal: 'SIGKILL' })

  await until('the rows have left the memory', async () => (await rowTableBytes(job)) <= before)
  // The rows go when the topic says so; the warning comes when the topic has confirmed it.
  await until('the job says why', () => warnings.length > 0)
  expect(warnings).toEqual([
    expect.stringMatching(
      /^the publication of version 2 was interrupted: its rows leave the memory/,
    ),
  ])
  console.info(`row tables: ${before} bytes, ${most} with the publication, then ${before}`)
  const [, left] = jsonLines(await model(root, ['list', '--json']))
  expect(left).toMatchObject({ number: 2, state: 'incomplete' })
  expect(Number(left?.['rows'])).toBeGreaterThan(1000)
  expect(await model(root, ['list'])).toMatch(/\n +2 {2}incomplete {2}\d+ rows, [\d.]+ MiB/)

  // A job that reads all of the topic again frees them, too.
  await job[Symbol.asyncDispose]()
  rmSync(dataDirectory(root).checkpoints, { recursive: true, force: true })
  const again = await serve(root, warnings)
  await until('the rows have left the memory', async () => (await rowTableBytes(again)) <= before)

  const { code, stderr } = await generate(root, 100).ended
  expect(code, stderr).toBe(0)
  const versions = jsonLines(await model(root, ['list', '--json']))
  expect(versions.map(({ number, state }) => [number, state])).toEqual([
    [1, 'live'],
    [3, 'candidate'],
  ])
})

it('what a killed publisher has left is dropped by name', async () => {
  const root = folderOfTest()
  expect((await generate(root, 200).ended).code).toBe(0)
  await using publisher = generate(root, MANY)
  await until('rows are in the topic', async () => {
    const [, found] = jsonLines(await model(root, ['list', '--json']))
    return Number(found?.['rows']) > 1000
  })
  publisher.signal('SIGKILL')
  await publisher.ended
  const [dropped] = jsonLines(await model(root, ['drop', '2', '--json']))
  expect(dropped).toMatchObject({ model: TOPIC, version: 2, wasDropped: false })
  expect(jsonLines(await model(root, ['list', '--json']))).toMatchObject([{ number: 1 }])
  const again = await weir(['model', 'drop', '2', '--data-dir', root]).ended
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('UNKNOWN_VERSION') })
})
