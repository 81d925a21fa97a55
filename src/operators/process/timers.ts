import { WeirError } from '../../core/errors.ts'
import { MAX_TIMESTAMP, MIN_TIMESTAMP } from '../../core/time.ts'
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

/** Options of the timers of an operator. */
export interface TimersOptions {
  /** Whether watermarks reach the operator. */
  readonly eventTime: boolean
  /** Whether functions of the user register them, which may do so without an end. */
  readonly ofFunctions: boolean
}

/**
 * Event-time and processing-time timers of one keyed operator, stored as keyed state. A timer that is
 * registered while others fire also fires in the same pass if it is due. A pass is fired in parts (`FiringOperator`).
 */
export class Timers implements TimerService {
  private readonly context: OperatorContext
  private readonly keyedState: KeyedState
  private readonly target: TimerTarget
  private readonly eventTime: boolean
  private readonly ofFunctions: boolean
  private readonly eventTimers: TimerQueue
  private readonly processingTimers: TimerQueue
  private watermark: number
  /** Whether the watermark has made timers due. One that is registered behind it waits for the next watermark. */
  private firesEvents: boolean
  /** Timers up to this wall-clock time are to fire; undefined when none are due. */
  private firesUntil: number | undefined
  /** The event time up to which timers of restored state may have fired; MIN_TIMESTAMP on a fresh start. */
  readonly firedUpTo: number
  /** Timers that were registered after the last watermark. */
  private registeredAtEnd = 0
  /** Time of the timer that fires or fired last. */
  firingAt: number | undefined
  /** The earliest wall-clock time that is requested from the runtime and not reached. */
  private scheduled = Number.POSITIVE_INFINITY

  constructor(
    context: OperatorContext,
    target: TimerTarget,
    { eventTime, ofFunctions }: TimersOptions,
  ) {
    this.context = context
    this.keyedState = requireKeyedState(context)
    this.target = target
    this.eventTime = eventTime
    this.ofFunctions = ofFunctions
    this.eventTimers = this.keyedState.timers(QUEUES['event-time'])
    this.processingTimers = this.keyedState.timers(QUEUES['processing-time'])
    this.watermark = context.currentWatermark()
    // A checkpoint in the middle of a pass holds timers that its watermark has made due.
    this.firesEvents = this.watermark > MIN_TIMESTAMP
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
    if (this.watermark === MAX_TIMESTAMP && this.ofFunctions) this.countAtEnd()
    if (ofEntries === undefined) this.eventTimers.register(timestamp)
    else ofEntries.set(timestamp)
  }

  /** Whether there is such a timer of the current key and namespace that belongs to no entry. */
  hasEventTimeTimer(timestamp: number): boolean {
    return this.eventTimers.has(timestamp)
  }

  deleteEventTimeTimer(timestamp: number): void {
    requireTime(timestamp, 'the time of an event-time timer')
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
    requireTime(timestamp, 'the time of a processing-time timer')
    this.processingTimers.delete(timestamp)
  }

  /** Event-time timers up to the new watermark are due. */
  advanceWatermark(watermark: number): void {
    this.watermark = watermark
    this.firesEvents = true
  }

  /** Processing-time timers up to this time are due. */
  advanceProcessingTime(timestampMs: number): void {
    this.scheduled = Number.POSITIVE_INFINITY
    this.firesUntil = timestampMs
  }

  /**
   * Fires up to `most` due timers, those of event time first, each kind in time order; requests the time of the next
   * processing-time timer. Returns the number of timers that fired: fewer than `most` when no more are due.
   */
  fireDue(most: number): number {
    const fired = this.firesEvents ? this.fireEvents(most) : 0
    return this.firesUntil === undefined ? fired : this.fireProcessing(this.firesUntil, fired, most)
  }

  private fireEvents(most: number): number {
    for (let fired = 0; fired < most; fired++) {
      const timer = this.eventTimers.poll(this.watermark)
      if (timer === undefined) {
        this.firesEvents = false
        return fired
      }
      this.firingAt = timer.timestamp
      this.target.onEventTimer(timer)
    }
    return most
  }

  private fireProcessing(untilMs: number, before: number, most: number): number {
    for (let fired = before; fired < most; fired++) {
      const timer = this.processingTimers.poll(untilMs)
      if (timer === undefined) {
        this.firesUntil = undefined
        this.scheduleNext()
        return fired
      }
      this.firingAt = timer.timestamp
      this.target.onProcessingTimer(timer)
    }
    return most
  }

  /** Event time runs once to the end, as in Flink: a timer that always registers its successor would never let it end. */
  private countAtEnd(): void {
    const { uid, name, mostTimersAtEnd = Number.POSITIVE_INFINITY } = this.context
    this.registeredAtEnd += 1
    if (this.registeredAtEnd <= mostTimersAtEnd) return
    throw new WeirError(
      'ENDLESS_TIMERS',
      `operator "${name}" has registered ${mostTimersAtEnd} event-time timers since its input ended, because timers that fire register further ones: register none when timerService.currentWatermark is MAX_TIMESTAMP, or raise execution.end-of-input.max-timers`,
      { details: { operator: uid, limit: mostTimersAtEnd } },
    )
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
