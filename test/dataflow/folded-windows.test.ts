import { describe, expect, it } from 'vitest'
import { GeneratorSource } from '../../src/connectors/memory/generator-source.ts'
import { MemorySink } from '../../src/connectors/memory/sink.ts'
import { StreamExecutionEnvironment } from '../../src/dataflow/stream-execution-environment.ts'
import { boundedOutOfOrderness } from '../../src/dataflow/watermark-strategy.ts'
import type { AggregateOptions, ReduceOptions } from '../../src/dataflow/windowed-stream.ts'
import { OutputTag } from '../../src/operators/port/output-tag.ts'
import {
  type AlignedWindows,
  eventTimeSessionWindows,
  type SessionWindows,
  slidingEventTimeWindows,
  slidingProcessingTimeWindows,
  tumblingEventTimeWindows,
} from '../../src/operators/windows/assigner.ts'
import { eventTimeTrigger } from '../../src/operators/windows/trigger.ts'
import { LocalExecutor } from '../../src/runtime/job/local-executor.ts'
import type { AggregateFunction } from '../../src/state/port/descriptors.ts'

interface Event {
  readonly user: number
  readonly time: number
  readonly amount: number
}

const COUNT = 3_000
const PARTITIONS = 2
const USERS = 7

const eventOf = (index: number, partition: number): Event => ({
  user: (index * 5 + partition) % USERS,
  time: index + ((index * 13) % 20),
  amount: index % 11,
})

const all = Array.from({ length: PARTITIONS * COUNT }, (_, n) =>
  eventOf(Math.floor(n / PARTITIONS), n % PARTITIONS),
)

const environment = (): StreamExecutionEnvironment =>
  new StreamExecutionEnvironment({ parallelism: 2, executor: new LocalExecutor() })

const events = (env: StreamExecutionEnvironment, boundMs = 20) =>
  env.fromSource(
    new GeneratorSource<Event>({
      partitions: PARTITIONS,
      countPerPartition: COUNT,
      generate: eventOf,
    }),
    boundedOutOfOrderness<Event>(boundMs, { timestampOf: ({ time }) => time }),
    'events',
  )

/** Sums by a merge that the test can break. */
const sums = (
  merge: (a: number, b: number) => number,
): AggregateFunction<Event, number, number> => ({
  createAccumulator: () => 0,
  add: ({ amount }, sum) => sum + amount,
  getResult: (sum) => sum,
  merge,
})

const plus = (a: number, b: number): number => a + b

/** `user start sum` of each window, computed from the whole list of records. */
function expectedSums({ sizeMs, slideMs }: AlignedWindows): string[] {
  const found = new Map<string, number>()
  for (const { user, time, amount } of all) {
    for (let start = time - (time % slideMs); start > time - sizeMs; start -= slideMs) {
      const name = `${user} ${start}`
      found.set(name, (found.get(name) ?? 0) + amount)
    }
  }
  return [...found].map(([name, sum]) => `${name} ${sum}`).toSorted()
}

/** `user start sum` of each session, computed from the whole list of records. */
function expectedSessions(gapMs: number): string[] {
  const sessions: string[] = []
  for (let user = 0; user < USERS; user++) {
    const own = all.filter((event) => event.user === user).toSorted((a, b) => a.time - b.time)
    let start = own[0]!.time
    let last = start
    let sum = 0
    for (const { time, amount } of own) {
      if (time > last + gapMs) {
        sessions.push(`${user} ${start} ${sum}`)
        start = time
        sum = 0
      }
      last = time
      sum += amount
    }
    sessions.push(`${user} ${start} ${sum}`)
  }
  return sessions.toSorted()
}

async function sumsOf(
  windows: AlignedWindows | SessionWindows,
  merge: (a: number, b: number) => number,
  options: AggregateOptions<number> = {},
): Promise<string[]> {
  const env = environment()
  const results = new MemorySink<string>()
  events(env)
    .keyBy(({ user }) => user)
    .window(windows)
    .aggregate(sums(merge), options, () => ({
      process: (user, { window }, [sum], out) => out.collect(`${user} ${window.start} ${sum}`),
    }))
    .sinkTo(results)
  await env.execute('sums')
  return results.values.toSorted()
}

describe('windows whose records are folded by their senders', () => {
  it.each([
    ['tumbling', tumblingEventTimeWindows(100)],
    ['sliding', slidingEventTimeWindows(100, 20)],
  ])('have the sums of %s windows', async (_, windows) => {
    expect(await sumsOf(windows, plus)).toEqual(expectedSums(windows))
  })

  it('have the sums of sessions', async () => {
    const expected = expectedSessions(4)
    expect(expected.length).toBeGreaterThan(100)
    expect(await sumsOf(eventTimeSessionWindows(4), plus)).toEqual(expected)
  })

  const aligned = [tumblingEventTimeWindows(100), slidingEventTimeWindows(100, 20)]

  it('have the right sums where merge was never written and the options say so', async () => {
    for (const windows of aligned) {
      expect(await sumsOf(windows, (a) => a, { associative: false })).toEqual(expectedSums(windows))
    }
  })

  it('fail with the name of the operator where merge was never written', async () => {
    for (const windows of aligned) {
      await expect(sumsOf(windows, (a) => a)).rejects.toMatchObject({
        code: 'JOB_FAILED',
        details: { code: 'NOT_ASSOCIATIVE' },
        message: expect.stringMatching(/operator Window.*merge of the aggregate gives another/),
      })
    }
  })

  const counts = async (windows: AlignedWindows, options: ReduceOptions = {}): Promise<number> => {
    const env = environment()
    const counts = new MemorySink<number>()
    events(env)
      .map(({ user }) => ({ user, count: 1 }))
      .windowAll(windows)
      .reduce(({ user, count }) => ({ user, count: count + 1 }), options)
      .map(({ count }) => count)
      .sinkTo(counts)
    await env.execute('counts')
    return Math.max(...counts.values)
  }

  it('have the right counts where a reduce takes its second argument for one record', async () => {
    expect(await counts(tumblingEventTimeWindows(10_000))).toBe(all.length)
    expect(await counts(slidingEventTimeWindows(10_000, 5_000))).toBe(all.length)
  })

  it('fail where such a reduce is declared associative', async () => {
    for (const windows of aligned) {
      await expect(counts(windows, { associative: true })).rejects.toMatchObject({
        details: { code: 'NOT_ASSOCIATIVE' },
        message: expect.stringMatching(/operator WindowAll.*the function of reduce was declared/),
      })
    }
  })

  it('count the errors of a reduce that looks at its second argument, however late the first comes', async () => {
    const isError = (index: number): boolean => index >= 1_000 && index % 10 === 0
    type Call = { readonly time: number; readonly status: number; readonly errors: number }
    const countingErrors = (a: Call, b: Call): Call => ({
      ...a,
      errors: a.errors + (b.status >= 500 ? 1 : 0),
    })
    const total = async (parallelism: number): Promise<number> => {
      const env = new StreamExecutionEnvironment({ parallelism, executor: new LocalExecutor() })
      const reports = new MemorySink<number>()
      const source = new GeneratorSource({
        countPerPartition: 20_000,
        generate: (index) => ({ time: index, status: isError(index) ? 500 : 200, errors: 0 }),
      })
      env
        .fromSource(source, boundedOutOfOrderness(0, { timestampOf: ({ time }) => time }), 'calls')
        .keyBy(({ time }) => time % 3)
        .window(tumblingEventTimeWindows(100_000))
        .reduce(countingErrors)
        .map(({ errors }) => errors)
        .sinkTo(reports)
      await env.execute('errors')
      return reports.values.reduce((sum, errors) => sum + errors)
    }
    expect(await total(1)).toBe(1_900)
    expect(await total(2)).toBe(1_900)
  })

  it('leave out the records at which the fold throws, and no others, with onError', async () => {
    const wrong = (event: Event): boolean => event.time % 50 === 7
    for (const windows of aligned) {
      const env = environment()
      const totals = new MemorySink<number>()
      const throwing: AggregateFunction<Event, number, number> = {
        ...sums(plus),
        add(event, sum) {
          if (wrong(event)) throw new Error('a wrong event')
          return sum + 1
        },
      }
      events(env)
        .keyBy(({ user }) => user)
        .window(windows)
        .aggregate(throwing)
        .onError('skip')
        .sinkTo(totals)
      await env.execute('totals')
      const { sizeMs, slideMs } = windows
      const right = all.filter((event) => !wrong(event)).length * (sizeMs / slideMs)
      expect(totals.values.reduce(plus)).toBe(right)
    }
  })

  it('fail where a fold is not what was declared, also with onError', async () => {
    const env = environment()
    events(env)
      .keyBy(({ user }) => user)
      .window(slidingEventTimeWindows(100, 20))
      .aggregate(sums((a) => a))
      .onError('skip')
      .discard()
    await expect(env.execute('wrong')).rejects.toMatchObject({
      details: { code: 'NOT_ASSOCIATIVE' },
    })
  })

  it('find the highest record of all, the first of equal ones of a sender', async () => {
    const env = environment()
    const best = new MemorySink<Event>()
    events(env).windowAll(tumblingEventTimeWindows(100_000)).maxBy('amount').sinkTo(best)
    await env.execute('best')
    expect(best.values).toHaveLength(1)
    expect(best.values[0]!.amount).toBe(10)
    expect(best.values[0]!.time).toBeLessThan(40)
  })
})

describe('the edge into windows', () => {
  const foldOf = (build: (env: StreamExecutionEnvironment) => void): boolean => {
    const env = environment()
    build(env)
    const keyed = env
      .graph('edges')
      .edges.flatMap(({ partitioning }) => (partitioning.kind === 'hash' ? [partitioning] : []))
    return keyed.some(({ fold }) => fold !== undefined)
  }
  const byUser = (env: StreamExecutionEnvironment) => events(env).keyBy(({ user }) => user)

  it.each<[string, boolean, (env: StreamExecutionEnvironment) => void]>([
    [
      'tumbling windows with a fold',
      true,
      (env) => byUser(env).window(tumblingEventTimeWindows(10)).aggregate(sums(plus)).discard(),
    ],
    [
      'a reduce that is not declared associative',
      false,
      (env) =>
        byUser(env)
          .window(tumblingEventTimeWindows(10))
          .reduce((a) => a)
          .discard(),
    ],
    [
      'a reduce that is declared associative',
      true,
      (env) =>
        byUser(env)
          .window(tumblingEventTimeWindows(10))
          .reduce((a) => a, { associative: true })
          .discard(),
    ],
    [
      'a fold of its field',
      true,
      (env) => byUser(env).window(tumblingEventTimeWindows(10)).maxBy('amount').discard(),
    ],
    [
      'the first of equal records of sliding windows',
      false,
      (env) => byUser(env).window(slidingEventTimeWindows(20, 10)).maxBy('amount').discard(),
    ],
    [
      'all records of a window',
      false,
      (env) =>
        byUser(env)
          .window(tumblingEventTimeWindows(10))
          .process(() => ({ process: () => undefined }))
          .discard(),
    ],
    [
      'a trigger',
      false,
      (env) =>
        byUser(env)
          .window(tumblingEventTimeWindows(10))
          .trigger(eventTimeTrigger())
          .aggregate(sums(plus))
          .discard(),
    ],
    [
      'allowed lateness',
      false,
      (env) =>
        byUser(env)
          .window(tumblingEventTimeWindows(10))
          .allowedLateness(5)
          .aggregate(sums(plus))
          .discard(),
    ],
    [
      'a side output of late records',
      false,
      (env) =>
        byUser(env)
          .window(tumblingEventTimeWindows(10))
          .sideOutputLateData(new OutputTag<Event>('late'))
          .aggregate(sums(plus))
          .discard(),
    ],
    [
      'sessions',
      true,
      (env) => byUser(env).window(eventTimeSessionWindows(10)).aggregate(sums(plus)).discard(),
    ],
    [
      'windows of the wall clock that overlap',
      false,
      (env) =>
        byUser(env).window(slidingProcessingTimeWindows(20, 10)).aggregate(sums(plus)).discard(),
    ],
  ])('with %s folds: %s', (_, folds, build) => {
    expect(foldOf(build)).toBe(folds)
  })
})
