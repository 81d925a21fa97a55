import { requireArgument } from '../../core/errors.ts'
import { reducingState } from '../../state/port/descriptors.ts'
import type { TimeWindow } from './assigner.ts'
import type { Trigger, TriggerContext } from './trigger.ts'

/** When the window fires next: the earliest time, where windows become one. */
const NEXT = reducingState<number>('fire-time', (a, b) => Math.min(a, b))

function requireInterval(intervalMs: number): void {
  requireArgument(
    Number.isSafeInteger(intervalMs) && intervalMs > 0,
    `the interval of a trigger is a whole number of ms above 0, not ${intervalMs}`,
  )
}

/** The start of the interval that contains the time. */
function intervalStart(time: number, intervalMs: number): number {
  return Math.floor(time / intervalMs) * intervalMs
}

/** Remembers and returns the next time to fire: an interval later, or the last moment of the window. */
function remember(time: number, window: TimeWindow, context: TriggerContext): number {
  const next = Math.min(time, window.end - 1)
  context.getReducingState(NEXT).add(next)
  return next
}

/**
 * Fires at each whole multiple of the interval that the watermark reaches while the window has records, and at
 * the last moment of the window. Throws INVALID_ARGUMENT.
 */
export function continuousEventTimeTrigger(intervalMs: number): Trigger<unknown> {
  requireInterval(intervalMs)
  const registerNext = (time: number, window: TimeWindow, context: TriggerContext): void =>
    context.registerEventTimeTimer(remember(time + intervalMs, window, context))
  return {
    open: (context) => void context.getReducingState(NEXT),
    onElement: (_element, timestamp, window, context) => {
      if (window.end - 1 <= context.currentWatermark) return 'FIRE'
      context.registerEventTimeTimer(window.end - 1)
      if (context.getReducingState(NEXT).get() === undefined) {
        registerNext(intervalStart(timestamp, intervalMs), window, context)
      }
      return 'CONTINUE'
    },
    onEventTime: (timestamp, window, context) => {
      if (timestamp === window.end - 1) return 'FIRE'
      const next = context.getReducingState(NEXT)
      if (next.get() !== timestamp) return 'CONTINUE'
      next.clear()
      registerNext(timestamp, window, context)
      return 'FIRE'
    },
    onProcessingTime: () => 'CONTINUE',
    onMerge: (_window, context) => {
      context.mergePartitionedState(NEXT)
      const next = context.getReducingState(NEXT).get()
      if (next !== undefined) context.registerEventTimeTimer(next)
    },
    clear: (window, context) => {
      const next = context.getReducingState(NEXT)
      const time = next.get()
      if (time !== undefined) context.deleteEventTimeTimer(time)
      next.clear()
      context.deleteEventTimeTimer(window.end - 1)
    },
  }
}

/**
 * Fires at each whole multiple of the interval that the wall clock reaches while the window has records. Throws
 * INVALID_ARGUMENT.
 */
export function continuousProcessingTimeTrigger(intervalMs: number): Trigger<unknown> {
  requireInterval(intervalMs)
  const registerNext = (time: number, window: TimeWindow, context: TriggerContext): void =>
    context.registerProcessingTimeTimer(remember(time + intervalMs, window, context))
  return {
    open: (context) => void context.getReducingState(NEXT),
    onElement: (_element, _timestamp, window, context) => {
      if (context.getReducingState(NEXT).get() === undefined) {
        registerNext(intervalStart(context.currentProcessingTime, intervalMs), window, context)
      }
      return 'CONTINUE'
    },
    onEventTime: () => 'CONTINUE',
    onProcessingTime: (timestamp, window, context) => {
      const next = context.getReducingState(NEXT)
      if (next.get() !== timestamp) return 'CONTINUE'
      next.clear()
      // The last moment of a window has no next one: the window is cleared then.
      if (timestamp < window.end - 1) registerNext(timestamp, window, context)
      return 'FIRE'
    },
    onMerge: (_window, context) => {
      context.mergePartitionedState(NEXT)
      const next = context.getReducingState(NEXT).get()
      if (next !== undefined) context.registerProcessingTimeTimer(next)
    },
    clear: (_window, context) => {
      const next = context.getReducingState(NEXT)
      const time = next.get()
      if (time !== undefined) context.deleteProcessingTimeTimer(time)
      next.clear()
    },
  }
}
