import { describe, expect, it } from 'vitest'
import { MemorySink } from '../../../src/connectors/memory/sink.ts'
import { seededRandom } from '../../../src/core/random.ts'
import type { JobExecution } from '../../../src/runtime/job/execution.ts'
import { MiniCluster } from '../../../src/testing/mini-cluster.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { until } from '../../run/until.ts'
import {
  type CountOptions,
  checkpointFolder,
  countGraph,
  expectedCounts,
  finalCounts,
  QUICK_RESTARTS,
} from '../job-fixture.ts'

type Counts = readonly [string, number]

/** Number of times that each (key, count) pair was made visible. */
function repetitions(sink: MemorySink<Counts>): Set<number> {
  const seen = new Map<string, number>()
  for (const pair of sink.values) seen.set(pair.join(), (seen.get(pair.join()) ?? 0) + 1)
  return new Set(seen.values())
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

function clusterAt(path: string, configuration: Record<string, string> = {}): MiniCluster {
  return new MiniCluster({
    configuration: {
      ...QUICK_RESTARTS,
      'execution.checkpointing.dir': path,
      'execution.checkpointing.interval': '10 ms',
      ...configuration,
    },
  })
}

async function killAtRandom(job: JobExecution, kills: number, seed: number): Promise<void> {
  const random = seededRandom(seed)
  for (let i = 0; i < kills; i++) {
    await job.waitFor('RUNNING')
    // The first kill comes early: a job on a busy machine may end after a few turns.
    const turns = i === 0 ? random.below(20) : 20 + random.below(200)
    for (let t = 0; t < turns && job.status === 'RUNNING'; t++) await turn()
    if (job.status !== 'RUNNING') return
    job.killSlot(random.below(2))
    while (job.status === 'RUNNING') await turn()
    // The slot had already ended.
    if (job.status === 'FINISHED') return
  }
}

describe('recovery', () => {
  it.each(campaignSize([1], [1, 2]))(
    'counts every record exactly once when slots are killed (seed %i)',
    async (seed) => {
      using folder = checkpointFolder()
      await using cluster = clusterAt(folder.path)
      const options: CountOptions = {
        countPerPartition: 8000,
        ratePerSecond: 40_000,
        keys: 37,
        sink: new MemorySink<Counts>('exactly-once'),
      }
      const { graph, sink } = countGraph(options)
      const job = cluster.startLocal(graph)
      await killAtRandom(job, 3, seed)
      await job.result
      expect(job.attempt).toBeGreaterThan(1)
      expect(finalCounts(sink)).toEqual(expectedCounts(options))
      expect(repetitions(sink)).toEqual(new Set([1]))
    },
  )

  it('continues from the last checkpoint, not from the start', async () => {
    using folder = checkpointFolder()
    await using cluster = clusterAt(folder.path, { 'execution.checkpointing.interval': '1 h' })
    // For a second: a checkpoint on a busy machine takes a part of it.
    const options: CountOptions = { countPerPartition: 10_000, ratePerSecond: 20_000 }
    const { graph, sink } = countGraph(options)
    const job = cluster.startLocal(graph)
    await job.waitFor('RUNNING')
    await until('results arrive', () => sink.values.length > 1000, { everyMs: 0 })
    await job.triggerCheckpoint()
    const before = sink.values.length
    job.killSlot(0)
    await until('a second attempt', () => job.attempt === 2)
    await job.result
    expect(finalCounts(sink)).toEqual(expectedCounts(options))
    expect(sink.values.length - before).toBeLessThan(20_000 - 800)
  })

  it.each([
    [2, 1],
    [2, 3],
    [1, 2],
    [3, 2],
  ])('restores a savepoint of parallelism %i at %i', async (before, after) => {
    using folder = checkpointFolder()
    await using cluster = clusterAt(folder.path)
    const sink = new MemorySink<Counts>('exactly-once')
    const options: CountOptions = { partitions: 3, keys: 100, sink }
    const first = cluster.startLocal(
      countGraph({
        ...options,
        parallelism: before,
        countPerPartition: 1_000_000,
        ratePerSecond: 6000,
      }).graph,
    )
    await first.waitFor('RUNNING')
    await until('results arrive', () => sink.values.length > 200, { everyMs: 0 })
    const savepoint = await first.stopWithSavepoint()
    expect(first.status).toBe('FINISHED')
    // No partition was read further than all of them together.
    const countPerPartition = sink.values.length + 100
    const { graph } = countGraph({ ...options, parallelism: after, countPerPartition })
    await cluster.run(graph, { restoreFrom: savepoint })
    expect(finalCounts(sink)).toEqual(expectedCounts({ ...options, countPerPartition }))
    expect(repetitions(sink)).toEqual(new Set([1]))
  })

  it.each([
    [false, 'goes back to it'],
    [true, 'goes on from its own checkpoint with only-first-start'],
  ])('a job that was started from a savepoint, and again (%s), %s', async (onlyFirst) => {
    using folder = checkpointFolder()
    await using cluster = clusterAt(folder.path)
    const { graph } = countGraph({ countPerPartition: 1_000_000, ratePerSecond: 6000 })
    const first = cluster.startLocal(graph)
    await first.waitFor('RUNNING')
    const savepoint = await first.stopWithSavepoint()
    const options = {
      jobId: 'cd'.repeat(16),
      restoreFrom: savepoint,
      configuration: { 'execution.state-recovery.only-first-start': String(onlyFirst) },
    }
    const restoredBy = async (job: JobExecution): Promise<string> => {
      await job.waitFor('RUNNING')
      return job.checkpointStatistics!.latestRestored!.external_path
    }
    const second = cluster.startLocal(graph, options)
    expect(await restoredBy(second)).toBe(savepoint)
    await second.triggerCheckpoint()
    await second.cancel()
    const third = await restoredBy(cluster.startLocal(graph, options))
    expect(third).toMatch(onlyFirst ? /^(cd){16}\/chk-\d+$/ : /^savepoints\//)
  })

  it('drains: every input ends before the savepoint', async () => {
    using folder = checkpointFolder()
    await using cluster = clusterAt(folder.path)
    const { graph, sink } = countGraph({ countPerPartition: 1_000_000, ratePerSecond: 10_000 })
    const job = cluster.startLocal(graph)
    await job.waitFor('RUNNING')
    await until('results arrive', () => sink.values.length > 100, { everyMs: 0 })
    const savepoint = await job.stopWithSavepoint({ drain: true, folder: 'drained' })
    await job.result
    expect(savepoint).toMatch(/^drained\/savepoint-/)
    expect(job.status).toBe('FINISHED')
  })

  it('refuses a savepoint with state of an operator that the job lacks, unless that is allowed', async () => {
    using folder = checkpointFolder()
    await using cluster = clusterAt(folder.path)
    const { graph, sink } = countGraph({ countPerPartition: 100_000, ratePerSecond: 20_000 })
    const job = cluster.startLocal(graph)
    await job.waitFor('RUNNING')
    await until('results arrive', () => sink.values.length > 100, { everyMs: 0 })
    const savepoint = await job.stopWithSavepoint()
    const renamed = countGraph({ countPerPartition: 100 }).graph
    const nodes = renamed.nodes.map((node) =>
      node.uid === 'counter' ? { ...node, uid: 'other' } : node,
    )
    const refused = cluster.startLocal({ ...renamed, nodes }, { restoreFrom: savepoint })
    await expect(refused.result).rejects.toThrow('state of operator counter')
    expect(refused.status).toBe('FAILED')
    expect(refused.attempt).toBe(1)
    const allowed = { restoreFrom: savepoint, allowNonRestoredState: true }
    await cluster.run({ ...renamed, nodes }, allowed)
  })

  it('refuses a changed max parallelism', async () => {
    using folder = checkpointFolder()
    await using cluster = clusterAt(folder.path)
    const job = cluster.startLocal(
      countGraph({ countPerPartition: 100_000, ratePerSecond: 20_000 }).graph,
    )
    await job.waitFor('RUNNING')
    await job.triggerCheckpoint()
    const savepoint = await job.stopWithSavepoint()
    const { graph } = countGraph({ maxParallelism: 256 })
    const changed = cluster.startLocal(graph, { restoreFrom: savepoint })
    await expect(changed.result).rejects.toThrow('max parallelism 128')
  })

  it('finds its last checkpoint by its job id, as after a crash of the process', async () => {
    using folder = checkpointFolder()
    await using cluster = clusterAt(folder.path)
    const jobId = 'c'.repeat(32)
    const options: CountOptions = { countPerPartition: 10_000, ratePerSecond: 20_000 }
    const sink = new MemorySink<Counts>()
    const first = cluster.startLocal(countGraph({ ...options, sink }).graph, { jobId })
    await first.waitFor('RUNNING')
    await until('results arrive', () => sink.values.length > 1000, { everyMs: 0 })
    await first.triggerCheckpoint()
    await first.suspend()
    expect(first.status).toBe('SUSPENDED')
    await cluster.run(countGraph({ ...options, sink }).graph, { jobId })
    expect(finalCounts(sink)).toEqual(expectedCounts(options))
  })

  it('reports the times and the number of checkpoints', async () => {
    using folder = checkpointFolder()
    await using cluster = clusterAt(folder.path)
    const { graph } = countGraph({ countPerPartition: 100_000, ratePerSecond: 20_000 })
    const job = cluster.startLocal(graph)
    await job.waitFor('RUNNING')
    await job.triggerCheckpoint()
    const metrics = await job.metrics()
    expect(metrics['numberOfCompletedCheckpoints']).toBeGreaterThan(0)
    expect(metrics['lastCheckpointDuration']).toBeGreaterThanOrEqual(0)
    expect(metrics['lastCheckpointSize']).toBeGreaterThan(0)
    expect(metrics['numberOfFailedCheckpoints']).toBe(0)
  })
})
