import { describe, expect, it } from 'vitest'
import { MemorySource } from '../../../src/connectors/memory/source.ts'
import { bytesSerializer, int53Serializer, type Serializer } from '../../../src/core/serializer.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import type { Sink } from '../../../src/operators/port/sink.ts'
import type { Source } from '../../../src/operators/port/source.ts'
import { MiniCluster } from '../../../src/testing/mini-cluster.ts'

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
  it('stops the source while a sink after a shuffle is full, and loses nothing', async () => {
    await using cluster = new MiniCluster({ configuration: SMALL_BATCHES })
    const counted = { taken: 0 }
    const { sink, state, open } = gatedSink<number>()
    const env = new StreamExecutionEnvironment({ parallelism: 1 })
    env
      .fromSource(countedSource(20_000, counted), undefined, 'numbers', {
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
    // Two batches sent, one waiting, one being filled: 1 KB holds fewer than 80 records; a poll that
    // has begun takes up to 256 more.
    expect(stoppedAt).toBeLessThan(4 * 80 + 256)
    expect(state.written).toHaveLength(1)
    open()
    await job.result
    expect(state.written).toHaveLength(20_000)
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

  it('bounds the records that wait after a flatMap with a large fan-out', async () => {
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

  it('reports that a subtask is backpressured', async () => {
    await using cluster = new MiniCluster({ configuration: SMALL_BATCHES })
    const { sink, open } = gatedSink<number>()
    const env = new StreamExecutionEnvironment({ parallelism: 1 })
    env
      .fromSource(countedSource(20_000, { taken: 0 }), undefined, 'numbers', {
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

  it('reports a subtask as idle once it is not held back any more and has no input', async () => {
    await using cluster = new MiniCluster({ configuration: SMALL_BATCHES })
    const { sink, state, open } = gatedSink<number>()
    const env = new StreamExecutionEnvironment({ parallelism: 1 })
    const numbers = Array.from({ length: 1000 }, (_, i) => i)
    env
      .fromSource(new MemorySource([numbers], { bounded: false }), undefined, 'numbers', {
        serializer: int53Serializer as Serializer<number>,
      })
      .uid('numbers')
      .rebalance()
      .sinkTo(sink)
    const job = cluster.startLocal(env.graph())
    await job.waitFor('RUNNING')
    await turns(300)
    open()
    while (state.written.length < numbers.length) await turns(10)
    await turns(50)
    const before = await job.metrics()
    await turns(50)
    const after = await job.metrics()
    const grown = (name: string): number =>
      after[`numbers.0.${name}`]! - before[`numbers.0.${name}`]!
    expect(grown('accumulatedBackPressuredTimeMs')).toBe(0)
    expect(grown('accumulatedIdleTimeMs')).toBeGreaterThan(0)
    await job.cancel()
  })
})
