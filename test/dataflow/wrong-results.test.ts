import { describe, expect, it } from 'vitest'
import type { DataStream } from '../../src/dataflow/data-stream.ts'
import { StreamExecutionEnvironment } from '../../src/dataflow/stream-execution-environment.ts'
import { monotonousTimestamps } from '../../src/dataflow/watermark-strategy.ts'
import { DiscardingSink } from '../../src/operators/basic/discarding-sink.ts'
import type {
  KeyedProcessContext,
  KeyedProcessFunction,
} from '../../src/operators/process/function.ts'
import { tumblingEventTimeWindows } from '../../src/operators/windows/assigner.ts'
import { LocalExecutor } from '../../src/runtime/job/local-executor.ts'
import { mapState, valueState } from '../../src/state/port/descriptors.ts'

type Env = StreamExecutionEnvironment

/** What a function gives that TypeScript would not take. */
const wrong = (value: unknown): never => value as never

const ordersOf = (env: Env): DataStream<number> =>
  env.fromElements([1, 2, 3], monotonousTimestamps({ timestampOf: (n) => n }))

const keyed = (env: Env) => ordersOf(env).keyBy(() => 'a')
const windowed = (env: Env) => keyed(env).window(tumblingEventTimeWindows(10))

/** A job whose function uses its context once for each record. */
const using = (use: (context: KeyedProcessContext<string>) => void) => (env: Env) =>
  keyed(env).process<number>(
    (): KeyedProcessFunction<string, number, number> => ({
      processElement: (_, context) => use(context),
      onTimer() {},
    }),
  )

const trigger = {
  onElement: () => 'fire',
  onEventTime: () => 'CONTINUE',
  onProcessingTime: () => 'CONTINUE',
  clear() {},
}

const counting = {
  createAccumulator: () => ({ count: 0 }),
  add: (_: number, sum: { count: number }) => sum,
  getResult: (sum: { count: number }) => sum.count,
  merge: (a: { count: number }) => a,
}

type Job = readonly [build: (env: Env) => DataStream<never>, sentence: RegExp]

const job = <T>(build: (env: Env) => DataStream<T>, sentence: RegExp): Job => [
  build as (env: Env) => never,
  sentence,
]

/** Jobs whose functions return what would be lost, or change records, without a word. */
const JOBS: Readonly<Record<string, Job>> = {
  'a flatMap that returns an object': job(
    (env) => ordersOf(env).flatMap((n) => wrong({ n })),
    /operator FlatMap.*returned an object with n, not a list/,
  ),
  'a flatMap that returns a text, which is no list of characters': job(
    (env) => ordersOf(env).flatMap(() => 'ab'),
    /operator FlatMap.*returned the string "ab", not a list/,
  ),
  'a flatMap that returns null': job(
    (env) => ordersOf(env).flatMap(() => wrong(null)),
    /returned null, not a list/,
  ),
  'a filter that returns nothing': job(
    (env) => ordersOf(env).filter(() => wrong(undefined)),
    /operator Filter.*returned undefined: return true or false/,
  ),
  'a reduce that returns null': job(
    (env) => keyed(env).reduce(() => wrong(null)),
    /operator Reduce.*the function of reduce returned null/,
  ),
  'a reduce that returns nothing': job(
    (env) => keyed(env).reduce(() => wrong(undefined)),
    /the function of reduce returned undefined/,
  ),
  'a reduce of windows that returns nothing': job(
    (env) => windowed(env).reduce(() => wrong(undefined)),
    /operator Window.*the function of reduce returned undefined/,
  ),
  'an aggregate that changes its accumulator and returns nothing': job(
    (env) => windowed(env).aggregate({ ...counting, add: () => wrong(undefined) }),
    /operator Window.*add of an aggregate returned undefined/,
  ),
  'a trigger that returns another word': job(
    (env) =>
      windowed(env)
        .trigger(wrong(trigger))
        .reduce((a) => a),
    /operator Window.*the trigger returned the string "fire": return CONTINUE/,
  ),
  'an evictor that returns nothing': job(
    (env) =>
      windowed(env)
        .evictor({ evictBefore: () => wrong(undefined) })
        .reduce((a) => a),
    /operator Window.*evictBefore returned undefined/,
  ),
  'timestamps that are no numbers': job(
    (env) => env.fromElements([1], monotonousTimestamps({ timestampOf: () => Number.NaN })),
    /operator Elements.*timestampOf is the number NaN, not a whole number of ms/,
  ),
  'timestamps in the middle of a stream that are dates': job(
    (env) =>
      env
        .fromElements([1])
        .assignTimestampsAndWatermarks(
          monotonousTimestamps({ timestampOf: () => wrong(new Date(0)) }),
        ),
    /operator TimestampsAndWatermarks.*an instance of Date.*getTime/,
  ),
  'an event-time timer without a time': job(
    using((context) => context.timerService.registerEventTimeTimer(Number.NaN)),
    /operator KeyedProcess.*the time of an event-time timer is the number NaN/,
  ),
  'a processing-time timer at a date': job(
    using((context) => context.timerService.registerProcessingTimeTimer(wrong(new Date(0)))),
    /the time of a processing-time timer is an instance of Date/,
  ),
  'a side output without its tag': job(
    using((context) => context.output(wrong('late'), 1)),
    /output\(\.\.\.\) got the string "late", but takes an output tag/,
  ),
  'state by its name': job(
    using((context) => context.getState(wrong('sum'))),
    /getState\(\.\.\.\) got the string "sum", but takes a descriptor.*valueState\('name'\)/,
  ),
  'state of another kind': job(
    using((context) => context.getState(wrong(mapState('sums')))),
    /getState\(\.\.\.\) got an object with kind/,
  ),
  'state without a key': job(
    (env) =>
      ordersOf(env).process<number>(() => ({
        processElement: (_, context) =>
          void (context as KeyedProcessContext<string>).getState(valueState('sum')),
      })),
    /operator "Process" uses keyed state but its input is not keyed: call keyBy/,
  ),
  'a timer without a key': job(
    (env) =>
      ordersOf(env).process<number>(() => ({
        processElement: (_, context) =>
          (context as KeyedProcessContext<string>).timerService.registerEventTimeTimer(1),
      })),
    /operator "Process" uses timers, which belong to keys, but its input is not keyed: call keyBy/,
  ),
  'a custom partitioning beyond the only subtask': job(
    (env) =>
      ordersOf(env)
        .partitionCustom(
          () => 5,
          (n) => n,
        )
        .map((n) => n),
    /the function of partitionCustom returned 5/,
  ),
}

describe('a job fails with a typed error that names the operator and the fix', () => {
  it.each(Object.keys(JOBS))('%s', async (name) => {
    const [build, sentence] = JOBS[name]!
    const settings = { 'state.backend.type': 'heap', 'restart-strategy.type': 'none' } as const
    const env = new StreamExecutionEnvironment({ executor: new LocalExecutor(settings) })
    build(env).sinkTo(new DiscardingSink())
    await expect(env.execute()).rejects.toMatchObject({
      details: { code: expect.stringMatching(/INVALID_ARGUMENT|INVALID_GRAPH/) },
      message: expect.stringMatching(sentence),
    })
  })
})
