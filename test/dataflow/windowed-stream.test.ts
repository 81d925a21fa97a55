import { describe, expect, it } from 'vitest'
import { MemorySink } from '../../src/connectors/memory/sink.ts'
import { StreamExecutionEnvironment } from '../../src/dataflow/stream-execution-environment.ts'
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
