import { requireArgument, WeirError } from '../../core/errors.ts'
import { aFunction, count, oneOf, required, wholeNumber } from '../../core/options/kinds.ts'
import { checkArgument, variants } from '../../core/options/shape.ts'
import { MAX_TIMESTAMP, MIN_TIMESTAMP } from '../../core/time.ts'
import { refusePromise } from '../port/refuse-promise.ts'
import type { TimeDomain } from '../process/function.ts'

/** A span of time, `start <= t < end`, in ms. */
export interface TimeWindow {
  readonly start: number
  readonly end: number
}

/** Windows of fixed size at fixed distances; tumbling when `slideMs` is equal to `sizeMs`. */
export interface AlignedWindows {
  readonly kind: 'aligned'
  readonly timeDomain: TimeDomain
  readonly sizeMs: number
  readonly slideMs: number
  /** Shift of the window starts against the epoch. */
  readonly offsetMs: number
}

/** Sliding windows whose records are in slices. */
export interface SlicedWindows extends Pick<AlignedWindows, 'sizeMs' | 'slideMs' | 'offsetMs'> {
  /** How long windows stay after their end, in ms. */
  readonly latenessMs: number
}

/** Windows that last while records of the key follow each other within the gap. */
export interface SessionWindows {
  readonly kind: 'session'
  readonly timeDomain: TimeDomain
  /** The gap after a record, in ms. */
  readonly gapMs: (record: unknown) => number
}

/** Windows of so many records of a key, a new one after each `slide` records. */
export interface CountWindows {
  readonly kind: 'count'
  readonly timeDomain: 'processing-time'
  readonly size: number
  readonly slide: number
}

/** One window of all records of a key, which never ends: only a trigger makes it fire. */
export interface GlobalWindows {
  readonly kind: 'global'
  readonly timeDomain: 'processing-time'
}

/** Windows of fixed size, each of which also fires, with what it has by then, after each step (Flink's `CUMULATE`). */
export interface CumulativeWindows {
  readonly kind: 'cumulative'
  readonly timeDomain: TimeDomain
  readonly maxSizeMs: number
  readonly stepMs: number
  /** Shift of the window starts against the epoch. */
  readonly offsetMs: number
}

/** Windows that a function assigns. */
export interface AssignedWindows {
  readonly kind: 'assigned'
  readonly timeDomain: TimeDomain
  /** The windows of a record of that time, in any order; see `assignedEventTimeWindows`. */
  readonly assign: (time: number, record: unknown) => readonly TimeWindow[]
}

/** The rule that assigns records to windows. */
export type WindowAssigner =
  | AlignedWindows
  | SessionWindows
  | CountWindows
  | GlobalWindows
  | CumulativeWindows
  | AssignedWindows

const TIME_DOMAIN = required(oneOf<TimeDomain>('event-time', 'processing-time'))
const PROCESSING_TIME = required(oneOf('processing-time'))

/** The rules that assign records to windows. */
export const WINDOW_ASSIGNER = variants<WindowAssigner, 'kind'>('kind', {
  aligned: {
    timeDomain: TIME_DOMAIN,
    sizeMs: required(count),
    slideMs: required(count),
    offsetMs: required(wholeNumber()),
  },
  session: { timeDomain: TIME_DOMAIN, gapMs: required(aFunction()) },
  count: { timeDomain: PROCESSING_TIME, size: required(count), slide: required(count) },
  global: { timeDomain: PROCESSING_TIME },
  cumulative: {
    timeDomain: TIME_DOMAIN,
    maxSizeMs: required(count),
    stepMs: required(count),
    offsetMs: required(wholeNumber()),
  },
  assigned: { timeDomain: TIME_DOMAIN, assign: required(aFunction()) },
})

/** The span of a window that no time bounds. */
export const ALL_TIME: TimeWindow = { start: MIN_TIMESTAMP, end: MAX_TIMESTAMP }

function aligned(windows: Omit<AlignedWindows, 'kind'>): AlignedWindows {
  const { sizeMs, slideMs, offsetMs } = windows
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
  return { kind: 'aligned', ...windows }
}

function requireGap(gapMs: number): number {
  if (Number.isSafeInteger(gapMs) && gapMs > 0) return gapMs
  refusePromise(gapMs, 'the gap of a session')
  throw new WeirError(
    'INVALID_ARGUMENT',
    `the gap of a session is a whole number of ms above 0, not ${gapMs}`,
  )
}

function session(timeDomain: TimeDomain, gapMs: number): SessionWindows {
  requireGap(gapMs)
  return { kind: 'session', timeDomain, gapMs: () => gapMs }
}

function dynamicSession<T>(timeDomain: TimeDomain, gapMs: (record: T) => number): SessionWindows {
  checkArgument('windows of sessions', 'gapMs', aFunction(), gapMs)
  return { kind: 'session', timeDomain, gapMs: (record) => requireGap(gapMs(record as T)) }
}

/** Consecutive windows in event time. Throws INVALID_ARGUMENT. */
export function tumblingEventTimeWindows(sizeMs: number, offsetMs = 0): AlignedWindows {
  return aligned({ timeDomain: 'event-time', sizeMs, slideMs: sizeMs, offsetMs })
}

/** Consecutive windows in wall-clock time. Throws INVALID_ARGUMENT. */
export function tumblingProcessingTimeWindows(sizeMs: number, offsetMs = 0): AlignedWindows {
  return aligned({ timeDomain: 'processing-time', sizeMs, slideMs: sizeMs, offsetMs })
}

/** A window of `sizeMs` every `slideMs` of event time. Throws INVALID_ARGUMENT. */
export function slidingEventTimeWindows(
  sizeMs: number,
  slideMs: number,
  offsetMs = 0,
): AlignedWindows {
  return aligned({ timeDomain: 'event-time', sizeMs, slideMs, offsetMs })
}

/** A window of `sizeMs` every `slideMs` of wall-clock time. Throws INVALID_ARGUMENT. */
export function slidingProcessingTimeWindows(
  sizeMs: number,
  slideMs: number,
  offsetMs = 0,
): AlignedWindows {
  return aligned({ timeDomain: 'processing-time', sizeMs, slideMs, offsetMs })
}

/** Sessions in event time, which end after `gapMs` without records. Throws INVALID_ARGUMENT. */
export function eventTimeSessionWindows(gapMs: number): SessionWindows {
  return session('event-time', gapMs)
}

/** Sessions in wall-clock time, which end after `gapMs` without records. Throws INVALID_ARGUMENT. */
export function processingTimeSessionWindows(gapMs: number): SessionWindows {
  return session('processing-time', gapMs)
}

/**
 * Sessions in event time whose gap depends on the record: a session ends when no record came within the gap of
 * any of its records. A gap that is no whole number above 0 fails the job with INVALID_ARGUMENT.
 */
export function dynamicEventTimeSessionWindows<T>(gapMs: (record: T) => number): SessionWindows {
  return dynamicSession('event-time', gapMs)
}

/** As `dynamicEventTimeSessionWindows`, in wall-clock time. */
export function dynamicProcessingTimeSessionWindows<T>(
  gapMs: (record: T) => number,
): SessionWindows {
  return dynamicSession('processing-time', gapMs)
}

/**
 * Windows of `size` records of a key. A new one starts after each `slide` records, so that windows overlap where
 * `slide` is smaller than `size`; the first ones are then shorter. Throws INVALID_ARGUMENT.
 */
export function countWindows(size: number, slide: number = size): CountWindows {
  for (const count of [size, slide]) {
    requireArgument(
      Number.isSafeInteger(count) && count > 0,
      `the size and the slide of a count window are whole numbers above 0, not ${size} and ${slide}`,
    )
  }
  return { kind: 'count', timeDomain: 'processing-time', size, slide }
}

/**
 * One window of all records of a key. Without `trigger(...)` it never fires. A result has the timestamp of the
 * record or timer that made it fire.
 */
export function globalWindows(): GlobalWindows {
  return { kind: 'global', timeDomain: 'processing-time' }
}

/** Start of the last window that contains `timestamp`; the windows before it start one slide earlier each. */
export function lastWindowStart(
  { slideMs, offsetMs }: Pick<AlignedWindows, 'slideMs' | 'offsetMs'>,
  timestamp: number,
): number {
  const phase = (timestamp - offsetMs) % slideMs
  return timestamp - (phase < 0 ? phase + slideMs : phase)
}

/**
 * Whether each window is a row of slices as long as the slide, which overlapping windows share. In wall-clock
 * time a record may come in the millisecond in which its window fires: such windows keep their own contents.
 */
export function canSlice({ timeDomain, sizeMs, slideMs }: AlignedWindows): boolean {
  return timeDomain === 'event-time' && slideMs < sizeMs && sizeMs % slideMs === 0
}
