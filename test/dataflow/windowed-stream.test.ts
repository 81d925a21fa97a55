import { describe, expect, it } from 'vitest'
import { MemorySink } from '../../src/connectors/memory/sink.ts'
import { float64Serializer } from '../../src/core/serializer.ts'
import { StreamExecutionEnvironment } from '../../src/dataflow/stream-execution-environment.ts'
import type { Collector } from '../../src/operators/process/function.ts'
import { eventTimeSessionWindows, globalWindows } from '../../src/operators/windows/assigner.ts'
import { countEvictor } from '../../src/operators/windows/evictor.ts'
import { countTrigger, deltaTrigger, purgingTrigger } from '../../src/operators/windows/trigger.ts'
import { LocalExecutor } from '../../src/runtime/job/local-executor.ts'

const environment = (): StreamExecutionEnvironment =>
  new StreamExecutionEnvironment({ parallelism: 2, executor: new LocalExecutor() })

describe('a stream in windows', () => {
  it('fires by its trigger, in a running job', async () => {
    const env = environment()
    const sums = new MemorySink<number>()
    env
      .fromSequence(1, 6)
      .keyBy((n) => n % 2)
      .window(globalWindows())
      .trigger(purgingTrigger(countTrigger(3)))
      .reduce((a, b) => a + b)
      .sinkTo(sums)
    await env.execute('triggers')
    expect(sums.values.toSorted((a, b) => a - b)).toEqual([9, 12])
  })

  it('has an evictor in front of an aggregation', async () => {
    const env = environment()
    const sums = new MemorySink<number>()
    env
      .fromElements([1, 2, 3])
      .windowAll(globalWindows())
      .trigger(countTrigger(3))
      .evictor(countEvictor(2))
      .aggregate({
        createAccumulator: () => 0,
        add: (n, sum) => sum + n,
        merge: (a, b) => a + b,
        getResult: (sum) => sum,
      })
      .sinkTo(sums)
    await env.execute('evictors')
    expect(sums.values).toEqual([5])
  })

  it('aggregates with a window function before or behind the options', async () => {
    const counting = {
      createAccumulator: () => 0,
      add: (_: number, count: number) => count + 1,
      merge: (a: number, b: number) => a + b,
      getResult: (count: number) => count,
    }
    const inWords = () => ({
      process: (_: number, __: unknown, [count]: readonly number[], out: Collector<string>) =>
        out.collect(`${count} records`),
    })
    const options = { serializer: float64Serializer }
    for (const others of [[inWords], [inWords, options], [options, inWords]] as const) {
      const env = environment()
      const words = new MemorySink<string>()
      const windows = env.fromElements([1, 2]).windowAll(globalWindows()).trigger(countTrigger(2))
      windows.aggregate(counting, ...(others as [typeof options, typeof inWords])).sinkTo(words)
      await env.execute('aggregates')
      expect(words.values).toEqual(['2 records'])
    }
  })

  it('refuses a window function and options that are none', () => {
    const windows = environment().fromElements([1]).windowAll(globalWindows())
    const counting = {
      createAccumulator: () => 0,
      add: () => 0,
      merge: () => 0,
      getResult: () => 0,
    }
    const aggregate = (...others: unknown[]) => {
      windows.aggregate(counting, ...(others as [object]))
    }
    expect(() => aggregate({ serialiser: float64Serializer })).toThrow('did you mean "serializer"?')
    const window = new (class {
      process() {}
    })()
    for (const others of [[{ process() {} }], [window], [{}, { process() {} }], [{}, window]]) {
      expect(() => aggregate(...others)).toThrow('a function that makes a window function')
    }
    expect(() => aggregate({}, {})).toThrow('takes options once')
    expect(() => aggregate('count')).toThrow('options must be an object with serializer')
    expect(() => aggregate((count: number) => count)).toThrow('a function without parameters')
  })

  it('refuses a trigger and an evictor on count windows', () => {
    const windows = environment()
      .fromElements([1])
      .keyBy((n) => n)
      .countWindow(3)
    expect(() => windows.trigger(countTrigger(3))).toThrow('a count window has no trigger(...)')
    expect(() => windows.evictor(countEvictor(3))).toThrow('a count window has no evictor(...)')
  })

  it('refuses a trigger that cannot merge on sessions', () => {
    const sessions = environment()
      .fromElements([1])
      .keyBy((n) => n)
      .window(eventTimeSessionWindows(10))
    expect(() => sessions.trigger(deltaTrigger(1, (a, b) => b - a))).toThrow('sessions merge')
  })
})
