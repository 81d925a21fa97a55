import { requireArgument } from '../core/errors.ts'
import type { TimeDomain } from './process-function.ts'

/** A span of time, `start <= t < end`, in ms. */
export interface TimeWindow {
  readonly start: number
  readonly end: number
}

/** Windows of fixed size at fixed distances; `slideMs` equal to `sizeMs` means tumbling. */
export interface AlignedWindows {
  readonly kind: 'aligned'
  readonly timeDomain: TimeDomain
  readonly sizeMs: number
  readonly slideMs: number
  /** Shift of the window starts against the epoch. */
  readonly offsetMs: number
}

/** Windows that last as long as records of the key follow each other within the gap. */
export interface SessionWindows {
  readonly kind: 'session'
  readonly timeDomain: TimeDomain
  readonly gapMs: number
}

/** Says which windows a record belongs to. */
export type WindowAssigner = AlignedWindows | SessionWindows

function aligned(
  timeDomain: TimeDomain,
  sizeMs: number,
  slideMs: number,
  offsetMs: number,
): AlignedWindows {
  requireArgument(
    Number.isSafeInteger(sizeMs) && sizeMs > 0,
    `the size of a window is a whole number of ms above 0, not ${sizeMs}`,
  )
  requireArgument(
    Number.isSafeInteger(slideMs) && slideMs > 0,
    `the slide of a window is a whole number of ms above 0, not ${slideMs}`,
  )
  requireArgument(
    Number.isSafeInteger(offsetMs) && Math.abs(offsetMs) < slideMs,
    `the offset of a window is a whole number of ms smaller than the slide ${slideMs}, not ${offsetMs}`,
  )
  return { kind: 'aligned', timeDomain, sizeMs, slideMs, offsetMs }
}

function session(timeDomain: TimeDomain, gapMs: number): SessionWindows {
  requireArgument(
    Number.isSafeInteger(gapMs) && gapMs > 0,
    `the gap of a session is a whole number of ms above 0, not ${gapMs}`,
  )
  return { kind: 'session', timeDomain, gapMs }
}

/** Windows side by side in event time. Throws INVALID_ARGUMENT. */
export function tumblingEventTimeWindows(sizeMs: number, offsetMs = 0): AlignedWindows {
  return aligned('event-time', sizeMs, sizeMs, offsetMs)
}

/** Windows side by side in wall-clock time. Throws INVALID_ARGUMENT. */
export function tumblingProcessingTimeWindows(sizeMs: number, offsetMs = 0): AlignedWindows {
  return aligned('processing-time', sizeMs, sizeMs, offsetMs)
}

/** A window of `sizeMs` every `slideMs` of event time. Throws INVALID_ARGUMENT. */
export function slidingEventTimeWindows(
  sizeMs: number,
  slideMs: number,
  offsetMs = 0,
): AlignedWindows {
  return aligned('event-time', sizeMs, slideMs, offsetMs)
}

/** A window of `sizeMs` every `slideMs` of wall-clock time. Throws INVALID_ARGUMENT. */
export function slidingProcessingTimeWindows(
  sizeMs: number,
  slideMs: number,
  offsetMs = 0,
): AlignedWindows {
  return aligned('processing-time', sizeMs, slideMs, offsetMs)
}

/** Sessions in event time, closed by a silence of `gapMs`. Throws INVALID_ARGUMENT. */
export function eventTimeSessionWindows(gapMs: number): SessionWindows {
  return session('event-time', gapMs)
}

/** Sessions in wall-clock time, closed by a silence of `gapMs`. Throws INVALID_ARGUMENT. */
export function processingTimeSessionWindows(gapMs: number): SessionWindows {
  return session('processing-time', gapMs)
}

/** Start of the last window that holds `timestamp`; earlier ones begin one slide before each other. */
export function lastWindowStart(windows: AlignedWindows, timestamp: number): number {
  const { slideMs, offsetMs } = windows
  const phase = (timestamp - offsetMs) % slideMs
  return timestamp - (phase < 0 ? phase + slideMs : phase)
}
