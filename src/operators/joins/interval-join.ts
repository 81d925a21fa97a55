import type { Counter } from '../../core/metrics.ts'
import { int53Serializer } from '../../core/serializer.ts'
import { NO_TIMESTAMP } from '../../core/time.ts'
import { listState, type MapStateDescriptor, mapState } from '../../state/port/descriptors.ts'
import { isEventTime, withoutEventTime } from '../port/event-time.ts'
import type { OutputTag } from '../port/output-tag.ts'
import { refuseResult } from '../port/refuse-result.ts'
import { KeyedOperatorContext, PlainProcessContext } from '../process/context.ts'
import type {
  Collector,
  FunctionContext,
  KeyedCoProcessFunction,
  KeyedFunctionContext,
  KeyedProcessContext,
  OnTimerContext,
  ProcessContext,
} from '../process/function.ts'
import type {
  FunctionInitializationContext,
  FunctionSnapshotContext,
  RichFunction,
} from '../process/function-life.ts'
import { type RecordsOfTime, recordsOfTimeSerializer } from './records-of-time.ts'
import { TimedBuffer, TimedBuffers } from './timed-buffer.ts'
import { isOuter, type JoinKind, Unmatched, unmatchedState } from './unmatched.ts'

/** Times of a right record that joins a left one: `left + lowerMs` to `left + upperMs`, both included. */
export interface JoinInterval {
  readonly lowerMs: number
  readonly upperMs: number
}

/** Where late records of an interval join go. */
export interface LateJoinTags<A, B> {
  readonly left?: OutputTag<A>
  readonly right?: OutputTag<B>
}

/**
 * Context of a joined pair. `timestamp` is the later one of both records. Of a record without a partner, in an outer join,
 * it is its own, and that of the partner is -1.
 */
export interface JoinContext extends ProcessContext {
  readonly leftTimestamp: number
  readonly rightTimestamp: number
}

/** A function that makes results from each pair of records of an interval join. */
export interface ProcessJoinFunction<A, B, OUT> extends RichFunction<FunctionContext> {
  processElement(left: A, right: B, context: JoinContext, out: Collector<OUT>): void
}

/** Former releases stored their bounds there. Where they find none, they rely on no timer of a record. */
const FORMER_BOUNDS = listState('interval-join/bounds')

/** What stands for the partner of a record that has had none. */
const NO_PARTNER = [undefined, NO_TIMESTAMP] as const

const bufferState = <T>(name: string): MapStateDescriptor<number, RecordsOfTime<T>> =>
  mapState(name, { keySerializer: int53Serializer, serializer: recordsOfTimeSerializer<T>() })

/**
 * Joins two keyed streams by time. Both sides are kept until the watermark says that no partner can come;
 * a record behind the watermark joins nothing: it goes to the side output of its stream, or is counted as dropped
 * (Flink's `IntervalJoinOperator`). In an outer join a record that goes without having had a partner has a result, too.
 */
export class IntervalJoinFunction<K, A, B, OUT> implements KeyedCoProcessFunction<K, A, B, OUT> {
  private readonly interval: JoinInterval
  private readonly join: ProcessJoinFunction<A, B, OUT>
  private readonly late: LateJoinTags<A, B>
  private readonly kind: JoinKind
  /** The records of outer sides that have had no partner; undefined where the side is inner. */
  private leftAlone: Unmatched | undefined
  private rightAlone: Unmatched | undefined
  /** Of the call that removes records. */
  private leaving!: { readonly context: KeyedProcessContext<K>; readonly out: Collector<OUT> }
  private buffers!: TimedBuffers<TimedBuffer<A>, TimedBuffer<B>>
  private isRestored = false
  private dropped!: Counter
  private pair: PairContext | undefined
  /** Whether it has warned of a record without event time. */
  private hasWarned = false
  private readonly collector = new PairCollector<OUT>()

  constructor(
    interval: JoinInterval,
    join: ProcessJoinFunction<A, B, OUT>,
    late: LateJoinTags<A, B> = {},
    kind: JoinKind = 'inner',
  ) {
    this.kind = kind
    this.interval = interval
    this.join = join
    this.late = late
  }

  initializeState(context: FunctionInitializationContext): void | Promise<void> {
    context.getUnionListState(FORMER_BOUNDS).clear()
    this.isRestored = context.isRestored
    return this.join.initializeState?.(context)
  }

  open(context: KeyedFunctionContext): void | Promise<void> {
    const { lowerMs, upperMs } = this.interval
    const left = context.getMapState(bufferState<A>('left-buffer'))
    const right = context.getMapState(bufferState<B>('right-buffer'))
    this.leftAlone = this.openAlone('left', context)
    this.rightAlone = this.openAlone('right', context)
    this.buffers = new TimedBuffers(
      new TimedBuffer(
        left,
        Math.max(0, upperMs),
        this.leftAlone && ((time) => this.leave(time, 'left')),
      ),
      new TimedBuffer(
        right,
        Math.max(0, -lowerMs),
        this.rightAlone && ((time) => this.leave(time, 'right')),
      ),
      this.isRestored,
    )
    this.dropped = context.metrics.counter('numLateRecordsDropped')
    return this.join.open?.(context)
  }

  processElement1(value: A, context: KeyedProcessContext<K>, out: Collector<OUT>): void {
    const { lowerMs, upperMs } = this.interval
    const time = this.timeOf(context)
    if (time === undefined) {
      this.drop(value, this.late.left, context)
      return
    }
    const { left, right } = this.select(context)
    // Before the function, which may change the record.
    const place = left.add(time, value)
    this.setTimer(context)
    const partners = right.between(time + lowerMs, time + upperMs)
    if (partners.length === 0) this.leftAlone?.add(time, place)
    for (const rightTime of partners) {
      this.rightAlone?.match(rightTime)
      for (const other of right.at(rightTime)) {
        this.emit([value, time], [other, rightTime], { context, out })
      }
    }
  }

  processElement2(value: B, context: KeyedProcessContext<K>, out: Collector<OUT>): void {
    const { lowerMs, upperMs } = this.interval
    const time = this.timeOf(context)
    if (time === undefined) {
      this.drop(value, this.late.right, context)
      return
    }
    const { left, right } = this.select(context)
    const place = right.add(time, value)
    this.setTimer(context)
    const partners = left.between(time - upperMs, time - lowerMs)
    if (partners.length === 0) this.rightAlone?.add(time, place)
    for (const leftTime of partners) {
      this.leftAlone?.match(leftTime)
      for (const other of left.at(leftTime)) {
        this.emit([other, leftTime], [value, time], { context, out })
      }
    }
  }

  /** Removes the records that no later one can join. */
  onTimer(timestamp: number, context: OnTimerContext<K>, out: Collector<OUT>): void {
    this.leaving = { context, out }
    this.select(context).removeDue(timestamp, context.timerService.currentWatermark)
    this.setTimer(context)
  }

  snapshotState(context: FunctionSnapshotContext): void | Promise<void> {
    return this.join.snapshotState?.(context)
  }

  close(): void | Promise<void> {
    return this.join.close?.()
  }

  private openAlone(side: 'left' | 'right', context: KeyedFunctionContext): Unmatched | undefined {
    if (!isOuter(this.kind, side)) return undefined
    return new Unmatched(context.getMapState(unmatchedState(side)))
  }

  /** Emits the records of a time that have had no partner, before they go. */
  private leave(time: number, side: 'left' | 'right'): void {
    const { buffers, leftAlone, rightAlone, leaving } = this
    const places = (side === 'left' ? leftAlone : rightAlone)!.take(time)
    if (places.length === 0) return
    const records: readonly unknown[] = buffers[side].at(time)
    for (const place of places) {
      const own = [records[place], time] as const
      if (side === 'left') this.emit(own as [A, number], NO_PARTNER, leaving)
      else this.emit(NO_PARTNER, own as [B, number], leaving)
    }
  }

  private select(context: KeyedProcessContext<K>): TimedBuffers<TimedBuffer<A>, TimedBuffer<B>> {
    const memory = context instanceof KeyedOperatorContext ? context.keyMemory : undefined
    this.buffers.select(context.currentKeyBytes, memory)
    return this.buffers
  }

  /** Sets the timer that the key lacks, if it lacks one. */
  private setTimer({ timerService }: KeyedProcessContext<K>): void {
    const time = this.buffers.missingTimer()
    if (time !== undefined) timerService.registerEventTimeTimer(time)
  }

  /** The event time of a record; undefined for a late one, and for one that has none. */
  private timeOf(context: KeyedProcessContext<K>): number | undefined {
    const { timestamp } = context
    if (!isEventTime(timestamp)) {
      if (!this.hasWarned) warnOfTime(context)
      this.hasWarned = true
      return undefined
    }
    return timestamp >= context.timerService.currentWatermark ? timestamp : undefined
  }

  private drop<T>(value: T, tag: OutputTag<T> | undefined, context: ProcessContext): void {
    if (tag === undefined) this.dropped.increment()
    else context.output(tag, value)
  }

  private emit(
    [left, leftTimestamp]: readonly [A, number] | typeof NO_PARTNER,
    [right, rightTimestamp]: readonly [B, number] | typeof NO_PARTNER,
    { context, out }: { readonly context: KeyedProcessContext<K>; readonly out: Collector<OUT> },
  ): void {
    this.pair ??= pairContext(context)
    const { pair } = this
    pair.leftTimestamp = leftTimestamp
    pair.rightTimestamp = rightTimestamp
    pair.timestamp = laterOf(leftTimestamp, rightTimestamp)
    this.collector.out = out
    this.collector.timestamp = pair.timestamp
    const result: unknown = this.join.processElement(left as A, right as B, pair, this.collector)
    if (result !== undefined) refuseResult(result, 'processElement of an interval join')
  }
}

/** The later time of a pair; that of the record where it has no partner. */
function laterOf(left: number, right: number): number {
  if (left === NO_TIMESTAMP) return right
  return right === NO_TIMESTAMP ? left : Math.max(left, right)
}

function warnOfTime(context: ProcessContext): void {
  const { timestamp, operatorName, operatorUid } = context
  if (!(context instanceof PlainProcessContext)) return
  const receiver = `the interval join "${operatorName}"`
  context.warn(withoutEventTime({ timestamp, receiver, operatorUid }))
}

type PairContext = { -readonly [Name in keyof JoinContext]: JoinContext[Name] }

/** The context of the operator, which is one object for all calls, with the times of a pair. */
function pairContext(context: ProcessContext): PairContext {
  const time = { value: NO_TIMESTAMP, writable: true }
  return Object.create(context, {
    leftTimestamp: time,
    rightTimestamp: time,
    timestamp: time,
  }) as PairContext
}

/** Gives the results of a pair the later one of its timestamps. */
class PairCollector<OUT> implements Collector<OUT> {
  out!: Collector<OUT>
  timestamp = NO_TIMESTAMP

  collect(value: OUT, timestamp = this.timestamp): void {
    this.out.collect(value, timestamp)
  }
}
