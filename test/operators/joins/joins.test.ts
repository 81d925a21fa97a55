import { describe, expect, it } from 'vitest'
import { MemorySink } from '../../../src/connectors/memory/sink.ts'
import type { DataStream } from '../../../src/dataflow/data-stream.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import { boundedOutOfOrderness } from '../../../src/dataflow/watermark-strategy.ts'
import type { CoGroupFunction } from '../../../src/operators/joins/co-group.ts'
import type { JoinContext } from '../../../src/operators/joins/interval-join.ts'
import { OutputTag } from '../../../src/operators/port/output-tag.ts'
import type { Collector } from '../../../src/operators/process/function.ts'
import { tumblingEventTimeWindows } from '../../../src/operators/windows/assigner.ts'
import { LocalExecutor } from '../../../src/runtime/job/local-executor.ts'
import { StreamHarness } from '../../../src/testing/stream-harness.ts'

interface Event {
  readonly key: string
  readonly time: number
}

const environment = (): StreamExecutionEnvironment =>
  new StreamExecutionEnvironment({ executor: new LocalExecutor() })

const strategy = (boundMs: number) =>
  boundedOutOfOrderness<Event>(boundMs, { timestampOf: (event) => event.time })

const eventsOf = (env: StreamExecutionEnvironment, events: readonly Event[], boundMs = 1000) =>
  env.fromElements(events, strategy(boundMs))

const event = (key: string, time: number): Event => ({ key, time })

async function run<T>(
  env: StreamExecutionEnvironment,
  stream: { sinkTo(sink: MemorySink<T>): unknown },
): Promise<readonly T[]> {
  const sink = new MemorySink<T>()
  stream.sinkTo(sink)
  await env.execute('joins')
  return [...sink.values].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
}

const LEFT = [event('a', 1), event('a', 12), event('b', 3), event('c', 5)]
const RIGHT = [event('a', 2), event('a', 4), event('b', 13), event('c', 9)]

describe('a join in windows', () => {
  it('makes a result for each pair of a key and window', async () => {
    const env = environment()
    const joined = eventsOf(env, LEFT)
      .join(eventsOf(env, RIGHT))
      .where(({ key }) => key)
      .equalTo(({ key }) => key)
      .window(tumblingEventTimeWindows(10))
      .apply((left, right) => [left.key, left.time, right.time])
    expect(await run(env, joined)).toEqual([
      ['a', 1, 2],
      ['a', 1, 4],
      ['c', 5, 9],
    ])
  })

  it('as a co-group also calls for windows in which one stream has no record', async () => {
    const env = environment()
    const grouped = eventsOf(env, LEFT)
      .coGroup(eventsOf(env, RIGHT))
      .where(({ key }) => key)
      .equalTo(({ key }) => key)
      .window(tumblingEventTimeWindows(10))
      .apply<string>((left, right, out) => {
        const { key } = left[0] ?? right[0]!
        out.collect(`${key}: ${left.length} and ${right.length}`)
      })
    expect(await run(env, grouped)).toEqual([
      'a: 1 and 0',
      'a: 1 and 2',
      'b: 0 and 1',
      'b: 1 and 0',
      'c: 1 and 1',
    ])
  })

  it('passes the records of a key and window to a plain function', async () => {
    const env = environment()
    const lines = eventsOf(env, LEFT)
      .keyBy(({ key }) => key)
      .window(tumblingEventTimeWindows(10))
      .apply<string>((key, { start }, events, out) =>
        out.collect(`${key} from ${start}: ${events.length}`),
      )
    expect(await run(env, lines)).toEqual([
      'a from 0: 1',
      'a from 10: 1',
      'b from 0: 1',
      'c from 0: 1',
    ])
  })

  it('refuses an asynchronous function', async () => {
    const env = environment()
    const joined = eventsOf(env, LEFT)
      .join(eventsOf(env, RIGHT))
      .where(({ key }) => key)
      .equalTo(({ key }) => key)
      .window(tumblingEventTimeWindows(10))
      .apply((left) => Promise.resolve(left.key))
    await expect(run(env, joined)).rejects.toMatchObject({
      details: { code: 'UNSUPPORTED' },
    })
  })

  const counted = (apply: CoGroupFunction<Event, Event, string>) => {
    const env = environment()
    const grouped = eventsOf(env, LEFT)
      .coGroup(eventsOf(env, RIGHT))
      .where(({ key }) => key)
      .equalTo(({ key }) => key)
      .window(tumblingEventTimeWindows(10))
      .apply<string>(apply)
    return run(env, grouped)
  }

  it('refuses a list of results that nothing would emit', async () => {
    await expect(counted((left) => left.map(({ key }) => key))).rejects.toMatchObject({
      details: { code: 'UNSUPPORTED' },
      message: expect.stringContaining('out.collect'),
    })
  })

  it('takes a function that collects while it maps', async () => {
    expect(await counted((left, _, out) => left.map(({ key }) => out.collect(key)))).toEqual([
      'a',
      'a',
      'b',
      'c',
    ])
  })
})

describe('an interval join', () => {
  interface Pair {
    readonly pair: string
    readonly timestamp: number
  }

  const pairs = {
    processElement(
      left: Event,
      right: Event,
      context: JoinContext,
      out: { collect(value: Pair): void },
    ): void {
      const pair = `${left.key} ${context.leftTimestamp} ${context.rightTimestamp}`
      expect([left.time, right.time]).toEqual([context.leftTimestamp, context.rightTimestamp])
      out.collect({ pair, timestamp: context.timestamp })
    },
  }

  const joined = (env: StreamExecutionEnvironment, left: readonly Event[], boundMs = 1000) =>
    eventsOf(env, left, boundMs)
      .keyBy(({ key }) => key)
      .intervalJoin(eventsOf(env, RIGHT, boundMs).keyBy(({ key }) => key))

  it('joins records of a key whose distance is within the bounds, and gives the later time', async () => {
    const env = environment()
    const stream = joined(env, LEFT)
      .between(-8, 3)
      .process(() => pairs)
    expect(await run(env, stream)).toEqual([
      { pair: 'a 1 2', timestamp: 2 },
      { pair: 'a 1 4', timestamp: 4 },
      { pair: 'a 12 4', timestamp: 12 },
    ])
  })

  it('keeps a record as it came, also where the function changes it', async () => {
    const env = environment()
    type Count = { key: string; time: number; n: number }
    const rows = (times: readonly number[]) =>
      env
        .fromElements(times, boundedOutOfOrderness<number>(1000, { timestampOf: (n) => n }))
        .map((time): Count => ({ key: 'a', time, n: 0 }))
        .keyBy(({ key }) => key)
    const stream = rows([1])
      .intervalJoin(rows([2, 3, 4]))
      .between(0, 10)
      .process<number>(() => ({
        processElement(left, right, _context, out) {
          left.n += 1
          right.n += 1
          out.collect(left.n + right.n)
        },
      }))
    expect(await run(env, stream)).toEqual([2, 2, 2])
  })

  it('sends late records of each stream to its side output, which the join leaves out', async () => {
    const lateLeft = new OutputTag<number>('late-left')
    const lateRight = new OutputTag<number>('late-right')
    const joined = (left: DataStream<number>, right: DataStream<number>) =>
      left
        .keyBy(() => 0)
        .intervalJoin(right.keyBy(() => 0))
        .between(0, 10)
    const pairs = () => ({
      processElement: (a: number, b: number, _: unknown, out: Collector<string>) =>
        out.collect(`${a}-${b}`),
    })
    const both = await StreamHarness.open<[number, number], string>((left, right) =>
      joined(left, right)
        .sideOutputLeftLateData(lateLeft)
        .sideOutputRightLateData(lateRight)
        .process(pairs),
    )
    both.watermark(100)
    both.process(1, 99)
    both.process(2, 98, 1)
    both.process(3, 100)
    both.process(4, 105, 1)
    expect(both.sideOutput(lateLeft)).toEqual([{ value: 1, timestamp: 99 }])
    expect(both.sideOutput(lateRight)).toEqual([{ value: 2, timestamp: 98 }])
    expect(both.values).toEqual(['3-4'])
  })

  it('joins records from before 1970', async () => {
    const env = environment()
    const stream = eventsOf(env, [event('a', -20), event('a', -2)])
      .keyBy(({ key }) => key)
      .intervalJoin(eventsOf(env, [event('a', -18)]).keyBy(({ key }) => key))
      .between(0, 5)
      .process(() => pairs)
    expect(await run(env, stream)).toEqual([{ pair: 'a -20 -18', timestamp: -18 }])
  })

  it('leaves out pairs at a bound that is exclusive', async () => {
    const env = environment()
    const stream = joined(env, LEFT)
      .between(-8, 3)
      .lowerBoundExclusive()
      .upperBoundExclusive()
      .process(() => pairs)
    expect(await run(env, stream)).toEqual([{ pair: 'a 1 2', timestamp: 2 }])
  })

  it('finds all pairs that a comparison of each with each finds', async () => {
    const random = Array.from({ length: 60 }, (_, i) => event('abc'[i % 3]!, (i * 37) % 100))
    const left = random.filter((_, i) => i % 2 === 0)
    const right = random.filter((_, i) => i % 2 === 1)
    const env = environment()
    const stream = eventsOf(env, left)
      .keyBy(({ key }) => key)
      .intervalJoin(eventsOf(env, right).keyBy(({ key }) => key))
      .between(-5, 7)
      .process(() => pairs)
    const expected = left.flatMap((a) =>
      right
        .filter((b) => b.key === a.key && b.time - a.time >= -5 && b.time - a.time <= 7)
        .map((b) => `${a.key} ${a.time} ${b.time}`),
    )
    const found = (await run<Pair>(env, stream)).map(({ pair }) => pair)
    expect(found).toEqual(expected.sort())
    expect(found.length).toBeGreaterThan(20)
  })

  it('refuses bounds in the wrong order', () => {
    const env = environment()
    expect(() => joined(env, LEFT).between(5, 1)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    )
  })
})

describe('windowAll', () => {
  it('folds the records of all keys in one subtask', async () => {
    const env = new StreamExecutionEnvironment({ parallelism: 2, executor: new LocalExecutor() })
    const totals = eventsOf(env, [...LEFT, ...RIGHT])
      .map(({ time }) => ({ time, count: 1 }))
      .windowAll(tumblingEventTimeWindows(10))
      .sum('count')
      .map(({ count }) => count)
    expect(await run(env, totals)).toEqual([2, 6])
  })

  it('passes the records of a window to a plain function', async () => {
    const env = new StreamExecutionEnvironment({ parallelism: 2, executor: new LocalExecutor() })
    const lines = eventsOf(env, [...LEFT, ...RIGHT])
      .windowAll(tumblingEventTimeWindows(10))
      .apply<string>(({ start, end }, events, out) =>
        out.collect(`${start} to ${end}: ${events.length}`),
      )
    expect(await run(env, lines)).toEqual(['0 to 10: 6', '10 to 20: 2'])
  })
})

describe('folds of a field', () => {
  const rows = [
    { key: 'a', n: 2, name: 'x' },
    { key: 'a', n: 1, name: 'y' },
    { key: 'a', n: 1, name: 'z' },
    { key: 'a', n: 5, name: 'w' },
  ]
  const keyed = (env: StreamExecutionEnvironment) => env.fromElements(rows).keyBy(({ key }) => key)

  it('keep the first record with the sum, the smallest or the greatest value', async () => {
    for (const [fold, expected] of [
      ['sum', [2, 3, 4, 9]],
      ['min', [2, 1, 1, 1]],
      ['max', [2, 2, 2, 5]],
    ] as const) {
      const env = environment()
      const sink = new MemorySink<{ n: number; name: string }>()
      keyed(env)[fold]('n').sinkTo(sink)
      await env.execute(fold)
      expect(sink.values.map(({ n }) => n)).toEqual(expected)
      expect(new Set(sink.values.map(({ name }) => name))).toEqual(new Set(['x']))
    }
  })

  it('by a field keep the whole record, of equal ones the first', async () => {
    for (const [fold, expected] of [
      ['minBy', ['x', 'y', 'y', 'y']],
      ['maxBy', ['x', 'x', 'x', 'w']],
    ] as const) {
      const env = environment()
      const sink = new MemorySink<{ n: number; name: string }>()
      keyed(env)[fold]('n').sinkTo(sink)
      await env.execute(fold)
      expect(sink.values.map(({ name }) => name)).toEqual(expected)
    }
  })

  it('take the position in a tuple', async () => {
    const env = environment()
    const sink = new MemorySink<readonly [string, number]>()
    env
      .fromElements<readonly [string, number]>([
        ['a', 1],
        ['a', 2],
      ])
      .keyBy(([word]) => word)
      .sum(1)
      .sinkTo(sink)
    await env.execute('tuples')
    expect(sink.values).toEqual([
      ['a', 1],
      ['a', 3],
    ])
  })
})

describe('a join with a life', () => {
  const life = (calls: string[]) => ({
    open: ({ operatorName }: { readonly operatorName: string }) =>
      void calls.push(`open ${operatorName}`),
    close: () => void calls.push('close'),
  })
  const paired = (env: StreamExecutionEnvironment) =>
    eventsOf(env, LEFT)
      .join(eventsOf(env, RIGHT))
      .where(({ key }) => key)
      .equalTo(({ key }) => key)
      .window(tumblingEventTimeWindows(10))

  it('opens its function before the first pair and closes it after the last', async () => {
    const env = environment()
    const calls: string[] = []
    const joined = paired(env).richApply(() => ({
      ...life(calls),
      join: (left, right) => {
        calls.push('join')
        return [left.time, right.time]
      },
    }))
    expect(await run(env, joined)).toEqual([
      [1, 2],
      [1, 4],
      [5, 9],
    ])
    expect(calls).toEqual(['open Window', 'join', 'join', 'join', 'close'])
  })

  it('makes any number of results of a pair', async () => {
    const times = (left: Event, right: Event, out: Collector<number>): void => {
      for (let time = left.time; time < right.time; time += 2) out.collect(time)
    }
    const plain = environment()
    const rich = environment()
    const calls: string[] = []
    expect(await run(plain, paired(plain).flatApply(times))).toEqual([1, 1, 3, 5, 7])
    const joined = paired(rich).richFlatApply(() => ({ ...life(calls), join: times }))
    expect(await run(rich, joined)).toEqual([1, 1, 3, 5, 7])
    expect(calls).toEqual(['open Window', 'close'])
  })

  it('opens and closes the function of a co-group', async () => {
    const env = environment()
    const calls: string[] = []
    const grouped = eventsOf(env, LEFT)
      .coGroup(eventsOf(env, RIGHT))
      .where(({ key }) => key)
      .equalTo(({ key }) => key)
      .window(tumblingEventTimeWindows(10))
      .richApply<string>(() => ({
        ...life(calls),
        coGroup: (left, right, out) => out.collect(`${left.length} ${right.length}`),
      }))
    expect(await run(env, grouped)).toEqual(['0 1', '1 0', '1 0', '1 1', '1 2'])
    expect(calls).toEqual(['open Window', 'close'])
  })

  it('refuses results that a flat join returns instead of collecting', async () => {
    const env = environment()
    const joined = paired(env).flatApply<number>(((left: Event) => [left.time]) as never)
    await expect(run(env, joined)).rejects.toThrow('pass each result to out.collect')
  })
})
