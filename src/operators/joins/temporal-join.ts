import type { Counter } from '../../core/metrics.ts'
import { int53Serializer } from '../../core/serializer.ts'
import { MIN_TIMESTAMP } from '../../core/time.ts'
import { listState, type MapStateDescriptor, mapState } from '../../state/port/descriptors.ts'
import type { ListState } from '../../state/port/handles.ts'
import { isEventTime, withoutEventTime } from '../port/event-time.ts'
import type { OutputTag } from '../port/output-tag.ts'
import { KeyedOperatorContext, PlainProcessContext } from '../process/context.ts'
import type {
  Collector,
  KeyedCoProcessFunction,
  KeyedFunctionContext,
  KeyedProcessContext,
  OnTimerContext,
  ProcessContext,
} from '../process/function.ts'
import type { FunctionInitializationContext } from '../process/function-life.ts'
import { type RecordsOfTime, recordsOfTimeSerializer } from './records-of-time.ts'
import { type RowVersion, RowVersions, versionsState } from './row-versions.ts'
import { Joining, type RowChange, type TableJoin } from './table-join.ts'
import { TimedBuffer, TimedBuffers } from './timed-buffer.ts'

/** How far behind the watermark a temporal join reaches. */
export interface TemporalReach<T> {
  /** How long after its time a record waits for changes of its row, ms of event time. */
  readonly graceMs: number
  /** How much older than those that wait a record may be, ms. */
  readonly historyMs: number
  /** Side output of records that are older; without it they are dropped and counted. */
  readonly lateTag: OutputTag<T> | undefined
}

/** The latest time before which a subtask has removed versions. */
const KNOWN_FROM = listState('temporal-join/known-from', { serializer: int53Serializer })

const waitingState = <T>(): MapStateDescriptor<number, RecordsOfTime<T>> =>
  mapState('waiting', { keySerializer: int53Serializer, serializer: recordsOfTimeSerializer<T>() })

/**
 * Joins each record with the version of the row of its key that was valid at the record's event time, whatever the order in
 * which records and changes come (Flink SQL's `FOR SYSTEM_TIME AS OF`). A record waits until the watermark of both inputs
 * has passed its time by the grace period.
 */
export class TemporalTableJoin<T, K, V, OUT>
  implements KeyedCoProcessFunction<K, T, RowChange<K, V>, OUT>
{
  private readonly how: TableJoin<T, K, V, OUT>
  private readonly reach: TemporalReach<T>
  private readonly descriptor: MapStateDescriptor<number, RowVersion<V>>
  private buffers!: TimedBuffers<TimedBuffer<T>, RowVersions<V>>
  private joining!: Joining<T, K, V, OUT>
  private knownFrom!: ListState<number>
  private isRestored = false
  private dropped!: Counter
  private lateChanges!: Counter
  private droppedChanges!: Counter
  /** Whether it has warned of a record or change without event time. */
  private hasWarned = false
  /** Of the call that removes records. */
  private out!: Collector<OUT>

  constructor(
    how: TableJoin<T, K, V, OUT>,
    reach: TemporalReach<T>,
    descriptor: MapStateDescriptor<number, RowVersion<V>> = versionsState<V>(),
  ) {
    this.how = how
    this.reach = reach
    this.descriptor = descriptor
  }

  initializeState(context: FunctionInitializationContext): void {
    this.knownFrom = context.getUnionListState(KNOWN_FROM)
    this.isRestored = context.isRestored
  }

  open(context: KeyedFunctionContext): void {
    const { graceMs, historyMs } = this.reach
    const waiting = context.getMapState(waitingState<T>())
    const versions = context.getMapState(this.descriptor)
    this.buffers = new TimedBuffers(
      new TimedBuffer(waiting, graceMs, (time) => this.joinAll(time)),
      new RowVersions(
        versions,
        graceMs + historyMs,
        Math.max(MIN_TIMESTAMP, ...this.knownFrom.get()),
      ),
      this.isRestored,
    )
    this.joining = new Joining(this.how, context)
    this.dropped = context.metrics.counter('numLateRecordsDropped')
    this.lateChanges = context.metrics.counter('numLateRowChanges')
    this.droppedChanges = context.metrics.counter('numLateRowChangesDropped')
  }

  processElement1(value: T, context: KeyedProcessContext<K>, out: Collector<OUT>): void {
    const { timestamp } = context
    if (!this.canAsk(context)) {
      const { lateTag } = this.reach
      if (lateTag === undefined) this.dropped.increment()
      else context.output(lateTag, value)
      return
    }
    const { left, right } = this.select(context)
    if (this.isDue(context)) {
      this.joining.emit(value, right.at(timestamp), out, timestamp)
      return
    }
    left.add(timestamp, value)
    this.setTimer(context)
  }

  processElement2({ value }: RowChange<K, V>, context: KeyedProcessContext<K>): void {
    if (!this.canAsk(context)) {
      this.droppedChanges.increment()
      return
    }
    // Records that it concerns may have met the version before it.
    if (this.isDue(context)) this.lateChanges.increment()
    const { timestamp, timerService } = context
    const { right } = this.select(context)
    right.set(timestamp, value)
    if (value === null) timerService.registerEventTimeTimer(right.dueOf(timestamp))
    this.setTimer(context)
  }

  /** Joins the records that have waited long enough, and removes versions for which no record can ask. */
  onTimer(timestamp: number, context: OnTimerContext<K>, out: Collector<OUT>): void {
    this.out = out
    this.select(context).removeDue(timestamp, context.timerService.currentWatermark)
    this.setTimer(context)
  }

  snapshotState(): void {
    const { knownFrom } = this.buffers.right
    this.knownFrom.update(knownFrom === MIN_TIMESTAMP ? [] : [knownFrom])
  }

  private joinAll(time: number): void {
    const { left, right } = this.buffers
    const row = right.at(time)
    for (const record of left.at(time)) this.joining.emit(record, row, this.out, time)
  }

  private select(context: KeyedProcessContext<K>): TimedBuffers<TimedBuffer<T>, RowVersions<V>> {
    const memory = context instanceof KeyedOperatorContext ? context.keyMemory : undefined
    this.buffers.select(context.currentKeyBytes, memory)
    return this.buffers
  }

  private setTimer({ timerService }: KeyedProcessContext<K>): void {
    const time = this.buffers.missingTimer()
    if (time !== undefined) timerService.registerEventTimeTimer(time)
  }

  /** Whether the versions of the time of the call are there. */
  private canAsk(context: KeyedProcessContext<K>): boolean {
    const { timestamp, timerService } = context
    if (isEventTime(timestamp)) {
      return timestamp >= this.buffers.right.oldestAt(timerService.currentWatermark)
    }
    if (!this.hasWarned) warnOfTime(context)
    this.hasWarned = true
    return false
  }

  /** Whether the watermark has passed the time of the call and the grace period. */
  private isDue({ timestamp, timerService }: KeyedProcessContext<K>): boolean {
    return timestamp + this.reach.graceMs <= timerService.currentWatermark
  }
}

function warnOfTime(context: ProcessContext): void {
  const { timestamp, operatorName, operatorUid } = context
  if (!(context instanceof PlainProcessContext)) return
  const receiver = `the join with a table by event time "${operatorName}"`
  context.warn(withoutEventTime({ timestamp, receiver, operatorUid }))
}
