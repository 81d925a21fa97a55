import { describe, expectTypeOf, it } from 'vitest'
import { rawKeySerializer } from '../../src/core/formats/plain-key-serializer.ts'
import type { DataStream } from '../../src/dataflow/data-stream.ts'
import type { KeyedStream } from '../../src/dataflow/keyed-stream.ts'
import type { WindowResults } from '../../src/dataflow/stores.ts'
import { StreamExecutionEnvironment } from '../../src/dataflow/stream-execution-environment.ts'
import { monotonousTimestamps } from '../../src/dataflow/watermark-strategy.ts'
import type { Synchronous } from '../../src/operators/basic/map.ts'
import { OutputTag } from '../../src/operators/port/output-tag.ts'
import type {
  Collector,
  KeyedProcessContext,
  KeyedProcessFunction,
} from '../../src/operators/process/function.ts'
import { tumblingEventTimeWindows } from '../../src/operators/windows/assigner.ts'
import { mapState } from '../../src/state/port/descriptors.ts'

interface Rating {
  readonly user: string
  readonly item: number
  readonly stars: number
}

const ratings = (): DataStream<Rating> =>
  new StreamExecutionEnvironment().fromElements<Rating>([], monotonousTimestamps())

describe('types of the stream API', () => {
  it('follow the functions given to map, filter and flatMap', () => {
    expectTypeOf(ratings().map((rating) => rating.stars)).toEqualTypeOf<DataStream<number>>()
    expectTypeOf(ratings().filter((rating) => rating.stars > 3)).toEqualTypeOf<DataStream<Rating>>()
    expectTypeOf(ratings().flatMap((rating) => [rating.user])).toEqualTypeOf<DataStream<string>>()
    const mixed = ratings().map((rating): string | number => rating.user)
    const texts = mixed.filter((value): value is string => typeof value === 'string')
    expectTypeOf(texts).toEqualTypeOf<DataStream<string>>()
  })

  it('refuse asynchronous functions', () => {
    // @ts-expect-error nothing waits for the promise
    ratings().map((rating) => Promise.resolve(rating.stars))
    const keyed = ratings().keyBy((rating) => rating.user)
    // @ts-expect-error nor where the stream has keys
    keyed.map((rating) => Promise.resolve(rating.stars))
    // @ts-expect-error a promise is no answer to whether a record is kept
    ratings().filter((rating) => Promise.resolve(rating.stars > 3))
    // @ts-expect-error nor are there records in it
    ratings().flatMap((rating) => Promise.resolve([rating.stars]))
    const anything: DataStream<unknown> = ratings().map((rating): unknown => rating)
    expectTypeOf(anything).toEqualTypeOf<DataStream<unknown>>()
    // Generic code says that what it gets is no promise.
    const mapped = <T>(stream: DataStream<Rating>, map: (rating: Rating) => Synchronous<T>) =>
      stream.map<T>(map)
    expectTypeOf(mapped(ratings(), ({ stars }) => stars)).toEqualTypeOf<DataStream<number>>()
  })

  it('say where a record of an outer join may be missing', () => {
    const keyOf = ({ user }: Rating): string => user
    const rated = ratings()
    const windows = rated
      .join(rated)
      .where(keyOf)
      .equalTo(keyOf)
      .window(tumblingEventTimeWindows(1))
    expectTypeOf(windows.apply((_left, right) => right)).toEqualTypeOf<DataStream<Rating>>()
    const left = windows.leftOuter().apply((_left, right) => right)
    expectTypeOf(left).toEqualTypeOf<DataStream<Rating | undefined>>()
    const right = windows.rightOuter().apply((left, { stars }) => [left?.stars, stars] as const)
    expectTypeOf(right).toEqualTypeOf<DataStream<readonly [number | undefined, number]>>()
    // @ts-expect-error the left record of a right outer join may be missing
    windows.rightOuter().apply((left) => left.stars)
  })

  it('follow the collector of process and apply', () => {
    const texts = ratings().process(() => ({
      processElement(rating, _context, out: Collector<string>) {
        out.collect(rating.user)
      },
    }))
    expectTypeOf(texts).toEqualTypeOf<DataStream<string>>()
    const windows = () =>
      ratings()
        .keyBy((rating) => rating.user)
        .window(tumblingEventTimeWindows(10))
    const sizes = windows().process(() => ({
      process: (_key, _context, elements, out: Collector<number>) => out.collect(elements.length),
    }))
    expectTypeOf(sizes).toEqualTypeOf<DataStream<number>>()
    const users = windows().apply((_key, _window, elements, out: Collector<string>) => {
      for (const { user } of elements) out.collect(user)
    })
    expectTypeOf(users).toEqualTypeOf<DataStream<string>>()
    ratings().process<string>(() => ({
      processElement(_rating, context) {
        // @ts-expect-error timers belong to keys
        expectTypeOf(context.timerService).not.toBeAny()
      },
    }))
  })

  it('keep the type of the key', () => {
    expectTypeOf(ratings().keyBy((rating) => rating.user)).toEqualTypeOf<
      KeyedStream<string, Rating>
    >()
    ratings()
      .keyBy((rating) => rating.item)
      .process<string>(() => ({
        processElement(rating, context, out) {
          expectTypeOf(rating).toEqualTypeOf<Rating>()
          expectTypeOf(context.currentKey).toEqualTypeOf<number>()
          expectTypeOf(out.collect).parameter(0).toEqualTypeOf<string>()
        },
      }))
  })

  it('ask for a serializer where a key is not of a plain type', () => {
    const bytes = (): Uint8Array => new Uint8Array(1)
    // @ts-expect-error a Uint8Array key needs rawKeySerializer
    ratings().keyBy(bytes)
    expectTypeOf(ratings().keyBy(bytes, rawKeySerializer)).toEqualTypeOf<
      KeyedStream<Uint8Array, Rating>
    >()
  })

  it('take the result type from a function class', () => {
    class Count implements KeyedProcessFunction<string, Rating, number> {
      processElement(
        _rating: Rating,
        _context: KeyedProcessContext<string>,
        out: Collector<number>,
      ): void {
        out.collect(1)
      }
    }
    const counts = ratings()
      .keyBy((rating) => rating.user)
      .process(() => new Count())
    expectTypeOf(counts).toEqualTypeOf<DataStream<number>>()
    const byItem = ratings().keyBy((rating) => rating.item)
    // @ts-expect-error the function is for string keys
    byItem.process(() => new Count())
  })

  it('follow side outputs, windows and connected streams', () => {
    const tag = new OutputTag<boolean>('flags')
    expectTypeOf(ratings().getSideOutput(tag)).toEqualTypeOf<DataStream<boolean>>()
    const windows = ratings()
      .keyBy((rating) => rating.user)
      .window(tumblingEventTimeWindows(10))
    expectTypeOf(windows.reduce((a) => a)).toEqualTypeOf<WindowResults<Rating>>()
    const counted = windows.aggregate({
      createAccumulator: () => 0,
      add: (_, count) => count + 1,
      getResult: (count) => `${count}`,
      merge: (a, b) => a + b,
    })
    expectTypeOf(counted).toEqualTypeOf<WindowResults<string>>()
    expectTypeOf(counted).toExtend<DataStream<string>>()
    const rules = mapState<string, number>('rules')
    const stream = ratings()
    stream
      .keyBy((rating) => rating.user)
      .connect(stream.broadcast(rules))
      .process<number>(() => ({
        processElement(_, context) {
          const state = context.getBroadcastState(rules)
          expectTypeOf(state.get('x')).toEqualTypeOf<number | undefined>()
          expectTypeOf(state).not.toHaveProperty('put')
        },
        processBroadcastElement(rule, context) {
          expectTypeOf(rule).toEqualTypeOf<Rating>()
          expectTypeOf(context.getBroadcastState(rules)).toHaveProperty('put')
        },
      }))
  })

  it('widen a stream without a cast for a union', () => {
    const stream = ratings()
    const texts = stream.map((rating): Rating | string => rating.user)
    const both = stream.map((rating): Rating | string => rating).union(texts)
    expectTypeOf(both).toEqualTypeOf<DataStream<Rating | string>>()
    // @ts-expect-error a narrow stream is not a wide one: it has other fields to sum
    const wide: DataStream<Rating | string> = stream
    expectTypeOf(wide).toEqualTypeOf<DataStream<Rating | string>>()
  })

  it('refuse a union of streams of other types', () => {
    const stream = ratings()
    const texts = stream.map((rating) => rating.user)
    // @ts-expect-error ratings and texts have different types
    stream.union(texts)
  })
})
