import { WeirError } from '../../core/errors.ts'
import { MAX_TIMESTAMP } from '../../core/time.ts'
import type { TypedStateDescriptor } from '../../state/port/descriptors.ts'
import type { EntryTimers } from '../../state/port/entry-timers.ts'
import type { KeyedState } from '../../state/port/keyed-state.ts'
import type { Timer, TimerQueue } from '../../state/port/timer-queue.ts'
import { requireTime } from '../port/event-time.ts'
import type { OperatorContext } from '../port/operator.ts'
import { restoredWatermark } from '../port/stored-watermark.ts'
import { requireKeyedState } from './context.ts'
import type { TimeDomain, TimerService } from './function.ts'

/** Names of the queues in state. */
const QUEUES: Readonly<Record<TimeDomain, string>> = {
  'event-time': 'event-timers',
  'processing-time': 'processing-timers',
}

/** The receiver of timers that fire. The key and namespace of the timer are the current ones of keyed state. */
export interface TimerTarget {
  onEventTimer(timer: Timer): void
  onProcessingTimer(timer: Timer): void
}

/**
 * Event-time and processing-time timers of one keyed operator, stored as keyed state. A timer that is
 * registered while others fire also fires in the same pass if it is due.
 */
export class Timers implements TimerService {
  private readonly context: OperatorContext
  private readonly keyedState: KeyedState
  private readonly target: TimerTarget
  private readonly eventTime: boolean
  private readonly eventTimers: TimerQueue
  private readonly processingTimers: TimerQueue
  private watermark: number
  /** The event time up to which timers of restored state may have fired; MIN_TIMESTAMP on a fresh start. */
  readonly firedUpTo: number
  /** The earliest wall-clock time that is requested from the runtime and not reached. */
  private scheduled = Number.POSITIVE_INFINITY

  /** `eventTime`: whether watermarks reach the operator. */
  constructor(context: OperatorContext, target: TimerTarget, eventTime: boolean) {
    this.context = context
    this.keyedState = requireKeyedState(context)
    this.target = target
    this.eventTime = eventTime
    this.eventTimers = this.keyedState.timers(QUEUES['event-time'])
    this.processingTimers = this.keyedState.timers(QUEUES['processing-time'])
    this.watermark = context.currentWatermark()
    this.firedUpTo = restoredWatermark(context).firedUpTo
    this.scheduleNext()
  }

  get currentWatermark(): number {
    return this.watermark
  }

  get currentProcessingTime(): number {
    return this.context.clock.nowMs()
  }

  /** The timers of the entries of a state; see `KeyedState.entryTimers`. */
  ofEntries(
    domain: TimeDomain,
    descriptor: TypedStateDescriptor,
    namespaceAt?: (timestamp: number) => Uint8Array,
  ): EntryTimers | undefined {
    return this.keyedState.entryTimers(QUEUES[domain], descriptor, namespaceAt)
  }

  /** With `ofEntries`, the timer belongs to the entry of the current key and namespace. */
  registerEventTimeTimer(timestamp: number, ofEntries?: EntryTimers): void {
    requireTime(timestamp, 'the time of an event-time timer')
    if (!this.eventTime && timestamp < MAX_TIMESTAMP) this.refuseEventTime()
    if (ofEntries === undefined) this.eventTimers.register(timestamp)
    else ofEntries.set(timestamp)
  }

  deleteEventTimeTimer(timestamp: number): void {
    this.eventTimers.delete(timestamp)
  }

  /** As `registerEventTimeTimer`. */
  registerProcessingTimeTimer(timestamp: number, ofEntries?: EntryTimers): void {
    requireTime(timestamp, 'the time of a processing-time timer')
    if (ofEntries === undefined) this.processingTimers.register(timestamp)
    else ofEntries.set(timestamp)
    if (timestamp < this.scheduled) this.schedule(timestamp)
  }

  deleteProcessingTimeTimer(timestamp: number): void {
    this.processingTimers.delete(timestamp)
  }

  /** Fires every event-time timer up to the new watermark, in time order. */
  advanceWatermark(watermark: number): void {
    this.watermark = watermark
    for (;;) {
      const timer = this.eventTimers.poll(watermark)
      if (timer === undefined) return
      this.target.onEventTimer(timer)
    }
  }

  /** Fires every processing-time timer that is due, and requests the time of the next one. */
  advanceProcessingTime(timestampMs: number): void {
    this.scheduled = Number.POSITIVE_INFINITY
    for (;;) {
      const timer = this.processingTimers.poll(timestampMs)
      if (timer === undefined) break
      this.target.onProcessingTimer(timer)
    }
    this.scheduleNext()
  }

  private scheduleNext(): void {
    const next = this.processingTimers.peek()
    if (next !== undefined && next < this.scheduled) this.schedule(next)
  }

  private schedule(timestamp: number): void {
    this.scheduled = timestamp
    this.context.scheduleProcessingTime(timestamp)
  }

  private refuseEventTime(): never {
    throw new WeirError(
      'INVALID_GRAPH',
      `operator "${this.context.name}" registers an event-time timer, but no watermarks reach it: give fromSource a watermark strategy such as boundedOutOfOrderness(...), or call assignTimestampsAndWatermarks before it`,
      { details: { operator: this.context.uid } },
    )
  }
}
