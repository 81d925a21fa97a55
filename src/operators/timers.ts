import { WeirError } from '../core/errors.ts'
import { MAX_TIMESTAMP } from '../core/time.ts'
import type { KeyedStateBackend, Timer, TimerQueue } from '../state/keyed-state-backend.ts'
import type { OperatorContext } from './operator.ts'
import type { TimerService } from './process-function.ts'

/** Receives a timer that fired; its key and namespace are the current ones of the backend. */
export interface TimerTarget {
  onEventTimer(timer: Timer): void
  onProcessingTimer(timer: Timer): void
}

/**
 * Event- and processing-time timers of one keyed operator, kept as keyed state. Timers registered
 * while others fire take part in the same pass if their time has come.
 */
export class Timers implements TimerService {
  private readonly context: OperatorContext
  private readonly keyedState: KeyedStateBackend
  private readonly target: TimerTarget
  private readonly eventTime: boolean
  private readonly eventTimers: TimerQueue
  private readonly processingTimers: TimerQueue
  private watermark: number
  /** The earliest wall-clock time that the runtime was asked for and has not answered. */
  private scheduled = Number.POSITIVE_INFINITY

  /** `eventTime`: whether watermarks reach the operator at all. */
  constructor(
    context: OperatorContext,
    keyedState: KeyedStateBackend,
    target: TimerTarget,
    eventTime: boolean,
  ) {
    this.context = context
    this.keyedState = keyedState
    this.target = target
    this.eventTime = eventTime
    this.eventTimers = keyedState.timers('event-timers')
    this.processingTimers = keyedState.timers('processing-timers')
    this.watermark = context.currentWatermark()
    this.scheduleNext()
  }

  get currentWatermark(): number {
    return this.watermark
  }

  get currentProcessingTime(): number {
    return this.context.clock.nowMs()
  }

  registerEventTimeTimer(timestamp: number): void {
    if (!this.eventTime && timestamp < MAX_TIMESTAMP) this.refuseEventTime()
    this.eventTimers.register(timestamp)
  }

  deleteEventTimeTimer(timestamp: number): void {
    this.eventTimers.delete(timestamp)
  }

  registerProcessingTimeTimer(timestamp: number): void {
    this.processingTimers.register(timestamp)
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
      this.select(timer)
      this.target.onEventTimer(timer)
    }
  }

  /** Fires every processing-time timer that is due, and asks for the next one. */
  advanceProcessingTime(timestampMs: number): void {
    this.scheduled = Number.POSITIVE_INFINITY
    for (;;) {
      const timer = this.processingTimers.poll(timestampMs)
      if (timer === undefined) break
      this.select(timer)
      this.target.onProcessingTimer(timer)
    }
    this.scheduleNext()
  }

  private select(timer: Timer): void {
    this.keyedState.setCurrentKey(timer.key, timer.keyGroup)
    this.keyedState.setCurrentNamespace(timer.namespace)
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
