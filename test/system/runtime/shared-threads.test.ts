import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/core/clock.ts'
import { seededRandom } from '../../../src/core/random.ts'
import type { JobExecution } from '../../../src/runtime/job/execution.ts'
import { createWorkerJob } from '../../../src/runtime/job/worker-job.ts'
import { SlotThreadPool } from '../../../src/runtime/slot/pool/slot-threads.ts'
import type { CountJobOptions } from '../../fixtures/count-job.ts'
import { until } from '../../run/until.ts'

const COUNT_JOB = new URL('../../fixtures/count-job.ts', import.meta.url)
const KEYS = 10

let folder: string
let pool: SlotThreadPool
let jobs: JobExecution[]

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-shared-'))
  jobs = []
  const stateMemoryBytes = 64 * 2 ** 20
  pool = new SlotThreadPool({
    threads: 2,
    url: COUNT_JOB.href,
    stateMemoryBytes,
    clock: systemClock,
  })
})

afterEach(async () => {
  await Promise.all(jobs.map((job) => job.cancel()))
  await pool.close()
  rmSync(folder, { recursive: true, force: true })
})

const fileOf = (n: number): string => join(folder, `counts-${n}`)

/** Starts job number n: a count of its own, with its own checkpoints. */
async function start(n: number, options: Partial<CountJobOptions>): Promise<JobExecution> {
  const job = await createWorkerJob<CountJobOptions>({
    module: COUNT_JOB,
    jobOptions: { file: fileOf(n), partitions: 2, countPerPartition: 500, keys: KEYS, ...options },
    jobId: n.toString(16).padStart(32, '0'),
    configuration: {
      'parallelism.default': '1',
      'state.backend.type': 'rocksdb',
      'state.backend.directory': join(folder, 'state'),
      'execution.checkpointing.dir': join(folder, 'checkpoints'),
      'execution.checkpointing.interval': '30 ms',
      'execution.checkpointing.tolerable-failed-checkpoints': '100',
      'restart-strategy.type': 'fixed-delay',
      'restart-strategy.fixed-delay.attempts': '20',
      'restart-strategy.fixed-delay.delay': '1 ms',
    },
    random: seededRandom(n),
    pool,
  })
  jobs.push(job)
  job.start()
  return job
}

function linesOf(n: number): readonly string[] {
  const file = `${fileOf(n)}-0`
  return existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : []
}

/** The largest count of each key of a job. */
function countsOf(n: number): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const line of linesOf(n)) {
    const [key, count] = line.split(' ') as [string, string]
    counts.set(key, Math.max(Number(count), counts.get(key) ?? 0))
  }
  return counts
}

/** Each key of the records of two partitions as often as any other. */
function evenCounts(countPerPartition: number): ReadonlyMap<string, number> {
  const count = (2 * countPerPartition) / KEYS
  return new Map(Array.from({ length: KEYS }, (_, n) => [`key-${n}`, count]))
}

const sorted = (counts: ReadonlyMap<string, number>): object =>
  Object.fromEntries([...counts].sort())

describe('jobs that share two threads', () => {
  it('count each its own records, and leave the threads when they end', async () => {
    const numbers = [0, 1, 2, 3, 4, 5, 6, 7]
    const started = await Promise.all(numbers.map((n) => start(n, {})))
    expect(pool.loads).toEqual([4, 4])
    await Promise.all(started.map((job) => job.result))
    for (const n of numbers) expect(sorted(countsOf(n))).toEqual(sorted(evenCounts(500)))
    expect(pool.loads).toEqual([0, 0])
    const heaps = Object.keys(await pool.metrics()).filter((name) => name.endsWith('heapUsedBytes'))
    expect(heaps).toEqual(['0.heapUsedBytes', '1.heapUsedBytes'])
  })

  it('go on when one of them stops, and only those of a killed thread start again', async () => {
    const options = { countPerPartition: 2_000, ratePerSecond: 2_000 }
    const [first, second, third, fourth] = await Promise.all(
      [0, 1, 2, 3].map((n) => start(n, options)),
    )
    await until('all count', () => [0, 1, 2, 3].every((n) => linesOf(n).length > 0))
    const names = Object.keys(await third!.metrics())
    expect(names.filter((name) => name.includes('heap'))).toEqual([])
    expect(JSON.parse(await third!.profile(0, 20))).toHaveProperty('nodes')
    await first!.cancel()
    expect(pool.loads).toEqual([1, 2])
    const before = [1, 2, 3].map((n) => linesOf(n).length)
    await until('the others count on', () =>
      [1, 2, 3].every((n, i) => linesOf(n).length > before[i]!),
    )
    second!.killSlot(0)
    await Promise.all([second, third, fourth].map((job) => job!.result))
    expect([second, third, fourth].map((job) => job!.attempt)).toEqual([2, 1, 2])
    expect(fourth!.failures[0]!.error.message).toMatch(/^slot 0 is lost: its thread ended/)
    for (const n of [1, 2, 3]) expect(sorted(countsOf(n))).toEqual(sorted(evenCounts(2_000)))
  })
})
