import { requireArgument } from '../core/errors.ts'
import type { PlainKey } from '../core/formats/plain-key-serializer.ts'
import type { Serializer } from '../core/serializer.ts'
import {
  type CoGroupFunction,
  CoGroupWindowFunction,
  type FlatJoinFunction,
  flatJoinPairs,
  joinPairs,
  type RichCoGroupFunction,
  type RichFlatJoinFunction,
  type RichJoinFunction,
  type SidedRecord,
} from '../operators/joins/co-group.ts'
import { DelayedCoProcessOperator } from '../operators/joins/delayed-co-process.ts'
import {
  IntervalJoinFunction,
  type JoinInterval,
  type LateJoinTags,
  type ProcessJoinFunction,
} from '../operators/joins/interval-join.ts'
import { isOuter, type JoinKind } from '../operators/joins/unmatched.ts'
import type { OutputTag } from '../operators/port/output-tag.ts'
import type { FunctionContext } from '../operators/process/function.ts'
import type { RichFunction } from '../operators/process/function-life.ts'
import type { WindowAssigner } from '../operators/windows/assigner.ts'
import type { Evictor } from '../operators/windows/evictor.ts'
import type { Trigger } from '../operators/windows/trigger.ts'
import { requireFunction } from './checks/function-argument.ts'
import { requireFactory, requireProduct, sampleOf } from './checks/function-factory.ts'
import { FUNCTION_USES } from './checks/function-uses.ts'
import type { ConnectedInputs } from './connected-streams.ts'
import type { DataStream } from './data-stream.ts'
import type { StreamFactory } from './stream-factory.ts'
import type { WindowedStream } from './windowed-stream.ts'

/** The windows of a key in which the records of two streams meet. */
type PairedWindows<A, B> = WindowedStream<unknown, SidedRecord<A, B>>

/** Two streams whose records meet in windows: next come `where`, `equalTo`, `window` and `apply`. */
export class PairedStreams<A, B, W> {
  private readonly left: DataStream<A>
  private readonly right: DataStream<B>
  private readonly open: (windows: PairedWindows<A, B>) => W

  constructor(
    left: DataStream<A>,
    right: DataStream<B>,
    open: (windows: PairedWindows<A, B>) => W,
  ) {
    this.left = left
    this.right = right
    this.open = open
  }

  /** Sets the key of this stream. */
  where<K extends PlainKey>(
    keyOfLeft: (value: A) => K,
  ): { equalTo(keyOfRight: (value: B) => K): { window(assigner: WindowAssigner): W } } {
    requireFunction(keyOfLeft, FUNCTION_USES.where)
    return {
      equalTo: (keyOfRight) => {
        requireFunction(keyOfRight, FUNCTION_USES.equalTo)
        return { window: (assigner) => this.open(this.windows(keyOfLeft, keyOfRight, assigner)) }
      },
    }
  }

  private windows<K extends PlainKey>(
    keyOfLeft: (value: A) => K,
    keyOfRight: (value: B) => K,
    assigner: WindowAssigner,
  ): PairedWindows<A, B> {
    const left = this.left.map((value): SidedRecord<A, B> => ({ side: 'left', value }))
    const right = this.right.map((value): SidedRecord<A, B> => ({ side: 'right', value }))
    for (const { node } of [...left.origins, ...right.origins]) node.isPart = true
    const keyed = left
      .union(right)
      .keyBy(({ side, value }) => (side === 'left' ? keyOfLeft(value) : keyOfRight(value)))
    return keyed.window(assigner) as PairedWindows<A, B>
  }
}

/** Two streams in windows of a key, before the function that ends the step. */
class PairInWindows<A, B> {
  protected readonly windows: PairedWindows<A, B>

  constructor(windows: PairedWindows<A, B>) {
    this.windows = windows
  }

  /** Keeps windows for this long after their end, in ms. Throws INVALID_ARGUMENT. */
  allowedLateness(latenessMs: number): this {
    this.windows.allowedLateness(latenessMs)
    return this
  }

  /** As `trigger` of a stream in windows. Throws INVALID_GRAPH. */
  trigger(trigger: Trigger<SidedRecord<A, B>>): this {
    this.windows.trigger(trigger)
    return this
  }

  /** As `evictor` of a stream in windows. Throws INVALID_GRAPH. */
  evictor(evictor: Evictor<SidedRecord<A, B>>): this {
    this.windows.evictor(evictor)
    return this
  }

  /** Calls what `create` makes for every subtask. */
  protected coGroup<OUT>(
    create: () => readonly [CoGroupFunction<A, B, OUT>, RichFunction<FunctionContext>?],
  ): DataStream<OUT> {
    return this.windows.process(() => new CoGroupWindowFunction<unknown, A, B, OUT>(...create()))
  }
}

/** Two streams in windows of a key, before the function that gets all their records. */
export class CoGroupedWindows<A, B> extends PairInWindows<A, B> {
  /** Makes results from all records of both streams of a key and window. */
  apply<OUT>(coGroup: CoGroupFunction<A, B, OUT>): DataStream<OUT> {
    requireFunction(coGroup, FUNCTION_USES.applyOfCoGroup)
    return this.coGroup(() => [coGroup])
  }

  /** As `apply`, with a function that is opened and closed; `create` makes one for every subtask. */
  richApply<OUT>(create: () => RichCoGroupFunction<A, B, OUT>): DataStream<OUT> {
    const use = { call: 'richApply', operator: 'Window', methods: ['coGroup'] }
    requireFactory(create, use)
    return this.coGroup(() => {
      const rich = requireProduct(create(), use)
      return [(left, right, out) => rich.coGroup(left, right, out), rich]
    })
  }
}

/**
 * Two streams in windows of a key, before the function that gets their pairs. `L` and `R` are what the function gets: in an
 * outer join undefined stands for a record of the stream that has none in the window.
 */
export class JoinedWindows<A extends L, B extends R, L = A, R = B> extends PairInWindows<A, B> {
  private readonly kind: JoinKind

  constructor(windows: PairedWindows<A, B>, kind: JoinKind = 'inner') {
    super(windows)
    this.kind = kind
  }

  /** Adds a result for each left record of a key and window without right ones (`LEFT OUTER JOIN`, `leftJoin`). */
  leftOuter(): JoinedWindows<A, B, A, B | undefined> {
    return new JoinedWindows<A, B, A, B | undefined>(this.windows, 'left')
  }

  /** Adds a result for each right record of a key and window without left ones (`RIGHT OUTER JOIN`). */
  rightOuter(): JoinedWindows<A, B, A | undefined, B> {
    return new JoinedWindows<A, B, A | undefined, B>(this.windows, 'right')
  }

  /** Adds a result for each record of a key and window without one of the other stream (`FULL OUTER JOIN`, `outerJoin`). */
  fullOuter(): JoinedWindows<A, B, A | undefined, B | undefined> {
    return new JoinedWindows<A, B, A | undefined, B | undefined>(this.windows, 'full')
  }

  /** Makes one result for each pair of records of both streams of a key and window. */
  apply<OUT>(join: (left: L, right: R) => OUT): DataStream<OUT> {
    requireFunction(join, FUNCTION_USES.applyOfJoin)
    return this.coGroup(() => [joinPairs(join, this.kind)])
  }

  /** As `apply`, with any number of results for each pair, which the function passes to the collector. */
  flatApply<OUT>(join: FlatJoinFunction<L, R, OUT>): DataStream<OUT> {
    requireFunction(join, FUNCTION_USES.flatApply)
    return this.coGroup(() => [flatJoinPairs(join, this.kind)])
  }

  /** As `apply`, with a function that is opened and closed; `create` makes one for every subtask. */
  richApply<OUT>(create: () => RichJoinFunction<L, R, OUT>): DataStream<OUT> {
    const use = { call: 'richApply', operator: 'Window', methods: ['join'] }
    requireFactory(create, use)
    return this.coGroup(() => {
      const rich = requireProduct(create(), use)
      return [joinPairs((left: L, right: R) => rich.join(left, right), this.kind), rich]
    })
  }

  /** As `flatApply`, with a function that is opened and closed; `create` makes one for every subtask. */
  richFlatApply<OUT>(create: () => RichFlatJoinFunction<L, R, OUT>): DataStream<OUT> {
    const use = { call: 'richFlatApply', operator: 'Window', methods: ['join'] }
    requireFactory(create, use)
    return this.coGroup(() => {
      const rich = requireProduct(create(), use)
      return [
        flatJoinPairs<A, B, L, R, OUT>(
          (left, right, out) => rich.join(left, right, out),
          this.kind,
        ),
        rich,
      ]
    })
  }
}

/** Two keyed streams that are joined by event time. */
export class IntervalJoin<K, A, B> {
  private readonly factory: StreamFactory
  private readonly inputs: ConnectedInputs
  private readonly keySerializer: Serializer<K>

  constructor(factory: StreamFactory, inputs: ConnectedInputs, keySerializer: Serializer<K>) {
    this.factory = factory
    this.inputs = inputs
    this.keySerializer = keySerializer
  }

  /**
   * Joins a left record of time t with right ones of `t + lowerMs` to `t + upperMs`, both included. Throws
   * INVALID_ARGUMENT.
   */
  between(lowerMs: number, upperMs: number): BoundedIntervalJoin<K, A, B> {
    const isInterval =
      Number.isSafeInteger(lowerMs) && Number.isSafeInteger(upperMs) && lowerMs <= upperMs
    requireArgument(
      isInterval,
      `the bounds of an interval join are whole numbers of ms, the lower one first, not ${lowerMs} and ${upperMs}`,
    )
    const { factory, inputs, keySerializer } = this
    return new BoundedIntervalJoin({ factory, inputs, keySerializer }, { lowerMs, upperMs })
  }
}

/** The streams of an interval join. */
interface IntervalJoinInput<K> {
  readonly factory: StreamFactory
  readonly inputs: ConnectedInputs
  readonly keySerializer: Serializer<K>
}

/** An interval join with its bounds; `L` and `R` are what its function gets, undefined for a partner that there is not. */
class BoundedIntervalJoin<K, A extends L, B extends R, L = A, R = B> {
  private readonly input: IntervalJoinInput<K>
  private interval: JoinInterval
  private late: LateJoinTags<A, B>
  private readonly kind: JoinKind

  constructor(
    input: IntervalJoinInput<K>,
    interval: JoinInterval,
    late: LateJoinTags<A, B> = {},
    kind: JoinKind = 'inner',
  ) {
    this.input = input
    this.interval = interval
    this.late = late
    this.kind = kind
  }

  /**
   * Adds a result for each left record without a partner, as soon as none can come any more: the right record of
   * `processElement` is then undefined. The watermark behind the join is smaller by the time that a record waits.
   */
  leftOuter(): BoundedIntervalJoin<K, A, B, A, B | undefined> {
    const { input, interval, late } = this
    return new BoundedIntervalJoin<K, A, B, A, B | undefined>(input, interval, late, 'left')
  }

  /** As `leftOuter`, for right records. */
  rightOuter(): BoundedIntervalJoin<K, A, B, A | undefined, B> {
    const { input, interval, late } = this
    return new BoundedIntervalJoin<K, A, B, A | undefined, B>(input, interval, late, 'right')
  }

  /** As `leftOuter`, for records of both streams. */
  fullOuter(): BoundedIntervalJoin<K, A, B, A | undefined, B | undefined> {
    const { input, interval, late } = this
    return new BoundedIntervalJoin<K, A, B, A | undefined, B | undefined>(
      input,
      interval,
      late,
      'full',
    )
  }

  /** Leaves out pairs whose distance is exactly the lower bound. */
  lowerBoundExclusive(): this {
    this.interval = { ...this.interval, lowerMs: this.interval.lowerMs + 1 }
    return this
  }

  /** Leaves out pairs whose distance is exactly the upper bound. */
  upperBoundExclusive(): this {
    this.interval = { ...this.interval, upperMs: this.interval.upperMs - 1 }
    return this
  }

  /** Sends left records behind the watermark to a side output; without this they are dropped. */
  sideOutputLeftLateData(tag: OutputTag<A>): this {
    this.late = { ...this.late, left: tag }
    return this
  }

  /** As `sideOutputLeftLateData`, for right records. */
  sideOutputRightLateData(tag: OutputTag<B>): this {
    this.late = { ...this.late, right: tag }
    return this
  }

  /** Makes results from each pair, and from records without a partner in outer joins; `create` makes a function for every subtask. */
  process<OUT>(create: () => ProcessJoinFunction<L, R, OUT>): DataStream<OUT> {
    sampleOf(create, { call: 'process', operator: 'IntervalJoin', methods: ['processElement'] })
    const { factory, inputs, keySerializer } = this.input
    const { interval, late, kind } = this
    return factory.add(
      {
        name: 'IntervalJoin',
        inputs: 2,
        needsKey: true,
        needsEventTime: true,
        sideOutputs: 'any',
        body: ({ eventTime }) => ({
          kind: 'operator',
          create: () =>
            new DelayedCoProcessOperator<K, A, B, OUT>(
              new IntervalJoinFunction<K, A, B, OUT>(interval, create(), late, kind),
              keySerializer,
              { eventTime, watermarkDelayMs: waitOf(interval, kind) },
            ),
        }),
      },
      inputs,
    )
  }
}

/** How long a record of an outer side waits for its last partner, ms. */
function waitOf({ lowerMs, upperMs }: JoinInterval, kind: JoinKind): number {
  return Math.max(0, isOuter(kind, 'left') ? upperMs : 0, isOuter(kind, 'right') ? -lowerMs : 0)
}
