import { WeirError } from '../core/errors.ts'
import type { Counter } from '../core/metrics.ts'
import type { Serializer } from '../core/serializer.ts'
import { MAX_TIMESTAMP, NO_TIMESTAMP } from '../core/time.ts'
import type { KeyedStateBackend, Timer } from '../state/keyed-state-backend.ts'
import { AbstractOperator } from './abstract-operator.ts'
import type { OperatorContext } from './operator.ts'
import type { OutputTag } from './output-tag.ts'
import type { Collector, FunctionContext, ProcessContext, TimeDomain } from './process-function.ts'
import { KeyedOperatorContext } from './process-operator-context.ts'
import { Timers, type TimerTarget } from './timers.ts'
import { TimestampedCollector } from './timestamped-collector.ts'
import type { TimeWindow } from './window-assigner.ts'
import type { WindowContents } from './window-contents.ts'
import { WindowNamespaces, windowOfNamespace } from './window-namespace.ts'

/** Given when a window fires. */
export interface WindowContext extends ProcessContext {
  readonly window: TimeWindow
}

/** Makes results of a window's records, or of their one folded result. */
export interface ProcessWindowFunction<K, IN, OUT> {
  open?(context: FunctionContext): void | Promise<void>
  process(key: K, context: WindowContext, elements: readonly IN[], out: Collector<OUT>): void
  close?(): void | Promise<void>
}

/** What all window operators are made of. */
export interface WindowOptions<K, IN> {
  readonly keySerializer: Serializer<K>
  readonly contents: WindowContents<IN>
  /** Missing: what the window holds is emitted as it is. */
  readonly windowFunction: ProcessWindowFunction<K, unknown, unknown> | undefined
  readonly timeDomain: TimeDomain
  /** How long after its end a window still takes records, in ms of event time. */
  readonly allowedLatenessMs: number
  /** Receives records too late for any window; they are dropped and counted when missing. */
  readonly lateDataTag: OutputTag<IN> | undefined
}

/** The reused context of window functions. */
class WindowFunctionContext<K> extends KeyedOperatorContext<K> implements WindowContext {
  window: TimeWindow = { start: 0, end: 0 }
}

/**
 * Base of the window operators: a window fires when its time has passed, fires again with every
 * record that comes within the allowed lateness, and is then cleared (Flink's default triggers).
 */
export abstract class WindowOperator<K, IN> extends AbstractOperator implements TimerTarget {
  protected readonly options: WindowOptions<K, IN>
  protected readonly contents: WindowContents<IN>
  protected readonly namespaces = new WindowNamespaces()
  protected keyedState!: KeyedStateBackend
  protected timers!: Timers
  private functionContext!: WindowFunctionContext<K>
  private collector!: TimestampedCollector
  private dropped!: Counter

  constructor(options: WindowOptions<K, IN>) {
    super()
    this.options = options
    this.contents = options.contents
  }

  override open(context: OperatorContext): void | Promise<void> {
    this.context = context
    this.functionContext = new WindowFunctionContext(context, this.options.keySerializer)
    this.keyedState = context.keyedState!
    this.contents.open(this.keyedState)
    this.collector = new TimestampedCollector(context.output)
    this.dropped = context.metrics.counter('numLateRecordsDropped')
    this.openState()
    this.timers = new Timers(context, this.keyedState, this, true)
    return this.options.windowFunction?.open?.(this.functionContext)
  }

  override processWatermark(watermark: number): void {
    this.timers.advanceWatermark(watermark)
  }

  override onProcessingTime(timestampMs: number): void {
    this.timers.advanceProcessingTime(timestampMs)
  }

  override close(): void | Promise<void> {
    return this.options.windowFunction?.close?.()
  }

  onEventTimer(timer: Timer): void {
    this.onWindowTimer(windowOfNamespace(timer.namespace), timer.timestamp)
  }

  onProcessingTimer(timer: Timer): void {
    this.onWindowTimer(windowOfNamespace(timer.namespace), timer.timestamp)
  }

  /** Declares state of the operator's own. */
  protected openState(): void {}

  /** Selects the namespace in which the window's contents lie. */
  protected abstract selectContents(window: TimeWindow): void

  /** Deletes what is kept of a window beside its contents. */
  protected forget(_window: TimeWindow): void {}

  /** The time that decides about the record's windows. Throws INVALID_ARGUMENT when it has none. */
  protected timeOf(timestamp: number): number {
    if (this.options.timeDomain === 'processing-time') return this.timers.currentProcessingTime
    if (timestamp !== NO_TIMESTAMP) return timestamp
    throw new WeirError(
      'INVALID_ARGUMENT',
      `a record without timestamp reached the event-time window "${this.context.name}": give the watermark strategy a timestampOf`,
      { details: { operator: this.context.uid } },
    )
  }

  /** Whether the window takes no more records. */
  protected isLate(end: number): boolean {
    return (
      this.options.timeDomain === 'event-time' &&
      this.clearTimeOf(end) <= this.timers.currentWatermark
    )
  }

  /** Hands a record to the late output, or counts it as dropped. */
  protected drop(value: IN, timestamp: number): void {
    const { lateDataTag } = this.options
    if (lateDataTag === undefined) this.dropped.increment()
    else this.context.output.collectSide(lateDataTag.id, value, timestamp)
  }

  /** Registers the timers of a new window; its namespace must be selected. */
  protected registerTimers(end: number): void {
    if (this.options.timeDomain === 'processing-time') {
      this.timers.registerProcessingTimeTimer(end - 1)
      return
    }
    if (!this.isPast(end)) this.timers.registerEventTimeTimer(end - 1)
    if (this.options.allowedLatenessMs > 0)
      this.timers.registerEventTimeTimer(this.clearTimeOf(end))
  }

  /** Deletes the timers of a window that was merged away; its namespace must be selected. */
  protected deleteTimers(end: number): void {
    if (this.options.timeDomain === 'processing-time') {
      this.timers.deleteProcessingTimeTimer(end - 1)
      return
    }
    this.timers.deleteEventTimeTimer(end - 1)
    if (this.options.allowedLatenessMs > 0) this.timers.deleteEventTimeTimer(this.clearTimeOf(end))
  }

  /** Whether the watermark has passed the window's end, so that a record in it fires at once. */
  protected isPast(end: number): boolean {
    return this.options.timeDomain === 'event-time' && end - 1 <= this.timers.currentWatermark
  }

  /** Calls the window function with what the window holds; its contents must be selected. */
  protected fire(window: TimeWindow): void {
    const elements = this.contents.read()
    if (elements === undefined) return
    const { functionContext, collector } = this
    collector.timestamp = window.end - 1
    if (this.options.windowFunction === undefined) {
      for (const element of elements) collector.collect(element)
      return
    }
    functionContext.begin(window.end - 1)
    functionContext.window = window
    this.options.windowFunction.process(
      functionContext.currentKey,
      functionContext,
      elements,
      collector,
    )
  }

  private onWindowTimer(window: TimeWindow, timestamp: number): void {
    this.selectContents(window)
    if (timestamp === window.end - 1) this.fire(window)
    if (timestamp < this.clearTimeOf(window.end)) return
    this.contents.clear()
    this.forget(window)
  }

  /** When the window is cleared: at its last moment, in event time the lateness later. */
  private clearTimeOf(end: number): number {
    if (this.options.timeDomain === 'processing-time') return end - 1
    return Math.min(end - 1 + this.options.allowedLatenessMs, MAX_TIMESTAMP)
  }
}
