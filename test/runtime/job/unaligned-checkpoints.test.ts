import { describe, expect, it } from 'vitest'
import { GeneratorSource } from '../../../src/connectors/memory/generator-source.ts'
import type { DataStream } from '../../../src/dataflow/data-stream.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import type { StreamGraph } from '../../../src/dataflow/stream-graph.ts'
import type { Sink } from '../../../src/operators/port/sink.ts'
import { decodeInFlight } from '../../../src/runtime/channel/in-flight-format.ts'
import { readManifest } from '../../../src/runtime/checkpoint/manifest/read.ts'
import { FileCheckpointStorage } from '../../../src/runtime/checkpoint/storage/file.ts'
import { valueState } from '../../../src/state/port/descriptors.ts'
import type { ValueState } from '../../../src/state/port/handles.ts'
import { MiniCluster } from '../../../src/testing/mini-cluster.ts'
import { checkpointFolder } from '../job-fixture.ts'

const PARTITIONS = 2
const PER_PARTITION = 3000
const KEYS = 14
const JOB_ID = 'c'.repeat(32)

interface Line {
  readonly key: string
  readonly n: number
}

/** All lines of a key are in one partition, so that their order is fixed. */
function lineAt(index: number, partition: number): Line {
  return { key: `p${partition}k${(index * 7919) % (KEYS / PARTITIONS)}`, n: index }
}

/** Number of lines and a hash of their order, by key. */
type Folds = Map<string, { readonly count: number; readonly hash: number }>

function expectedFolds(): Folds {
  const folds: Folds = new Map()
  for (let partition = 0; partition < PARTITIONS; partition++) {
    for (let index = 0; index < PER_PARTITION; index++) {
      const { key, n } = lineAt(index, partition)
      const { count, hash } = folds.get(key) ?? { count: 0, hash: 7 }
      folds.set(key, { count: count + 1, hash: (hash * 31 + n) % 2 ** 31 })
    }
  }
  return folds
}

/** A sink that keeps the last fold of each key, and is full after some records while its gate is closed. */
class GatedSink implements Sink<readonly [string, number, number]> {
  readonly guarantee = 'none'
  readonly folds: Folds = new Map()
  private left: number
  private readonly opened = Promise.withResolvers<void>()

  constructor(left: number) {
    this.left = left
  }

  open(): void {
    this.left = Number.POSITIVE_INFINITY
    this.opened.resolve()
  }

  createWriter() {
    return {
      open: async () => {},
      write: ([key, count, hash]: readonly [string, number, number]) => {
        this.left -= 1
        this.folds.set(key, { count, hash })
      },
      ready: () => this.left > 0,
      whenReady: () => this.opened.promise,
      prepareCommit: async () => [],
      commit: async () => {},
      close: async () => {},
    }
  }
}

/** How the lines get to the operator that folds them. */
type Way = 'keyed' | 'through a rebalance' | 'through a forward edge' | 'by a broadcast'

function spreadBy(way: Way, lines: DataStream<Line>): DataStream<Line> {
  const copy = (line: Line): Line => ({ ...line })
  switch (way) {
    case 'keyed':
      return lines
    case 'through a rebalance':
      return lines.rebalance().map(copy).uid('copies')
    case 'through a forward edge':
      return lines.map(copy).uid('copies')
    case 'by a broadcast':
      return lines.broadcast().map(copy).uid('copies')
  }
}

function graphOf(parallelism: number, sink: GatedSink, way: Way = 'keyed'): StreamGraph {
  const env = new StreamExecutionEnvironment({ parallelism, maxParallelism: 32 })
  const lines: DataStream<Line> = env
    .fromSource(
      new GeneratorSource<Line>({
        generate: lineAt,
        partitions: PARTITIONS,
        countPerPartition: PER_PARTITION,
      }),
    )
    .uid('lines')
  spreadBy(way, lines)
    .keyBy(({ key }) => key)
    .process<readonly [string, number, number]>(() => {
      let fold: ValueState<{ readonly count: number; readonly hash: number }>
      return {
        open(context) {
          fold = context.getState(valueState('fold'))
        },
        processElement({ n }, context, out) {
          const { count, hash } = fold.value() ?? { count: 0, hash: 7 }
          // A rebalance changes the order of lines.
          const next = way === 'keyed' ? (hash * 31 + n) % 2 ** 31 : hash + n
          fold.update({ count: count + 1, hash: next })
          out.collect([context.currentKey, count + 1, next])
        },
      }
    })
    .uid('folds')
    .sinkTo(sink)
    .uid('results')
  return env.graph('folds')
}

const turns = async (n: number): Promise<void> => {
  for (let i = 0; i < n; i++) await new Promise((resolve) => setImmediate(resolve))
}

function configurationOf(path: string) {
  return {
    'execution.checkpointing.dir': path,
    'execution.checkpointing.unaligned.enabled': 'true',
    'taskmanager.memory.segment-size': '1 kb',
    'taskmanager.network.memory.buffers-per-channel': '2',
  }
}

/** Records in flight in a checkpoint, by operator. */
async function inFlight(path: string, folder: string): Promise<Record<string, number>> {
  const { operators } = await readManifest(new FileCheckpointStorage(path), folder)
  const counts: Record<string, number> = {}
  for (const { uid, operatorState } of operators) {
    for (const { redistribution, entries } of operatorState.flat()) {
      if (redistribution !== 'channels') continue
      for (const entry of entries) {
        counts[uid] = (counts[uid] ?? 0) + decodeInFlight(entry).records.length
      }
    }
  }
  return counts
}

/** Runs a job at parallelism 2 until it stands still behind a full sink, and takes a checkpoint there. */
async function checkpointBehindFullSink(cluster: MiniCluster, way: Way = 'keyed') {
  const sink = new GatedSink(25)
  const job = cluster.startLocal(graphOf(2, sink, way), { jobId: JOB_ID })
  await job.waitFor('RUNNING')
  await turns(300)
  const checkpointId = await job.triggerCheckpoint()
  await turns(20)
  const { folds } = sink
  await job.suspend()
  return { folds, folder: `${JOB_ID}/chk-${checkpointId}` }
}

describe('an unaligned checkpoint', () => {
  it.each([2, 1, 3])(
    'completes behind a sink that stays full, and its records are processed in order after a restore at parallelism %i',
    async (parallelism) => {
      using root = checkpointFolder()
      await using cluster = new MiniCluster({ configuration: configurationOf(root.path) })
      const { folds, folder } = await checkpointBehindFullSink(cluster)
      expect([...folds.values()].reduce((sum, { count }) => sum + count, 0)).toBeLessThan(100)
      expect((await inFlight(root.path, folder))['folds']).toBeGreaterThan(30)
      const sink = new GatedSink(Number.POSITIVE_INFINITY)
      await cluster.run(graphOf(parallelism, sink), { restoreFrom: folder })
      expect(sink.folds).toEqual(expectedFolds())
    },
  )

  it('refuses to restore records to an operator that no channel leads to any more', async () => {
    using root = checkpointFolder()
    const configuration = configurationOf(root.path)
    await using cluster = new MiniCluster({ configuration })
    const { folder } = await checkpointBehindFullSink(cluster, 'through a rebalance')
    const sink = new GatedSink(Number.POSITIVE_INFINITY)
    const chained = graphOf(2, sink, 'through a forward edge')
    const refused = cluster.startLocal(chained, { restoreFrom: folder })
    await expect(refused.result).rejects.toMatchObject({
      details: { code: 'STATE_LEFT_OVER' },
      message: expect.stringContaining('records in flight'),
    })
  })

  it('stays aligned behind a broadcast, and waits for the sink', async () => {
    using root = checkpointFolder()
    await using cluster = new MiniCluster({ configuration: configurationOf(root.path) })
    const sink = new GatedSink(25)
    const job = cluster.startLocal(graphOf(2, sink, 'by a broadcast'), { jobId: JOB_ID })
    await job.waitFor('RUNNING')
    await turns(300)
    let isComplete = false
    const checkpoint = job.triggerCheckpoint().finally(() => {
      isComplete = true
    })
    await turns(100)
    expect(isComplete).toBe(false)
    sink.open()
    const checkpointId = await checkpoint
    expect((await inFlight(root.path, `${JOB_ID}/chk-${checkpointId}`))['copies']).toBeUndefined()
    await job.result
  })

  it('tries to be aligned until the timeout', async () => {
    using root = checkpointFolder()
    const configuration = {
      ...configurationOf(root.path),
      'execution.checkpointing.aligned-checkpoint-timeout': '50 ms',
    }
    await using cluster = new MiniCluster({ configuration })
    const sink = new GatedSink(25)
    const job = cluster.startLocal(graphOf(2, sink), { jobId: JOB_ID })
    await job.waitFor('RUNNING')
    await turns(300)
    const startMs = performance.now()
    const checkpointId = await job.triggerCheckpoint()
    expect(performance.now() - startMs).toBeGreaterThan(45)
    expect((await inFlight(root.path, `${JOB_ID}/chk-${checkpointId}`))['folds']).toBeGreaterThan(0)
    const [statistics] = job.checkpointStatistics!.recent()
    const folds = statistics!.tasks.filter(({ task }) => task.startsWith('folds'))
    expect(folds.reduce((sum, { alignment }) => sum + alignment.persisted, 0)).toBeGreaterThan(0)
    sink.open()
    await job.result
    expect(sink.folds).toEqual(expectedFolds())
  })

  it('is refused beside coordinators, whose state must be aligned', async () => {
    using root = checkpointFolder()
    await using cluster = new MiniCluster({ configuration: configurationOf(root.path) })
    const coordinators = { folds: { start() {}, handleEvent() {} } }
    const job = cluster.startLocal(graphOf(2, new GatedSink(1)), { coordinators })
    await expect(job.result).rejects.toMatchObject({ details: { code: 'INVALID_ARGUMENT' } })
  })

  it.each([2, 1, 3])(
    'holds the records of two exchanges in a row, also when restored at parallelism %i',
    async (parallelism) => {
      using root = checkpointFolder()
      await using cluster = new MiniCluster({ configuration: configurationOf(root.path) })
      const way = 'through a rebalance'
      const { folder } = await checkpointBehindFullSink(cluster, way)
      const counts = await inFlight(root.path, folder)
      expect(counts['folds']).toBeGreaterThan(0)
      expect(counts['copies']).toBeGreaterThan(0)
      const sink = new GatedSink(Number.POSITIVE_INFINITY)
      await cluster.run(graphOf(parallelism, sink, way), { restoreFrom: folder })
      const counted = [...sink.folds].map(([key, { count }]) => [key, count])
      const expected = [...expectedFolds()].map(([key, { count }]) => [key, count])
      expect(counted.sort()).toEqual(expected.sort())
    },
  )
})
