import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import type { JobExecution } from '../../../src/runtime/job/execution.ts'
import { createWorkerJob } from '../../../src/runtime/job/worker-job.ts'
import type { BroadcastJobOptions } from '../../fixtures/broadcast-job.ts'
import { until } from '../../run/until.ts'

/** So many that a call ends when it is released, and not before: with their work they take half an hour. */
const KEYS = 50_000
const WORK_MS = 40

let folder: string
let file: string
let release: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-busy-'))
  file = join(folder, 'reached')
  release = join(folder, 'release')
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

function linesOf(): readonly string[] {
  try {
    return readFileSync(file, 'utf8').trimEnd().split('\n')
  } catch {
    return []
  }
}

/** Starts the job whose call goes through all keys. */
async function start(heartbeatTimeout: string): Promise<JobExecution> {
  const jobOptions: BroadcastJobOptions = { file, release, keys: KEYS, workMs: WORK_MS }
  const job = await createWorkerJob<BroadcastJobOptions>({
    module: new URL('../../fixtures/broadcast-job.ts', import.meta.url),
    jobOptions,
    configuration: {
      'parallelism.default': '1',
      'state.backend.type': 'heap',
      'heartbeat.interval': '500 ms',
      'heartbeat.timeout': heartbeatTimeout,
    },
    random: seededRandom(1),
  })
  job.start()
  return job
}

it('a slot that goes through the state of its keys for longer than heartbeat.timeout is busy, not lost', async () => {
  // A thread may take some seconds to start, and answers nothing until then.
  const job = await start('10 s')
  const warnings: string[] = []
  job.onWarning(({ error }) => warnings.push(error.message))
  // The call goes on until the slot was said to be busy, whenever that is.
  await until('the slot is busy', () => warnings.length > 0)
  writeFileSync(release, '')
  await until('all keys are reached', () => linesOf().at(-1) === `reached ${KEYS}`)
  expect(job.attempt).toBe(1)
  expect(warnings).toEqual([
    expect.stringMatching(
      /^slot 0 is busy in operator "Rules": applyToKeyedState, \d+ % of 50000 keys;/,
    ),
  ])
  await job.cancel()
})

it('a cancel ends a call through the state of many keys at its next key', async () => {
  const job = await start('60 s')
  await until('the call is on its way', () => linesOf().length > 0)
  const before = linesOf().length
  await job.cancel()
  // A slot that takes no cancel goes on for ten seconds, until its thread is ended.
  expect(linesOf().length - before).toBeLessThan(5_000 / WORK_MS)
})
