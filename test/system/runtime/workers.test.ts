import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { WeirClient } from '../../../src/client/index.ts'
import { seededRandom } from '../../../src/core/random.ts'
import type { JobExecution } from '../../../src/runtime/job/execution.ts'
import { QueryThreads } from '../../../src/serving/threads/query-threads.ts'
import { MiniCluster } from '../../../src/testing/mini-cluster.ts'
import type { CountJobOptions } from '../../fixtures/count-job.ts'
import { attemptsOf } from '../../fixtures/stray-promise-job.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { pause } from '../../run/pause.ts'
import { until } from '../../run/until.ts'
import { commitSeed } from '../../services/commit-seed.ts'

const COUNT_JOB = new URL('../../fixtures/count-job.ts', import.meta.url)
const STRAY_PROMISE_JOB = new URL('../../fixtures/stray-promise-job.ts', import.meta.url)

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-workers-'))
})

afterEach(() => {
  rmSync(folder, { recursive: true, force: true })
})

/** The largest count of each key. */
function finalCounts(file: string, slots: number): Map<string, number> {
  const counts = new Map<string, number>()
  for (let slot = 0; slot < slots; slot++) {
    for (const line of readFileSync(`${file}-${slot}`, 'utf8').trimEnd().split('\n')) {
      const [key, count] = line.split(' ') as [string, string]
      counts.set(key, Math.max(Number(count), counts.get(key) ?? 0))
    }
  }
  return counts
}

function clusterIn(configuration: Record<string, string> = {}): MiniCluster {
  return new MiniCluster({
    configuration: {
      'parallelism.default': '2',
      'execution.checkpointing.dir': join(folder, 'checkpoints'),
      'execution.checkpointing.interval': '30 ms',
      'execution.checkpointing.tolerable-failed-checkpoints': '100',
      'restart-strategy.type': 'fixed-delay',
      'restart-strategy.fixed-delay.attempts': '20',
      'restart-strategy.fixed-delay.delay': '1 ms',
      ...configuration,
    },
  })
}

function countOptions(options: Partial<CountJobOptions> = {}): CountJobOptions {
  return {
    file: join(folder, 'counts'),
    partitions: 3,
    countPerPartition: 60_000,
    keys: 100,
    ratePerSecond: 20_000,
    ...options,
  }
}

async function killSlots(job: JobExecution, kills: number, seed: number): Promise<void> {
  const random = seededRandom(seed)
  for (let i = 0; i < kills; i++) {
    await job.waitFor('RUNNING')
    await pause(50 + random.below(250), 'a random moment of a kill')
    if (job.status !== 'RUNNING') return
    job.killSlot(random.below(2))
    await until('the slot is lost', () => job.failures.length > i, { everyMs: 1 })
  }
}

/** Waits until every slot has counted records since the job started. */
async function countsRecords(job: JobExecution): Promise<void> {
  await job.waitFor('RUNNING')
  await until('records are counted', async () => {
    const metrics = Object.entries(await job.metrics())
    const counted = metrics.filter(([name]) => /^counter\.\d+\.numRecordsIn$/.test(name))
    return counted.length > 0 && counted.every(([, value]) => value > 500)
  })
}

const WAYS = [
  ['on heap', 'heap', undefined],
  ['on rocksdb', 'rocksdb', undefined],
  ['with answers of a service in flight', 'heap', 'orderedWait'],
  ['on leveldb', 'leveldb', undefined],
  ['with answers of a service in flight, in any order', 'heap', 'unorderedWait'],
] as const
/** The short part has every second one, by the seed. */
const CHOSEN = WAYS.filter((_, n) => campaignSize(n % 2 === commitSeed() % 2, true))

describe('slots in worker threads', () => {
  it.each(CHOSEN)(
    'count every record once although threads are killed, %s',
    async (_name, backend, asyncIo) => {
      await using cluster = clusterIn({ 'state.backend.type': backend })
      // At their rate, the records last three times as long as the kills.
      const service = asyncIo === undefined ? {} : { asyncIo }
      const options = countOptions({ ...service, countPerPartition: 30_000 })
      const job = await cluster.startWorkers(COUNT_JOB, options)
      await killSlots(job, 3, 11)
      await job.result
      expect(job.attempt).toBe(4)
      expect(job.failures.map(({ error }) => error.code)).toEqual([
        'SLOT_LOST',
        'SLOT_LOST',
        'SLOT_LOST',
      ])
      const counts = finalCounts(options.file, 2)
      expect(counts.size).toBe(100)
      expect(new Set(counts.values())).toEqual(new Set([900]))
    },
  )

  it('answer a new query thread after the old one has ended', async () => {
    await using cluster = clusterIn({ 'state.backend.type': 'heap' })
    await using threads = await QueryThreads.start({ threads: 1, port: 0 })
    const job = await cluster.startWorkers(COUNT_JOB, countOptions({ countPerPartition: 1e6 }), {
      serving: threads,
    })
    await job.waitFor('RUNNING')
    await threads.listening()
    const client = await WeirClient.connect({ port: threads.port, deadlineMs: 60_000 })
    try {
      const keys = Array.from({ length: 20 }, (_, i) => `key-${i}`)
      const found = async (): Promise<number> => {
        const answers = await client.values('COUNTS', keys).catch(() => [])
        return answers.filter((answer) => answer !== undefined).length
      }
      await expect.poll(found).toBe(keys.length)
      const { members } = threads as unknown as { members: { worker: Worker }[] }
      await members[0]!.worker.terminate()
      await expect.poll(found).toBe(keys.length)
    } finally {
      await client.close()
    }
  })

  it('restore a savepoint at parallelism 3 and 1', async () => {
    await using cluster = clusterIn()
    const options = countOptions()
    const first = await cluster.startWorkers(COUNT_JOB, options)
    await countsRecords(first)
    const one = await first.stopWithSavepoint()
    const second = await cluster.startWorkers(COUNT_JOB, options, {
      restoreFrom: one,
      configuration: { 'parallelism.default': '3', 'pipeline.max-parallelism': '128' },
    })
    await countsRecords(second)
    const two = await second.stopWithSavepoint()
    const third = await cluster.startWorkers(
      COUNT_JOB,
      { ...options, ratePerSecond: undefined },
      { restoreFrom: two, configuration: { 'parallelism.default': '1' } },
    )
    await third.result
    const counts = finalCounts(options.file, 3)
    expect(new Set(counts.values())).toEqual(new Set([1800]))
  })

  it('report the loss of a slot thread', async () => {
    await using cluster = clusterIn({ 'restart-strategy.type': 'none' })
    const job = await cluster.startWorkers(COUNT_JOB, countOptions())
    await job.waitFor('RUNNING')
    job.killSlot(1)
    await expect(job.result).rejects.toThrow('slot 1 is lost')
    expect(job.status).toBe('FAILED')
    expect(job.board.slotStatus(1)).toBe('down')
  })
})

it.each([
  [
    'promise',
    /no answer; wait for each promise, .* \(at notify, .*stray-promise-job\.ts:\d+:9; caused by the service is away\)/,
  ],
  ['timer', /Expected property name .* \(at .*stray-promise-job\.ts:\d+:\d+\)/],
])(
  'an error of a %s that a function did not wait for fails the attempt with its line and the operators of its task, a second one with its operator, and the slot goes on',
  async (kind, message) => {
    const file = join(folder, 'failed')
    await using cluster = clusterIn({ 'parallelism.default': '1' })
    const job = await cluster.startWorkers(STRAY_PROMISE_JOB, { file, kind })
    await until('the third attempt runs', () => attemptsOf(file) === 3)
    const messages = job.failures.map(({ error }) => error.message)
    expect(messages).toEqual([expect.stringMatching(message), expect.stringMatching(message)])
    expect(messages[0]).toMatch(
      /^operator Ones or Copy or Notify \(notify\), task .* failed: nothing handled an error/,
    )
    expect(messages[1]).toMatch(/^operator Notify \(notify\), task .* failed: nothing handled/)
  },
)
