import { describe, expect, it } from 'vitest'
import { MemorySink } from '../../../src/connectors/memory/sink.ts'
import { int53Serializer, type Serializer } from '../../../src/core/serializer.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import type { Source, SourceReader } from '../../../src/operators/port/source.ts'
import { MiniCluster } from '../../../src/testing/mini-cluster.ts'
import { until } from '../../run/until.ts'
import { checkpointFolder, QUICK_RESTARTS } from '../job-fixture.ts'

const turns = async (n: number): Promise<void> => {
  for (let i = 0; i < n; i++) await new Promise((resolve) => setImmediate(resolve))
}

/** A source of two partitions that delivers the records that a test releases. */
function steeredSource(): {
  readonly source: Source<number>
  allow(p: number, upTo: number): void
} {
  const allowed = [0, 0]
  const wakes: (() => void)[] = []
  const reader = (): SourceReader<number> => {
    let partition = -1
    let next = 0
    return {
      async open() {},
      async addSplits(splits) {
        for (const split of splits) {
          partition = split.partition
          next = Math.max(0, split.nextOffset)
        }
      },
      poll(output, maxRecords) {
        const end = Math.min(allowed[partition]!, next + maxRecords)
        if (next >= end) return 'idle'
        for (; next < end; next++) output.collect(next, -1, partition, next)
        output.progress(partition, next)
        return 'more'
      },
      available: () =>
        allowed[partition]! > next
          ? Promise.resolve()
          : new Promise((resolve) => wakes.push(resolve)),
      snapshot: () => [{ partition, nextOffset: next }],
      checkpointCompleted() {},
      async close() {},
    }
  }
  return {
    source: {
      boundedness: 'unbounded',
      discoveryIntervalMs: undefined,
      discover: async () => [0, 1],
      createReader: reader,
    },
    allow(p, upTo) {
      allowed[p] = upTo
      for (const wake of wakes.splice(0)) wake()
    },
  }
}

describe('barrier alignment in a running job', () => {
  it('takes no input while the sinks prepare for a barrier', async () => {
    using folder = checkpointFolder()
    await using cluster = new MiniCluster({
      configuration: { ...QUICK_RESTARTS, 'execution.checkpointing.dir': folder.path },
    })
    const { source, allow } = steeredSource()
    const sink = new MemorySink<number>()
    const held: (() => void)[] = []
    const env = new StreamExecutionEnvironment({ parallelism: 2 })
    env
      .fromSource(source, undefined, 'steered', {
        serializer: int53Serializer as Serializer<number>,
      })
      .uid('steered')
      .keyBy(() => 'same')
      .process<number>(() => ({
        processElement(n, _context, out) {
          out.collect(n)
        },
      }))
      .sinkTo(holdingSink(sink, held))
    const job = cluster.startLocal(env.graph())
    await job.waitFor('RUNNING')
    allow(0, 10)
    await until('all results arrive', () => sink.values.length === 10)
    const checkpoint = job.triggerCheckpoint()
    await until('both sinks prepare', () => held.length === 2)
    allow(0, 20)
    allow(1, 5)
    await turns(50)
    expect(sink.values).toHaveLength(10)
    for (const release of held) release()
    await checkpoint
    await until('all results arrive', () => sink.values.length === 25)
  })

  it.each(['EXACTLY_ONCE', 'AT_LEAST_ONCE'])(
    'completes checkpoints under load in mode %s',
    async (mode) => {
      using folder = checkpointFolder()
      await using cluster = new MiniCluster({
        configuration: {
          'execution.checkpointing.dir': folder.path,
          'execution.checkpointing.mode': mode,
        },
      })
      const { source, allow } = steeredSource()
      const sink = new MemorySink<number>()
      const env = new StreamExecutionEnvironment({ parallelism: 2 })
      env
        .fromSource(source, undefined, 'steered')
        .keyBy((n) => n % 7)
        .process<number>(() => ({ processElement: (n, _context, out) => out.collect(n) }))
        .sinkTo(sink)
      const job = cluster.startLocal(env.graph())
      await job.waitFor('RUNNING')
      allow(0, 1_000_000)
      allow(1, 1_000_000)
      for (let id = 1; id <= 3; id++) expect(await job.triggerCheckpoint()).toBe(id)
    },
  )
})

/** Holds the preparation of every commit until the test releases it. */
function holdingSink(sink: MemorySink<number>, held: (() => void)[]): MemorySink<number> {
  const createWriter = sink.createWriter.bind(sink)
  sink.createWriter = () => {
    const writer = createWriter()
    const prepare = writer.prepareCommit.bind(writer)
    writer.prepareCommit = async (checkpointId) => {
      await new Promise<void>((resolve) => held.push(resolve))
      return prepare(checkpointId)
    }
    return writer
  }
  return sink
}
