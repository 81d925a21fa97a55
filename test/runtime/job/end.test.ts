import { describe, expect, it } from 'vitest'
import { GeneratorSource } from '../../../src/connectors/memory/generator-source.ts'
import { MemorySink } from '../../../src/connectors/memory/sink.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { seededRandom } from '../../../src/core/random.ts'
import { int53Serializer, type Serializer, stringSerializer } from '../../../src/core/serializer.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import type { StreamGraph } from '../../../src/dataflow/stream-graph.ts'
import type { CreateOutcome } from '../../../src/runtime/checkpoint/storage/checkpoint-storage.ts'
import { parseConfiguration } from '../../../src/runtime/configuration/keys.ts'
import { JobExecution } from '../../../src/runtime/job/execution.ts'
import { LocalSlot } from '../../../src/runtime/slot/local-slot.ts'
import { valueState } from '../../../src/state/port/descriptors.ts'
import type { ValueState } from '../../../src/state/port/handles.ts'
import { MemoryCheckpointStorage } from '../../../src/testing/memory-checkpoint-storage.ts'
import { MiniCluster } from '../../../src/testing/mini-cluster.ts'
import { until } from '../../run/until.ts'
import {
  checkpointFolder,
  countGraph,
  expectedCounts,
  finalCounts,
  QUICK_RESTARTS,
} from '../job-fixture.ts'

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

/** Fast enough that records are under way at each barrier. */
const ENDLESS = { countPerPartition: 1e9, keys: 50, ratePerSecond: 50_000 }
const JOB = { jobId: 'c'.repeat(32) }

/** Keys whose counts are not 1, 2, 3 and so on, each once. */
function keysWithGaps(values: readonly Counts[]): readonly string[] {
  const byKey = Map.groupBy(values, ([key]) => key)
  return [...byKey.keys()].filter((key) => {
    const counts = byKey.get(key)!.map(([, count]) => count)
    return counts.sort((a, b) => a - b).some((count, n) => count !== n + 1)
  })
}

describe('an execution that releases its job', () => {
  it.each([
    ['a sink that cannot take back', 'at-least-once', {}],
    [
      'a sink that cannot take back, behind barriers that overtake records',
      'at-least-once',
      { 'execution.checkpointing.unaligned.enabled': 'true' },
    ],
    [
      'a sink that commits with checkpoints',
      'exactly-once',
      { 'execution.checkpointing.interval': '10 ms' },
    ],
  ] as const)('loses no record and emits none twice, with %s', async (_, guarantee, more) => {
    using folder = checkpointFolder()
    await using cluster = new MiniCluster({
      configuration: { 'execution.checkpointing.dir': folder.path, ...more },
    })
    const emitted: Counts[] = []
    for (let owner = 0; owner < 4; owner++) {
      const sink = new MemorySink<Counts>(guarantee)
      const job = cluster.startLocal(countGraph({ ...ENDLESS, sink }).graph, JOB)
      await until('some more records are out', () => sink.values.length > 500, { everyMs: 0 })
      const id = await job.release()
      expect(job.status).toBe('SUSPENDED')
      expect(job.retainedCheckpoints.at(-1)!.checkpointId).toBe(id)
      const atEnd = sink.values.length
      await new Promise((resolve) => setImmediate(resolve))
      expect(sink.values).toHaveLength(atEnd)
      for (const value of sink.values) emitted.push(value)
    }
    expect(keysWithGaps(emitted)).toEqual([])
  })

  it('fires no timer after the barrier: the next owner fires it', async () => {
    using folder = checkpointFolder()
    await using cluster = new MiniCluster({
      configuration: { 'execution.checkpointing.dir': folder.path },
    })
    const fired: number[] = []
    const graph = (): StreamGraph => tickingGraph((n) => fired.push(n))
    const first = cluster.startLocal(graph(), JOB)
    await until('timers fire', () => fired.length > 20)
    await first.release()
    const atEnd = fired.length
    const second = cluster.startLocal(graph(), JOB)
    await until('timers fire again', () => fired.length > atEnd + 20)
    await second.cancel()
    expect(fired).toEqual(fired.map((_, n) => n + 1))
  })

  it('goes on when its last checkpoint cannot be taken, and can be asked again', async () => {
    using folder = checkpointFolder()
    await using cluster = new MiniCluster({
      configuration: { 'execution.checkpointing.dir': folder.path, ...QUICK_RESTARTS },
    })
    const sink = new RefusingSink('at-least-once')
    const { graph } = countGraph({
      parallelism: 1,
      countPerPartition: 1e9,
      ratePerSecond: 2_000,
      sink,
    })
    const job = cluster.startLocal(graph, JOB)
    await until('records are out', () => sink.values.length > 0)
    sink.refuses = true
    await expect(job.release()).rejects.toMatchObject({ code: expect.any(String) })
    sink.refuses = false
    await job.waitFor('RUNNING')
    const before = sink.values.length
    await until('it goes on', () => sink.values.length > before)
    await job.release()
    expect(job.status).toBe('SUSPENDED')
  })

  it('is refused while it is being stopped, and without checkpoints', async () => {
    using folder = checkpointFolder()
    await using cluster = new MiniCluster()
    const options = { countPerPartition: 1e9, ratePerSecond: 1_000 }
    const without = cluster.startLocal(countGraph(options).graph)
    await without.waitFor('RUNNING')
    await expect(without.release()).rejects.toMatchObject({ code: 'ILLEGAL_STATE' })
    const job: JobExecution = cluster.startLocal(countGraph(options).graph, {
      ...JOB,
      configuration: { 'execution.checkpointing.dir': folder.path },
    })
    await job.waitFor('RUNNING')
    const released = job.release()
    await expect(job.release()).rejects.toThrow('is being stopped already')
    await expect(job.stopWithSavepoint()).rejects.toThrow('is being stopped already')
    await released
  })
})

/** A sink that refuses checkpoints while `refuses` is set. */
class RefusingSink extends MemorySink<Counts> {
  refuses = false

  override createWriter(): ReturnType<MemorySink<Counts>['createWriter']> {
    const writer = super.createWriter()
    const prepare = writer.prepareCommit.bind(writer)
    writer.prepareCommit = async (id) => {
      if (this.refuses) throw new Error('not now')
      return await prepare(id)
    }
    return writer
  }
}

/** One key whose timer counts and sets itself again each millisecond; `fired` gets the counts. */
function tickingGraph(fired: (n: number) => void): StreamGraph {
  const env = new StreamExecutionEnvironment({ parallelism: 1 })
  env
    .fromSource(
      new GeneratorSource<number>({ generate: () => 0, partitions: 1, ratePerSecond: 1 }),
      undefined,
      'ones',
      { serializer: int53Serializer as Serializer<number> },
    )
    .uid('ones')
    .keyBy(() => 'key', stringSerializer)
    .process<number>(() => {
      let count: ValueState<number>
      return {
        open(context) {
          count = context.getState(valueState('count', { serializer: int53Serializer }))
        },
        processElement(_n, context) {
          if (count.value() === undefined) {
            count.update(0)
            context.timerService.registerProcessingTimeTimer(
              context.timerService.currentProcessingTime + 1,
            )
          }
        },
        onTimer(timestamp, context) {
          const next = Number(count.value()) + 1
          count.update(next)
          fired(next)
          context.timerService.registerProcessingTimeTimer(timestamp + 1)
        },
      }
    })
    .uid('ticker')
    .discard()
  return env.graph()
}
