import { keyGroupOf } from '../../core/key-group.ts'
import type { Counter } from '../../core/metrics.ts'
import type { Serializer } from '../../core/serializer.ts'
import { MAX_TIMESTAMP, MIN_TIMESTAMP } from '../../core/time.ts'
import type { EntryTimers } from '../../state/port/entry-timers.ts'
import type { KeyedState } from '../../state/port/keyed-state.ts'
import type { Timer } from '../../state/port/timer-queue.ts'
import { isEventTime, timestampOfResults, withoutEventTime } from '../port/event-time.ts'
import type { FiringOperator } from '../port/firing.ts'
import { FoldedPart, recordsOf } from '../port/folded-part.ts'
import type { OperatorContext } from '../port/operator.ts'
import { ABOUT_STATE } from '../port/operator-state.ts'
import type { OutputTag } from '../port/output-tag.ts'
import { refuseResult } from '../port/refuse-result.ts'
import type { TimeDomain } from '../process/function.ts'
import type { RichFunction } from '../process/function-life.ts'
import { Timers, type TimerTarget } from '../process/timers.ts'
import { TimestampedCollector } from '../process/timestamped-collector.ts'
import { UserFunctionOperator } from '../process/user-function-operator.ts'
import type { TimeWindow, WindowAssigner } from './assigner.ts'
import type { FiringContents, WindowContents } from './contents.ts'
import type { ProcessWindowFunction, WindowFunctionContext } from './function.ts'
import { WindowNamespaces, windowOfNamespace } from './namespace.ts'
import { FormerSlices } from './sliced-records.ts'
import { ReusedWindowContext } from './window-context.ts'

const KINDS: Readonly<Record<WindowAssigner['kind'], string>> = {
  aligned: 'windows of fixed size',
  session: 'session windows',
  count: 'count windows',
  global: 'global windows',
  cumulative: 'cumulative windows',
  assigned: 'assigned windows',
}

const TIMES: Readonly<Record<TimeDomain, string>> = {
  'event-time': 'event time',
  'processing-time': 'processing time',
}

/** The kind is in the name; an entry says that there is such state. */
const KIND_ENTRY = Uint8Array.of(1)

/** Windows of a record that the operator fills before the slot may do other work: so many take a few milliseconds. */
const WINDOWS_AT_ONCE = 256

/** A record on the way into its windows. */
export interface RecordInWindows<IN> {
  value: IN
  timestamp: number
  /** The time that assigns it to windows. */
  time: number
  /** The windows that it has reached, the last one first. */
  windows: number
}

/** Options of window operators. */
export interface WindowOptions<K, IN, C extends FiringContents = WindowContents<IN>> {
  readonly keySerializer: Serializer<K>
  readonly contents: C
  /** Without a function, the contents of the window are emitted unchanged. */
  readonly windowFunction: ProcessWindowFunction<K, unknown, unknown> | undefined
  readonly timeDomain: TimeDomain
  /** Time after its end during which a window accepts records, in ms of event time. */
  readonly allowedLatenessMs: number
  /** Side output of records that are too late for any window. Without a tag they are dropped and counted. */
  readonly lateDataTag: OutputTag<IN> | undefined
  /** Whether watermarks reach the operator. @default true */
  readonly eventTime?: boolean
}

/**
 * The base of window operators. A window fires at its end, fires again for every late record within the
 * allowed lateness, and is then cleared (Flink's default triggers).
 */
export abstract class WindowOperator<K, IN, C extends FiringContents = WindowContents<IN>>
  extends UserFunctionOperator<RichFunction<WindowFunctionContext>>
  implements TimerTarget, FiringOperator
{
  protected readonly options: WindowOptions<K, IN, C>
  protected readonly contents: C
  protected readonly namespaces = new WindowNamespaces()
  protected keyedState!: KeyedState
  protected timers!: Timers
  /** The timers of entries of contents, where the operator uses them. */
  protected entryTimers: EntryTimers | undefined
  protected functionContext!: ReusedWindowContext<K>
  protected collector!: TimestampedCollector
  /** Records in slices of windows that a checkpoint had, and this job has not. */
  protected former: FormerSlices | undefined
  private readonly record: RecordInWindows<IN> = {
    value: undefined as IN,
    timestamp: 0,
    time: 0,
    windows: 0,
  }
  /** The key of a record that is not in all its windows yet. */
  private keyOfRecord: Uint8Array | undefined
  /** Whether it has warned of a record without event time. */
  private hasWarned = false
  private dropped!: Counter
  private recordsIn!: Counter

  constructor(options: WindowOptions<K, IN, C>) {
    super(options.windowFunction ?? {})
    this.options = options
    this.contents = options.contents
  }

  override open(context: OperatorContext): void | Promise<void> {
    this.context = context
    this.functionContext = new ReusedWindowContext(
      context,
      this.options.keySerializer,
      this.mergesWindows(),
    )
    this.keyedState = context.keyedState!
    this.contents.open(this.keyedState)
    this.collector = new TimestampedCollector(context.output)
    this.dropped = context.metrics.counter('numLateRecordsDropped')
    this.recordsIn = context.metrics.counter('numRecordsIn')
    this.claimKind()
    this.openState()
    const { eventTime = true } = this.options
    this.timers = new Timers(context, this, { eventTime, ofFunctions: this.hasTrigger() })
    this.entryTimers = this.openEntryTimers()
    this.former = this.openFormer()
    return this.openFunction(this.functionContext)
  }

  override processWatermark(watermark: number): void {
    this.timers.advanceWatermark(watermark)
  }

  override onProcessingTime(timestampMs: number): void {
    this.timers.advanceProcessingTime(timestampMs)
  }

  get isInRecord(): boolean {
    return this.keyOfRecord !== undefined
  }

  get firingAt(): number | undefined {
    return this.timers.firingAt
  }

  fireDue(most: number): number {
    const done = this.isInRecord ? this.continueRecord(most) : 0
    return done < most ? done + this.timers.fireDue(most - done) : done
  }

  continueRecord(most: number): number {
    const key = this.keyOfRecord!
    this.keyOfRecord = undefined
    this.keyedState.setCurrentKey(key, keyGroupOf(key, this.context.maxParallelism))
    const { record } = this
    const before = record.windows
    if (!this.addToWindows(record, most)) this.keyOfRecord = key
    return record.windows - before
  }

  override prepareSnapshot(checkpointId: number): void | Promise<void> {
    // A checkpoint whose barrier overtakes records asks at any time.
    if (this.isInRecord) this.continueRecord(Number.POSITIVE_INFINITY)
    return super.prepareSnapshot(checkpointId)
  }

  /**
   * Adds the record to further windows, each of which counts in `record.windows`, at most so many; true when it is in all of
   * them. A record that belongs to one window needs none of this.
   */
  protected addToWindows(_record: RecordInWindows<IN>, _most: number): boolean {
    return true
  }

  /** Adds a record to its windows by `addToWindows`: where they are very many, the slot does other work in between. */
  protected addRecord(value: IN, timestamp: number, time: number): void {
    const { record } = this
    record.value = value
    record.timestamp = timestamp
    record.time = time
    record.windows = 0
    if (this.addToWindows(record, WINDOWS_AT_ONCE)) return
    this.keyOfRecord = this.keyedState.currentKey().slice()
    if (this.context.pauseRecord?.() === true) return
    this.continueRecord(Number.POSITIVE_INFINITY)
  }

  onEventTimer(timer: Timer): void {
    this.former?.unpack(timer)
    this.onWindowTimer(windowOfNamespace(timer.namespace), timer.timestamp)
  }

  onProcessingTimer(timer: Timer): void {
    this.onWindowTimer(windowOfNamespace(timer.namespace), timer.timestamp)
  }

  /** The kind of the windows, which says what the state of the operator means. */
  protected abstract windowKind(): WindowAssigner['kind']

  /** Claims the state of windows of this kind and time, and no other. */
  private claimKind(): void {
    const { operatorState } = this.context
    const name = `${ABOUT_STATE}${KINDS[this.windowKind()]} in ${TIMES[this.options.timeDomain]}`
    operatorState.restored(name)
    operatorState.update(name, 'union', [KIND_ENTRY])
  }

  /** Whether a trigger of the user registers timers. */
  protected hasTrigger(): boolean {
    return false
  }

  /** Whether windows of a key become one. */
  protected mergesWindows(): boolean {
    return false
  }

  /** Declares further state of a subclass. */
  protected openState(): void {}

  /** The timers of entries of the contents, each of which then lasts until its timer; undefined for timers of their own. */
  protected openEntryTimers(): EntryTimers | undefined {
    return undefined
  }

  /** Claims what former windows have in slices; undefined where the contents are no lists, so that a restore is refused. */
  protected openFormer(): FormerSlices | undefined {
    const { ofWindows, sliced: own } = this.contents
    if (ofWindows === undefined || this.windowKind() !== 'aligned') return undefined
    const { keyedState, timers, namespaces } = this
    const { operatorState } = this.context
    const places = { keyedState, operatorState, timers, namespaces }
    const former = new FormerSlices({ ...places, ofWindows, own })
    return former.areThere ? former : undefined
  }

  /** Selects the namespace of the window's contents. */
  protected abstract selectContents(window: TimeWindow): void

  /** Selects the namespace of the contents of a window whose timer fires; that of the timer is selected. */
  protected selectFiring(window: TimeWindow): void {
    this.selectContents(window)
  }

  /**
   * Called when a timer has read and cleared what it should of the contents, before the window function. `isEmpty`: nothing
   * was read, or the timer is not that of the window's end.
   */
  protected afterContents(_window: TimeWindow, _timestamp: number, _isEmpty: boolean): void {}

  /** Deletes the state of a window other than its contents. */
  protected forget(_window: TimeWindow): void {}

  /** The time that assigns the record to windows; undefined for one without event time, which is dropped as a late one. */
  protected timeOf(value: IN, timestamp: number): number | undefined {
    if (this.options.timeDomain === 'processing-time') return this.timers.currentProcessingTime
    if (isEventTime(timestamp)) return timestamp
    this.dropUntimely(value, timestamp)
    return undefined
  }

  private dropUntimely(value: IN, timestamp: number): void {
    const { name, uid } = this.context
    const receiver = `the event-time window "${name}"`
    if (!this.hasWarned) {
      this.context.warn?.(withoutEventTime({ timestamp, receiver, operatorUid: uid }))
    }
    this.hasWarned = true
    this.drop(value, timestamp)
  }

  /** Whether the window accepts no more records. */
  protected isLate(end: number): boolean {
    return (
      this.options.timeDomain === 'event-time' &&
      this.clearTimeOf(end) <= this.timers.currentWatermark
    )
  }

  /** Counts the records of a part, of which the runtime counts one. */
  protected countPart(value: unknown): void {
    if (value instanceof FoldedPart) this.recordsIn.increment(value.records - 1)
  }

  /** Emits a record to the late output, or counts it as dropped. */
  protected drop(value: IN, timestamp: number): void {
    const { lateDataTag } = this.options
    if (lateDataTag === undefined) this.dropped.increment(recordsOf(value))
    else this.context.output.collectSide(lateDataTag.id, value, timestamp)
  }

  /** Whether the watermark is past the window's end, so that a new record fires it at once. */
  protected isPast(end: number): boolean {
    return this.options.timeDomain === 'event-time' && end - 1 <= this.timers.currentWatermark
  }

  /** Whether a window that has contents may lack a timer: it fired before a restore that set the watermark back. */
  protected mayLackTimers(end: number): boolean {
    return this.options.allowedLatenessMs > 0 && end - 1 <= this.timers.firedUpTo
  }

  /** Whether a window that fires and stays may lack the timer that clears it: a job without lateness had stored it. */
  protected mayLackClearing({ end }: TimeWindow, timestamp: number): boolean {
    if (this.timers.firedUpTo === MIN_TIMESTAMP) return false
    return this.options.timeDomain === 'event-time' && timestamp < this.clearTimeOf(end)
  }

  /** Calls the window function with the window's contents, which must be selected. */
  protected fire(window: TimeWindow, timestamp = window.end - 1): void {
    const elements = this.contents.read()
    if (elements !== undefined) this.emit(window, timestamp, elements)
  }

  /** Calls the window function with these records or results. */
  protected emit(window: TimeWindow, time: number, elements: readonly unknown[]): void {
    const { functionContext, collector } = this
    const timestamp = time === window.end - 1 ? timestampOfResults(time) : time
    collector.timestamp = timestamp
    if (this.options.windowFunction === undefined) {
      for (const element of elements) collector.collect(element)
      return
    }
    this.beginCall(window, timestamp)
    const result: unknown = this.options.windowFunction.process(
      functionContext.currentKey,
      functionContext,
      elements,
      collector,
    )
    if (result !== undefined) refuseResult(result, 'process of the window function')
    if (functionContext.usesState) this.selectContents(window)
  }

  /** Lets the window function drop its state of the window. */
  protected clearFunction(window: TimeWindow, timestamp: number): void {
    const { windowFunction } = this.options
    if (windowFunction?.clear === undefined) return
    this.beginCall(window, timestamp)
    const result: unknown = windowFunction.clear(this.functionContext)
    if (result !== undefined) refuseResult(result, 'clear of the window function')
  }

  private beginCall(window: TimeWindow, timestamp: number): void {
    this.functionContext.begin(timestamp)
    this.functionContext.selectWindow(window, this.namespaces)
  }

  /** Fires and clears a window when it is time. What the state needs comes first, so that it is looked up once. */
  protected onWindowTimer(window: TimeWindow, timestamp: number): void {
    const clears = timestamp >= this.clearTimeOf(window.end)
    this.selectFiring(window)
    const elements = this.contentsAt(timestamp === window.end - 1, clears)
    this.afterContents(window, timestamp, elements === undefined)
    if (elements !== undefined) this.emit(window, timestamp, elements)
    if (!clears) return
    this.clearFunction(window, timestamp)
    this.forget(window)
  }

  /** The contents of a window that fires; they are gone if it is cleared. */
  private contentsAt(fires: boolean, clears: boolean): readonly unknown[] | undefined {
    if (fires) return clears ? this.contents.take() : this.contents.read()
    if (clears) this.contents.clear()
    return undefined
  }

  /** When the window is cleared: at its last moment; in event time, after the allowed lateness. */
  protected clearTimeOf(end: number): number {
    if (this.options.timeDomain === 'processing-time') return end - 1
    return Math.min(end - 1 + this.options.allowedLatenessMs, MAX_TIMESTAMP)
  }
}
