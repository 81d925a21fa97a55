import { describe, expect, it } from 'vitest'
import { GeneratorSource } from '../../src/connectors/memory/generator-source.ts'
import { MemorySink } from '../../src/connectors/memory/sink.ts'
import { StreamExecutionEnvironment } from '../../src/dataflow/stream-execution-environment.ts'
import { boundedOutOfOrderness } from '../../src/dataflow/watermark-strategy.ts'
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
): Promise<string[]> {
  const env = environment()
  const results = new MemorySink<string>()
  events(env)
    .keyBy(({ user }) => user)
    .window(windows)
    .aggregate(sums(merge), {}, () => ({
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

  it('have the right sums where merge was never written', async () => {
    const windows = tumblingEventTimeWindows(100)
    expect(await sumsOf(windows, (a) => a)).toEqual(expectedSums(windows))
  })

  it('have the right counts where a reduce takes its second argument for one record', async () => {
    const env = environment()
    const counts = new MemorySink<number>()
    events(env)
      .map(({ user }) => ({ user, count: 1 }))
      .windowAll(tumblingEventTimeWindows(10_000))
      .reduce(({ user, count }) => ({ user, count: count + 1 }))
      .map(({ count }) => count)
      .sinkTo(counts)
    await env.execute('counts')
    expect(counts.values).toEqual([all.length])
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
