import { describe, expect, it } from 'vitest'
import { StreamExecutionEnvironment } from '../../src/dataflow/stream-execution-environment.ts'
import { generatedWatermarks, monotonousTimestamps } from '../../src/dataflow/watermark-strategy.ts'
import { DiscardingSink } from '../../src/operators/basic/discarding-sink.ts'
import {
  dynamicEventTimeSessionWindows,
  globalWindows,
  tumblingEventTimeWindows,
} from '../../src/operators/windows/assigner.ts'
import { deltaEvictor } from '../../src/operators/windows/evictor.ts'
import { countTrigger, deltaTrigger } from '../../src/operators/windows/trigger.ts'
import { LocalExecutor } from '../../src/runtime/job/local-executor.ts'
import {
  type AggregateFunction,
  reducingState,
  valueState,
} from '../../src/state/port/descriptors.ts'

type Env = StreamExecutionEnvironment

const times = monotonousTimestamps<number>({ timestampOf: (n) => n })
const windowed = (env: Env) =>
  env
    .fromElements([1, 2, 3], times)
    .keyBy((n) => n % 2)
    .window(tumblingEventTimeWindows(10))

const adding: AggregateFunction<number, number, number> = {
  createAccumulator: () => 0,
  add: (n, sum) => n + sum,
  getResult: (sum) => sum,
  merge: (a, b) => a + b,
}

const trigger = {
  open() {},
  onElement: () => 'CONTINUE',
  onEventTime: () => 'FIRE',
  onProcessingTime: () => 'CONTINUE',
  clear() {},
} as const

const nothing = () => ({ process() {} })

const ASYNC_TIMESTAMPS = monotonousTimestamps<number>({
  timestampOf: (() => Promise.resolve(1)) as never,
})

/** Streams with one asynchronous function each, where a synchronous one belongs. */
const STREAMS: Readonly<Record<string, (env: Env) => { sinkTo(sink: never): unknown }>> = {
  'an aggregate of windows': (env) =>
    windowed(env).aggregate({
      ...adding,
      getResult: (sum: number) => Promise.resolve(sum),
    } as never),
  'an aggregate of windows with an evictor': (env) =>
    windowed(env)
      .evictor({ evictBefore: (all) => all })
      .aggregate({ ...adding, add: () => Promise.resolve(1) } as never),
  'a trigger': (env) =>
    windowed(env)
      .trigger({ ...trigger, onElement: () => Promise.resolve('CONTINUE') } as never)
      .process(nothing),
  'a timer of a trigger': (env) =>
    windowed(env)
      .trigger({ ...trigger, onEventTime: () => Promise.resolve('FIRE') } as never)
      .process(nothing),
  'an evictor': (env) =>
    windowed(env)
      .evictor({ evictBefore: () => Promise.resolve([]) } as never)
      .process(nothing),
  'an evictor behind the function': (env) =>
    windowed(env)
      .evictor({ evictAfter: () => Promise.resolve([]) } as never)
      .process(nothing),
  'a watermark generator': (env) =>
    env.fromElements(
      [1],
      generatedWatermarks<number>(
        () => ({ onEvent: async () => {}, onPeriodicEmit() {} }) as never,
      ),
    ),
  'the timestamps of a source': (env) => env.fromElements([1], ASYNC_TIMESTAMPS),
  'the timestamps of a stream': (env) =>
    env.fromElements([1]).assignTimestampsAndWatermarks(ASYNC_TIMESTAMPS),
  'a key': (env) =>
    env
      .fromElements([1])
      .keyBy((n) => [Promise.resolve(n) as never])
      .reduce((a) => a),
  'a custom partitioning at parallelism 1': (env) =>
    env
      .fromElements([1])
      .partitionCustom(
        () => Promise.resolve(0) as never,
        (n) => n,
      )
      .map((n) => n),
  'a value of state': (env) =>
    env
      .fromElements([1])
      .keyBy((n) => n)
      .process<number>(() => ({
        processElement: (_, context) =>
          context.getState(valueState<unknown>('later')).update(Promise.resolve(1)),
      })),
  'the distance of a trigger': (env) =>
    env
      .fromElements([1, 2])
      .keyBy(() => 0)
      .window(globalWindows())
      .trigger(deltaTrigger(1, () => Promise.resolve(2) as never))
      .reduce((a) => a),
  'the distance of an evictor': (env) =>
    env
      .fromElements([1, 2])
      .keyBy(() => 0)
      .window(globalWindows())
      .trigger(countTrigger(2))
      .evictor(deltaEvictor(1, () => Promise.resolve(2) as never))
      .reduce((a) => a),
  'the gap of a session': (env) =>
    env
      .fromElements([1], times)
      .keyBy((n) => n)
      .window(dynamicEventTimeSessionWindows(() => Promise.resolve(1) as never))
      .reduce((a) => a),
}

const STATE = reducingState<unknown>('sum', async () => 1)

describe('a function that returns a promise where a synchronous one belongs', () => {
  const run = async (build: (env: Env) => { sinkTo(sink: never): unknown }): Promise<unknown> => {
    const executor = new LocalExecutor({
      'state.backend.type': 'heap',
      'restart-strategy.type': 'none',
    })
    const env = new StreamExecutionEnvironment({ executor })
    build(env).sinkTo(new DiscardingSink() as never)
    return await env.execute('promises')
  }

  it.each(Object.keys(STREAMS))('fails the job and names AsyncDataStream: %s', async (name) => {
    const sentence = /promise.*AsyncDataStream/
    await expect(run(STREAMS[name]!)).rejects.toThrow(sentence)
  })

  it('fails the job in reducing state, too', async () => {
    const job = run((env) =>
      env
        .fromElements([1, 1])
        .keyBy((n) => n)
        .process<number>(() => ({
          processElement: (n, context) => context.getReducingState(STATE).add(n),
        })),
    )
    await expect(job).rejects.toThrow(/promise.*AsyncDataStream/)
  })
})
