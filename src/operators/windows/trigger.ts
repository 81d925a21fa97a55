import { requireArgument } from '../../core/errors.ts'
import type { MetricGroup } from '../../core/metrics.ts'
import { aFunction, numberIn, objectWith } from '../../core/options/kinds.ts'
import { checkArgument } from '../../core/options/shape.ts'
import type { Serializer } from '../../core/serializer.ts'
import { reducingState, valueState } from '../../state/port/descriptors.ts'
import type { TimerService } from '../process/function.ts'
import type { TimeWindow } from './assigner.ts'
import { requireDelta } from './evictor.ts'
import type { MergingStateDescriptor, NamespacedStateAccess } from './namespaced-state.ts'

/**
 * What becomes of a window. CONTINUE: nothing. FIRE: its function is called and its contents stay. PURGE: its
 * contents are dropped. FIRE_AND_PURGE: both, in this order.
 */
export type TriggerResult = 'CONTINUE' | 'FIRE' | 'PURGE' | 'FIRE_AND_PURGE'

/**
 * State, timers and time of a trigger. State and timers belong to the key and the window. A timer that is
 * registered twice fires once.
 */
export interface TriggerContext extends NamespacedStateAccess, TimerService {
  readonly metrics: MetricGroup
}

/** Context of windows that became one. */
export interface OnMergeContext extends TriggerContext {
  /** Moves the state of the merged windows into that of the new one. */
  mergePartitionedState<T>(descriptor: MergingStateDescriptor<T>): void
}

/**
 * Decides when a window fires and when its contents are dropped. One object serves all windows of a subtask: it
 * keeps what it must remember in partitioned state, which it declares in `open`.
 */
export interface Trigger<T> {
  /** Declares the states of the trigger, so that a restore finds them. Called once for each subtask. */
  open?(context: NamespacedStateAccess): void
  /** Handles a record that was added to the window; `timestamp` is its event time, -1 without one. */
  onElement(
    element: T,
    timestamp: number,
    window: TimeWindow,
    context: TriggerContext,
  ): TriggerResult
  /** Handles an event-time timer of the trigger, and the moment at which an event-time window is cleared. */
  onEventTime(timestamp: number, window: TimeWindow, context: TriggerContext): TriggerResult
  /** As `onEventTime`, in processing time. */
  onProcessingTime(timestamp: number, window: TimeWindow, context: TriggerContext): TriggerResult
  /** Handles windows that became one. Without this method the trigger is refused on sessions. */
  onMerge?(window: TimeWindow, context: OnMergeContext): void
  /** Drops state and timers of a window that is cleared or merged into another one. */
  clear(window: TimeWindow, context: TriggerContext): void
}

const ignore = (): TriggerResult => 'CONTINUE'

/** Fires when the watermark reaches the last moment of the window, and again for each late record. */
export function eventTimeTrigger(): Trigger<unknown> {
  return {
    onElement: (_element, _timestamp, window, context) => {
      if (window.end - 1 <= context.currentWatermark) return 'FIRE'
      context.registerEventTimeTimer(window.end - 1)
      return 'CONTINUE'
    },
    onEventTime: (timestamp, window) => (timestamp === window.end - 1 ? 'FIRE' : 'CONTINUE'),
    onProcessingTime: ignore,
    onMerge: (window, context) => {
      if (window.end - 1 > context.currentWatermark) context.registerEventTimeTimer(window.end - 1)
    },
    clear: (window, context) => context.deleteEventTimeTimer(window.end - 1),
  }
}

/** Fires when the wall clock reaches the last moment of the window. */
export function processingTimeTrigger(): Trigger<unknown> {
  return {
    onElement: (_element, _timestamp, window, context) => {
      context.registerProcessingTimeTimer(window.end - 1)
      return 'CONTINUE'
    },
    onEventTime: ignore,
    onProcessingTime: () => 'FIRE',
    onMerge: (window, context) => context.registerProcessingTimeTimer(window.end - 1),
    clear: (window, context) => context.deleteProcessingTimeTimer(window.end - 1),
  }
}

const COUNT = reducingState<number>('count', (a, b) => a + b)

/** Fires after each `count` records of a window. Throws INVALID_ARGUMENT. */
export function countTrigger(count: number): Trigger<unknown> {
  requireArgument(
    Number.isSafeInteger(count) && count > 0,
    `the count of a trigger is a whole number above 0, not ${count}`,
  )
  return {
    open: (context) => void context.getReducingState(COUNT),
    onElement: (_element, _timestamp, _window, context) => {
      const records = context.getReducingState(COUNT)
      records.add(1)
      if (records.get()! < count) return 'CONTINUE'
      records.clear()
      return 'FIRE'
    },
    onEventTime: ignore,
    onProcessingTime: ignore,
    onMerge: (_window, context) => context.mergePartitionedState(COUNT),
    clear: (_window, context) => context.getReducingState(COUNT).clear(),
  }
}

/**
 * Fires for each record whose distance to the record that fired last is above `threshold`. The first record only
 * sets the mark. Not for sessions. `serializer` encodes that record in state; the default is MessagePack.
 */
export function deltaTrigger<T>(
  threshold: number,
  deltaOf: (before: T, record: T) => number,
  options: { readonly serializer?: Serializer<T> } = {},
): Trigger<T> {
  checkArgument('deltaTrigger', 'threshold', numberIn(), threshold)
  checkArgument('deltaTrigger', 'deltaOf', aFunction(), deltaOf)
  const last = valueState<T>('last-record', options)
  return {
    open: (context) => void context.getState(last),
    onElement: (element, _timestamp, _window, context) => {
      const state = context.getState(last)
      const before = state.value()
      if (before !== undefined && !(requireDelta(deltaOf(before, element)) > threshold)) {
        return 'CONTINUE'
      }
      state.update(element)
      return before === undefined ? 'CONTINUE' : 'FIRE'
    },
    onEventTime: ignore,
    onProcessingTime: ignore,
    clear: (_window, context) => context.getState(last).clear(),
  }
}

/** Never fires: what `globalWindows()` has until `trigger(...)` sets another one. */
export function neverTrigger(): Trigger<unknown> {
  return {
    onElement: ignore,
    onEventTime: ignore,
    onProcessingTime: ignore,
    onMerge: () => {},
    clear: () => {},
  }
}

const TRIGGER = objectWith<Trigger<unknown>>(
  'a trigger, such as countTrigger(10)',
  'onElement',
  'onEventTime',
  'onProcessingTime',
)

/** As another trigger, but the contents are dropped whenever that one fires. */
export function purgingTrigger<T>(nested: Trigger<T>): Trigger<T> {
  checkArgument('purgingTrigger', 'nested', TRIGGER, nested)
  const purging = (result: TriggerResult): TriggerResult =>
    result === 'FIRE' ? 'FIRE_AND_PURGE' : result
  return {
    open: (context) => nested.open?.(context),
    onElement: (element, timestamp, window, context) =>
      purging(nested.onElement(element, timestamp, window, context)),
    onEventTime: (timestamp, window, context) =>
      purging(nested.onEventTime(timestamp, window, context)),
    onProcessingTime: (timestamp, window, context) =>
      purging(nested.onProcessingTime(timestamp, window, context)),
    ...(nested.onMerge === undefined
      ? {}
      : { onMerge: (window, context) => nested.onMerge!(window, context) }),
    clear: (window, context) => nested.clear(window, context),
  }
}
