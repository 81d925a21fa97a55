import { WeirError } from '../../core/errors.ts'
import { describeValue } from '../../core/text/describe-value.ts'
import { MAX_TIMESTAMP } from '../../core/time.ts'
import type { Timer } from '../../state/port/timer-queue.ts'
import { type Fold, foldAll } from '../folds/fold.ts'
import type { OperatorContext } from '../port/operator.ts'
import { refusePromise } from '../port/refuse-promise.ts'
import type { TimeDomain } from '../process/function.ts'
import {
  ALL_TIME,
  type AlignedWindows,
  type AssignedWindows,
  type GlobalWindows,
  lastWindowStart,
  type SessionWindows,
  type TimeWindow,
  type WindowAssigner,
} from './assigner.ts'
import type { Evictor, TimestampedValue } from './evictor.ts'
import { windowOfNamespace } from './namespace.ts'
import { OpenSessions } from './open-sessions.ts'
import { type RecordInWindows, WindowOperator, type WindowOptions } from './operator.ts'
import type { FormerSlices } from './sliced-records.ts'
import type { Trigger, TriggerResult } from './trigger.ts'
import { WindowTriggerContext } from './trigger-context.ts'

/** An evictor and what is made of the records that stay. */
export interface Eviction<IN> {
  readonly evictor: Evictor<IN>
  /** The fold of `reduce` or `aggregate`; undefined where the window function gets all records. */
  readonly fold: Fold<IN, unknown> | undefined
}

/** Options of an operator whose windows have a trigger or an evictor of the user. */
export interface TriggeredWindowOptions<K, IN> extends Omit<WindowOptions<K, IN>, 'timeDomain'> {
  readonly windows: AlignedWindows | SessionWindows | GlobalWindows | AssignedWindows
  readonly trigger: Trigger<IN>
  /** With an eviction, the contents are a list of `TimestampedValue`. */
  readonly eviction: Eviction<IN> | undefined
}

/**
 * The operator of windows with a trigger or an evictor of the user. The trigger alone decides when a window fires
 * and when its contents are dropped. The window ends as with the default trigger: at its last moment, in event
 * time after the allowed lateness. A global window never ends.
 */
export class TriggeredWindowOperator<K, IN> extends WindowOperator<K, IN> {
  private readonly triggered: TriggeredWindowOptions<K, IN>
  private triggerContext!: WindowTriggerContext
  private sessions: OpenSessions | undefined
  /** The windows that the present record was assigned to, the last one first. */
  private assigned: readonly TimeWindow[] = []

  constructor(options: TriggeredWindowOptions<K, IN>) {
    super({ ...options, timeDomain: options.windows.timeDomain })
    this.triggered = options
  }

  override async open(context: OperatorContext): Promise<void> {
    await super.open(context)
    this.triggerContext = new WindowTriggerContext(context, this.timers, this.namespaces)
    this.triggered.trigger.open?.(this.triggerContext)
  }

  processElement(_input: number, value: unknown, timestamp: number): void {
    this.former?.unpack()
    const { windows } = this.triggered
    const time = windows.kind === 'global' ? timestamp : this.timeOf(value as IN, timestamp)
    if (time === undefined) return
    if (windows.kind === 'assigned') this.assigned = windows.assign(time, value)
    this.addRecord(value as IN, timestamp, time)
  }

  protected override addToWindows(record: RecordInWindows<IN>, most: number): boolean {
    const { value, timestamp } = record
    for (let left = most; left > 0; left--) {
      const window = this.windowOf(record)
      if (window === undefined) return true
      // Windows come from the last one back: the ones before a late one are late, too.
      if (this.isTooLate(window)) {
        if (record.windows === 0) this.drop(value, timestamp)
        return true
      }
      record.windows += 1
      this.addTo(this.entered(window), value, timestamp)
    }
    return this.windowOf(record) === undefined
  }

  override onEventTimer(timer: Timer): void {
    this.former?.unpack(timer)
    this.onTimer(timer, 'event-time')
  }

  override onProcessingTimer(timer: Timer): void {
    this.onTimer(timer, 'processing-time')
  }

  protected windowKind(): WindowAssigner['kind'] {
    return this.triggered.windows.kind
  }

  protected override hasTrigger(): boolean {
    return true
  }

  protected override mergesWindows(): boolean {
    return this.triggered.windows.kind === 'session'
  }

  protected override openState(): void {
    if (this.mergesWindows()) this.sessions = new OpenSessions(this.keyedState, this.namespaces)
  }

  /** An evictor keeps records with their timestamps, which slices do not have. */
  protected override openFormer(): FormerSlices | undefined {
    return this.triggered.eviction === undefined ? super.openFormer() : undefined
  }

  protected override selectContents(window: TimeWindow): void {
    const session = this.sessions?.find(window.start)
    this.keyedState.setCurrentNamespace(
      session === undefined
        ? this.namespaces.of(window.start, window.end)
        : this.sessions!.storedAt(session),
    )
  }

  /** The window of a record behind those that it has reached. */
  private windowOf({ value, time, windows: at }: RecordInWindows<IN>): TimeWindow | undefined {
    const { windows } = this.triggered
    if (windows.kind === 'assigned') return this.assigned[at]
    if (windows.kind !== 'aligned' && at > 0) return undefined
    if (windows.kind === 'global') return ALL_TIME
    if (windows.kind === 'session') {
      return { start: time, end: Math.min(time + windows.gapMs(value), MAX_TIMESTAMP) }
    }
    const start = lastWindowStart(windows, time) - at * windows.slideMs
    return start > time - windows.sizeMs ? { start, end: start + windows.sizeMs } : undefined
  }

  /** Whether a window takes no record any more; a late one that touches an open session is not too late. */
  private isTooLate(window: TimeWindow): boolean {
    if (!this.isLate(window.end)) return false
    return this.sessions === undefined || this.sessions.touching(window).length === 0
  }

  private addTo(window: TimeWindow, value: IN, timestamp: number): void {
    const { trigger, eviction } = this.triggered
    this.selectContents(window)
    const stored: unknown = eviction === undefined ? value : { value, timestamp }
    const first = this.contents.add(stored as IN)
    const context = this.triggerContext.at(window)
    this.act(trigger.onElement(value, timestamp, window, context), window, timestamp)
    if (first) this.registerEnd(window)
  }

  /** The window that a record enters: of sessions the one that the new window becomes a part of. */
  private entered(window: TimeWindow): TimeWindow {
    if (this.sessions === undefined) return window
    const { session, merged, changed } = this.sessions.merge(window)
    const joined: TimeWindow = { start: session.start, end: session.end }
    if (!changed) return joined
    if (merged.length > 0) this.mergeTriggers(joined, merged)
    if (merged.length > 1) {
      const [into, ...from] = merged.map((each) => this.sessions!.storedAt(each))
      this.contents.merge(into!, from)
    }
    this.registerEnd(joined)
    return joined
  }

  private mergeTriggers(joined: TimeWindow, merged: readonly TimeWindow[]): void {
    const { trigger } = this.triggered
    trigger.onMerge!(joined, this.triggerContext.at(joined, merged))
    for (const window of merged) {
      const context = this.triggerContext.at(window)
      trigger.clear(window, context)
      const end = this.clearTimeOf(window.end)
      if (this.options.timeDomain === 'event-time') context.deleteEventTimeTimer(end)
      else context.deleteProcessingTimeTimer(end)
    }
  }

  private onTimer(timer: Timer, domain: TimeDomain): void {
    const { trigger } = this.triggered
    const window = windowOfNamespace(timer.namespace)
    if (this.sessions !== undefined && this.sessions.find(window.start)?.end !== window.end) return
    const context = this.triggerContext.at(window)
    const { timestamp } = timer
    const result =
      domain === 'event-time'
        ? trigger.onEventTime(timestamp, window, context)
        : trigger.onProcessingTime(timestamp, window, context)
    this.act(result, window, timestamp)
    if (this.endsAt(window, domain, timestamp)) this.end(window, timestamp)
  }

  private act(result: TriggerResult, window: TimeWindow, timestamp: number): void {
    if (result === 'CONTINUE') return
    requireResult(result)
    this.selectContents(window)
    if (result !== 'PURGE') {
      const isGlobal = this.triggered.windows.kind === 'global'
      this.fireContents(window, isGlobal ? timestamp : window.end - 1)
    }
    if (result === 'FIRE') return
    this.selectContents(window)
    this.contents.clear()
  }

  private fireContents(window: TimeWindow, timestamp: number): void {
    const { eviction } = this.triggered
    if (eviction === undefined) this.fire(window, timestamp)
    else this.fireEvicted(window, timestamp, eviction)
  }

  private fireEvicted(window: TimeWindow, timestamp: number, eviction: Eviction<IN>): void {
    const all = this.contents.read() as readonly TimestampedValue<IN>[] | undefined
    if (all === undefined) return
    const { evictor, fold } = eviction
    const kept = evictor.evictBefore ? evictor.evictBefore(all, window, this.triggerContext) : all
    requireList(kept, 'evictBefore')
    const values = kept.map(({ value }) => value)
    this.emit(window, timestamp, fold === undefined ? values : foldAll(fold, values))
    const left = evictor.evictAfter ? evictor.evictAfter(kept, window, this.triggerContext) : kept
    requireList(left, 'evictAfter')
    if (left.length === all.length) return
    this.selectContents(window)
    this.keepOnly(left, all)
  }

  /** Removes the other elements of the selected window. What the function has changed of the kept ones stays out of state. */
  private keepOnly(kept: readonly unknown[], all: readonly unknown[]): void {
    const places = new Map(all.map((element, i) => [element, i]))
    const stored = this.contents.read() ?? []
    this.contents.clear()
    for (const element of kept) {
      const place = places.get(element)
      this.contents.add((place === undefined ? element : stored[place]) as IN)
    }
  }

  private registerEnd(window: TimeWindow): void {
    if (this.triggered.windows.kind === 'global') return
    const context = this.triggerContext.at(window)
    const end = this.clearTimeOf(window.end)
    if (this.options.timeDomain === 'event-time') context.registerEventTimeTimer(end)
    else context.registerProcessingTimeTimer(end)
  }

  private endsAt(window: TimeWindow, domain: TimeDomain, timestamp: number): boolean {
    const { windows } = this.triggered
    if (windows.kind === 'global' || domain !== windows.timeDomain) return false
    return timestamp === this.clearTimeOf(window.end)
  }

  private end(window: TimeWindow, timestamp: number): void {
    this.selectContents(window)
    this.contents.clear()
    this.triggered.trigger.clear(window, this.triggerContext.at(window))
    this.clearFunction(window, timestamp)
    this.sessions?.forget(window.start)
  }
}

const RESULTS: ReadonlySet<unknown> = new Set(['FIRE', 'PURGE', 'FIRE_AND_PURGE'])

function requireResult(result: unknown): void {
  if (RESULTS.has(result)) return
  refusePromise(result, 'the trigger')
  throw new WeirError(
    'INVALID_ARGUMENT',
    `the trigger returned ${describeValue(result)}: return CONTINUE, FIRE, PURGE or FIRE_AND_PURGE`,
  )
}

function requireList(kept: unknown, name: string): void {
  if (Array.isArray(kept)) return
  refusePromise(kept, name)
  throw new WeirError(
    'INVALID_ARGUMENT',
    `${name} returned ${describeValue(kept)}: return an array of the elements that stay`,
  )
}
