import { describe, expect, it } from 'vitest'
import { MemorySink } from '../../../src/connectors/memory/sink.ts'
import { AsyncDataStream } from '../../../src/dataflow/async/data-stream.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import { monotonousTimestamps } from '../../../src/dataflow/watermark-strategy.ts'
import type { AsyncFunction } from '../../../src/operators/async/function.ts'
import { tumblingEventTimeWindows } from '../../../src/operators/windows/assigner.ts'
import { LocalExecutor } from '../../../src/runtime/job/local-executor.ts'

const RECORDS = Array.from({ length: 2000 }, (_, i) => i)

/** Resolves after a number of turns of the event loop that differs from record to record. */
const unsteady = (): AsyncFunction<number, number> => ({
  async asyncInvoke(value) {
    for (let turn = (value * 7) % 5; turn >= 0; turn--) await new Promise(setImmediate)
    return [value]
  },
})

function environment(): StreamExecutionEnvironment {
  return new StreamExecutionEnvironment({ executor: new LocalExecutor() })
}

describe('AsyncDataStream', () => {
  it('orderedWait emits in the order of the records, and before the end of input', async () => {
    const env = environment()
    const sink = new MemorySink<number>()
    const once = AsyncDataStream.orderedWait(env.fromElements(RECORDS), unsteady, { capacity: 50 })
    AsyncDataStream.orderedWait(once, unsteady, { capacity: 3 }).sinkTo(sink)
    await env.execute()
    expect(sink.values).toEqual(RECORDS)
  })

  it('unorderedWait emits every record once, in another order', async () => {
    const env = environment()
    const sink = new MemorySink<number>()
    AsyncDataStream.unorderedWait(env.fromElements(RECORDS), unsteady).sinkTo(sink)
    await env.execute()
    expect(sink.values).not.toEqual(RECORDS)
    expect([...sink.values].sort((a, b) => a - b)).toEqual(RECORDS)
  })

  it.each(['orderedWait', 'unorderedWait'] as const)(
    'loses no record to a window behind it: %s of a keyed stream',
    async (wait) => {
      const env = environment()
      const sink = new MemorySink<number>()
      const keyed = env
        .fromElements(RECORDS, monotonousTimestamps({ timestampOf: (value) => value }))
        .keyBy((value) => value % 3)
      AsyncDataStream[wait](keyed, unsteady)
        .keyBy(() => 0)
        .window(tumblingEventTimeWindows(10))
        .aggregate({
          createAccumulator: () => 0,
          add: (_value, count) => count + 1,
          merge: (a, b) => a + b,
          getResult: (count) => count,
        })
        .sinkTo(sink)
      await env.execute()
      expect(sink.values).toEqual(RECORDS.slice(0, RECORDS.length / 10).map(() => 10))
    },
  )

  it('fails the job with the error of a call, and names the operator', async () => {
    const env = environment()
    AsyncDataStream.orderedWait(env.fromElements([1]), () => ({
      asyncInvoke: () => Promise.reject(new Error('the service is down')),
    }))
      .name('Ask')
      .sinkTo(new MemorySink())
    await expect(env.execute()).rejects.toThrow(/Ask.*the service is down/)
  })

  it.each([
    [{ capacity: 0 }, 'capacity'],
    [{ capacity: 1.5 }, 'capacity'],
    [{ timeoutMs: 0 }, 'timeout'],
    [{ timeoutMs: Number.NaN }, 'timeout'],
  ])('refuses %o', (options, word) => {
    const stream = environment().fromElements(RECORDS)
    expect(() => AsyncDataStream.orderedWait(stream, unsteady, options)).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        message: expect.stringContaining(word),
      }),
    )
  })
})
