import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { createWorkerJob } from '../../../src/runtime/job/worker-job.ts'
import type { BroadcastJobOptions } from '../../fixtures/broadcast-job.ts'
import { until } from '../../run/until.ts'

const KEYS = 400

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-busy-'))
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

function linesOf(file: string): readonly string[] {
  try {
    return readFileSync(file, 'utf8').trimEnd().split('\n')
  } catch {
    return []
  }
}

it('a slot that goes through the state of its keys for longer than heartbeat.timeout is busy, not lost', async () => {
  const file = join(folder, 'reached')
  const jobOptions: BroadcastJobOptions = { file, keys: KEYS, workMs: 40 }
  const job = await createWorkerJob<BroadcastJobOptions>({
    module: new URL('../../fixtures/broadcast-job.ts', import.meta.url),
    jobOptions,
    configuration: {
      'parallelism.default': '1',
      'state.backend.type': 'heap',
      // The call takes sixteen seconds; a thread may take some to start.
      'heartbeat.interval': '500 ms',
      'heartbeat.timeout': '10 s',
    },
    random: seededRandom(1),
  })
  const warnings: string[] = []
  job.onWarning(({ error }) => warnings.push(error.message))
  job.start()
  await until('all keys are reached', () => linesOf(file).at(-1) === `reached ${KEYS}`)
  expect(job.attempt).toBe(1)
  expect(linesOf(file)).toHaveLength(KEYS + 1)
  expect(warnings).toEqual([
    expect.stringMatching(
      /^slot 0 is busy in operator "Rules": applyToKeyedState, \d+ % of 400 keys;/,
    ),
  ])
  await job.cancel()
})
