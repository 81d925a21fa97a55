import { describe, expect, it } from 'vitest'
import { MemorySource } from '../../src/connectors/memory/memory-source.ts'
import { bytesSerializer, int53Serializer, type Serializer } from '../../src/core/serializer.ts'
import { StreamExecutionEnvironment } from '../../src/dataflow/stream-execution-environment.ts'
import type { Sink } from '../../src/operators/sink.ts'
import type { Source } from '../../src/operators/source.ts'
import { MiniCluster } from '../../src/testing/mini-cluster.ts'

const turns = async (n: number): Promise<void> => {
  for (let i = 0; i < n; i++) await new Promise((resolve) => setImmediate(resolve))
}

/** A sink that is full until its gate opens. */
function gatedSink<T>() {
  const gate = Promise.withResolvers<void>()
  const state = { open: false, written: [] as T[] }
  const sink: Sink<T> = {
    guarantee: 'none',
    createWriter: () => ({
      async open() {},
      write: (value) => void state.written.push(value),
      ready: () => state.open || state.written.length === 0,
      whenReady: () => gate.promise,
      async prepareCommit() {
        return []
      },
      async commit() {},
      async close() {},
    }),
  }
  const open = (): void => {
    state.open = true
    gate.resolve()
  }
  return { sink, state, open }
}

/** Counts what was taken from the source. */
function countedSource(total: number, counted: { taken: number }): Source<number> {
  return new MemorySource([Array.from({ length: total }, (_, i) => i)], {
    beforeRecord: () => {
      counted.taken += 1
    },
  })
}

const SMALL_BATCHES = {
  'taskmanager.memory.segment-size': '1 kb',
  'taskmanager.network.memory.buffers-per-channel': '2',
}

describe('backpressure', () => {
  it('stops the source while a sink behind a shuffle is full, and loses nothing', async () => {
    await using cluster = new MiniCluster({ configuration: SMALL_BATCHES })
    const counted = { taken: 0 }
    const { sink, state, open } = gatedSink<number>()
    const env = new StreamExecutionEnvironment({ parallelism: 1 })
    env
      .fromSource(countedSource(100_000, counted), undefined, 'numbers', {
        serializer: int53Serializer as Serializer<number>,
      })
      .rebalance()
      .sinkTo(sink)
    const job = cluster.startLocal(env.graph())
    await job.waitFor('RUNNING')
    await turns(200)
    const stoppedAt = counted.taken
    await turns(50)
    expect(counted.taken).toBe(stoppedAt)
    // Two batches under way, one waiting, one being filled: 1 KB holds less than 80 records; a poll
    // that was under way takes up to 256 more.
    expect(stoppedAt).toBeLessThan(4 * 80 + 256)
    expect(state.written).toHaveLength(1)
    open()
    await job.result
    expect(state.written).toHaveLength(100_000)
  })

  it('counts a chained sink that is full as backpressure too', async () => {
    await using cluster = new MiniCluster()
    const counted = { taken: 0 }
    const { sink, state, open } = gatedSink<number>()
    const env = new StreamExecutionEnvironment({ parallelism: 1 })
    env.fromSource(countedSource(10_000, counted)).sinkTo(sink)
    const job = cluster.startLocal(env.graph())
    await job.waitFor('RUNNING')
    await turns(100)
    expect(counted.taken).toBeLessThanOrEqual(256)
    open()
    await job.result
    expect(state.written).toHaveLength(10_000)
  })

  it('bounds what a flatMap of great fan-out leaves waiting', async () => {
    await using cluster = new MiniCluster({ configuration: SMALL_BATCHES })
    const counted = { taken: 0 }
    const { sink, state, open } = gatedSink<Uint8Array>()
    const env = new StreamExecutionEnvironment({ parallelism: 1 })
    env
      .fromSource(countedSource(200, counted), undefined, 'numbers')
      .process<Uint8Array>(() => ({
        processElement(_n, _context, out) {
          for (let i = 0; i < 1000; i++) out.collect(new Uint8Array(8))
        },
      }))
      .returns(bytesSerializer)
      .rebalance()
      .sinkTo(sink)
    const job = cluster.startLocal(env.graph())
    await job.waitFor('RUNNING')
    await turns(200)
    expect(counted.taken).toBeLessThanOrEqual(2)
    open()
    await job.result
    expect(state.written).toHaveLength(200_000)
  })

  it('tells that a subtask is backpressured', async () => {
    await using cluster = new MiniCluster({ configuration: SMALL_BATCHES })
    const { sink, open } = gatedSink<number>()
    const env = new StreamExecutionEnvironment({ parallelism: 1 })
    env
      .fromSource(countedSource(100_000, { taken: 0 }), undefined, 'numbers', {
        serializer: int53Serializer as Serializer<number>,
      })
      .uid('numbers')
      .rebalance()
      .sinkTo(sink)
    const job = cluster.startLocal(env.graph())
    await job.waitFor('RUNNING')
    await turns(300)
    const metrics = await job.metrics()
    expect(metrics['numbers.0.backPressuredTimeMsPerSecond']).toBeGreaterThan(0)
    open()
    await job.result
  })
})
