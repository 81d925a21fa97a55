import { describe, expect, it } from 'vitest'
import { MemorySink } from '../../../src/connectors/memory/sink.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { seededRandom } from '../../../src/core/random.ts'
import type { StreamGraph } from '../../../src/dataflow/stream-graph.ts'
import type { CreateOutcome } from '../../../src/runtime/checkpoint/storage/checkpoint-storage.ts'
import { parseConfiguration } from '../../../src/runtime/configuration/keys.ts'
import { JobExecution } from '../../../src/runtime/job/execution.ts'
import { LocalSlot } from '../../../src/runtime/slot/local-slot.ts'
import { MemoryCheckpointStorage } from '../../../src/testing/memory-checkpoint-storage.ts'
import { until } from '../../run/until.ts'
import { countGraph, expectedCounts, finalCounts } from '../job-fixture.ts'

type Counts = readonly [string, number]

/** Storage in which a checkpoint becomes durable only when the test lets it. */
class GatedManifests extends MemoryCheckpointStorage {
  /** Manifests that wait. */
  waiting = 0
  private readonly gate = Promise.withResolvers<void>()

  letGo(): void {
    this.gate.resolve()
  }

  override async createExclusive(path: string, bytes: Uint8Array): Promise<CreateOutcome> {
    if (path.includes('chk-')) {
      this.waiting += 1
      await this.gate.promise
    }
    return await super.createExclusive(path, bytes)
  }
}

function startJob(graph: StreamGraph, storage: GatedManifests, restoreFrom?: string): JobExecution {
  const job = new JobExecution({
    jobId: 'a'.repeat(32),
    graph,
    configuration: parseConfiguration({
      'state.backend.type': 'heap',
      ...(restoreFrom === undefined ? {} : { 'execution.state-recovery.path': restoreFrom }),
    }),
    clock: systemClock,
    random: seededRandom(1),
    startSlot: (slot, listener) =>
      new LocalSlot(
        slot,
        { clock: systemClock, openStorage: () => storage, buildGraph: () => graph },
        listener,
      ),
    storage,
    storageUrl: 'memory',
  })
  job.start()
  return job
}

async function restoredValues(storage: GatedManifests, savepoint: string): Promise<number> {
  const { graph, sink } = countGraph({ sink: new MemorySink<Counts>('exactly-once') })
  await startJob(graph, storage, savepoint).result
  return sink.values.length
}

describe('the end of a job', () => {
  it('takes the savepoint of a stop that comes while the last checkpoint is being taken', async () => {
    const storage = new GatedManifests()
    const { graph, sink } = countGraph({ sink: new MemorySink<Counts>('exactly-once') })
    const job = startJob(graph, storage)
    await until('a checkpoint waits', () => storage.waiting > 0)
    const stopped = job.stopWithSavepoint()
    storage.letGo()
    const savepoint = await stopped
    expect(job.status).toBe('FINISHED')
    expect(finalCounts(sink)).toEqual(expectedCounts({}))
    expect(sink.values).toHaveLength(2000)
    expect(await restoredValues(storage, savepoint)).toBe(0)
  })

  it('ends once when all input ends while a stop waits for its savepoint', async () => {
    const storage = new GatedManifests()
    const seen: number[] = []
    const options = { onRecord: (n: number) => seen.push(n), ratePerSecond: 20_000 }
    const { graph, sink } = countGraph(options)
    const job = startJob(graph, storage)
    await job.waitFor('RUNNING')
    const checkpoint = job.triggerCheckpoint()
    await until('a checkpoint waits', () => storage.waiting > 0)
    const stopped = job.stopWithSavepoint()
    await until('all records are read', () => seen.length === 2000)
    for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve))
    storage.letGo()
    await checkpoint
    const savepoint = await stopped
    expect(job.status).toBe('FINISHED')
    expect(finalCounts(sink)).toEqual(expectedCounts({}))
    expect(await restoredValues(storage, savepoint)).toBe(0)
  })

  it('refuses a second stop with a clear message', async () => {
    const storage = new GatedManifests()
    const { graph } = countGraph({ countPerPartition: 1e6, ratePerSecond: 1000 })
    const job = startJob(graph, storage)
    await job.waitFor('RUNNING')
    const stopped = job.stopWithSavepoint()
    await expect(job.stopWithSavepoint()).rejects.toThrow('is being stopped already')
    storage.letGo()
    await stopped
    expect(job.status).toBe('FINISHED')
  })

  it('rejects the stop of a job that is canceled meanwhile', async () => {
    const storage = new GatedManifests()
    const { graph } = countGraph({ countPerPartition: 1e6, ratePerSecond: 1000 })
    const job = startJob(graph, storage)
    await job.waitFor('RUNNING')
    const stopped = job.stopWithSavepoint({ drain: true })
    stopped.catch(() => {})
    await until('a checkpoint waits', () => storage.waiting > 0)
    const canceled = job.cancel()
    storage.letGo()
    await canceled
    await expect(stopped).rejects.toThrow('was canceled')
    expect(job.status).toBe('CANCELED')
  })
})
