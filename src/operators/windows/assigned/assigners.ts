import { requireArgument } from '../../../core/errors.ts'
import { aFunction } from '../../../core/options/kinds.ts'
import { checkArgument } from '../../../core/options/shape.ts'
import type { TimeDomain } from '../../process/function.ts'
import {
  type AssignedWindows,
  type CumulativeWindows,
  lastWindowStart,
  type TimeWindow,
} from '../assigner.ts'
import { LocalPeriods } from './local-periods.ts'

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000

/**
 * Windows of `maxSizeMs` in event time, each of which fires after each `stepMs` with all its records so far: the hours of a
 * day so far, every minute. The size is a multiple of the step. Throws INVALID_ARGUMENT.
 */
export function cumulativeEventTimeWindows(
  maxSizeMs: number,
  stepMs: number,
  offsetMs = 0,
): CumulativeWindows {
  return cumulative({ timeDomain: 'event-time', maxSizeMs, stepMs, offsetMs })
}

/** As `cumulativeEventTimeWindows`, in wall-clock time. */
export function cumulativeProcessingTimeWindows(
  maxSizeMs: number,
  stepMs: number,
  offsetMs = 0,
): CumulativeWindows {
  return cumulative({ timeDomain: 'processing-time', maxSizeMs, stepMs, offsetMs })
}

function cumulative(windows: Omit<CumulativeWindows, 'kind'>): CumulativeWindows {
  const { maxSizeMs, stepMs, offsetMs } = windows
  requireArgument(
    Number.isSafeInteger(stepMs) && stepMs > 0,
    `the step of cumulative windows is a whole number of ms above 0, not ${stepMs}`,
  )
  requireArgument(
    Number.isSafeInteger(maxSizeMs) && maxSizeMs > 0 && maxSizeMs % stepMs === 0,
    `the size of cumulative windows is a multiple of the step ${stepMs} above 0, not ${maxSizeMs}`,
  )
  requireArgument(
    Number.isSafeInteger(offsetMs) && Math.abs(offsetMs) < maxSizeMs,
    `the offset of cumulative windows is a whole number of ms smaller than the size ${maxSizeMs}, not ${offsetMs}`,
  )
  return { kind: 'cumulative', ...windows }
}

/** Start of the largest cumulative window that contains a time. */
export function cumulativeStart({ maxSizeMs, offsetMs }: CumulativeWindows, time: number): number {
  return lastWindowStart({ slideMs: maxSizeMs, offsetMs }, time)
}

/** Cumulative windows as windows that keep their records each for itself. */
export function assignedOf(windows: CumulativeWindows): AssignedWindows {
  const { timeDomain, maxSizeMs, stepMs } = windows
  return {
    kind: 'assigned',
    timeDomain,
    assign: (time) => {
      const start = cumulativeStart(windows, time)
      const all: TimeWindow[] = []
      for (let end = start + maxSizeMs; end > time; end -= stepMs) all.push({ start, end })
      return all
    },
  }
}

/**
 * Windows in event time that a function assigns by the time of a record and the record. It returns `{ start, end }` in ms,
 * `start <= time < end`, each window once; an empty list leaves the record out. It must return the same each time it gets
 * the same. Windows of a key with the same bounds are one; they never merge. Another result fails the record with
 * INVALID_ARGUMENT.
 */
export function assignedEventTimeWindows<T>(
  assign: (time: number, record: T) => readonly TimeWindow[],
): AssignedWindows {
  return assigned('event-time', assign)
}

/** As `assignedEventTimeWindows`, in wall-clock time. */
export function assignedProcessingTimeWindows<T>(
  assign: (time: number, record: T) => readonly TimeWindow[],
): AssignedWindows {
  return assigned('processing-time', assign)
}

function assigned<T>(
  timeDomain: TimeDomain,
  assign: (time: number, record: T) => readonly TimeWindow[],
): AssignedWindows {
  checkArgument('assigned windows', 'assign', aFunction(), assign)
  return { kind: 'assigned', timeDomain, assign: (time, record) => assign(time, record as T) }
}

/**
 * Windows in event time of so many days of a time zone, such as `Europe/Berlin`: a day of 23, 24 or 25 hours. They begin when
 * clocks there first show midnight, or a later time where midnight is skipped. Windows of several days begin on days
 * whose number since 1970-01-01, less `offsetDays`, is a multiple of `days`: weeks from Monday have the offset 4. Throws
 * INVALID_ARGUMENT.
 */
export function localDayWindows(zone: string, days = 1, offsetDays = 0): AssignedWindows {
  requireArgument(
    Number.isSafeInteger(days) && days > 0 && days < 100_000,
    `the days of windows in local time are a whole number from 1 to 99,999, not ${days}`,
  )
  requireArgument(
    Number.isSafeInteger(offsetDays) && Math.abs(offsetDays) < days,
    `the offset of windows in local time is a whole number of days smaller than ${days}, not ${offsetDays}`,
  )
  return local(zone, days * DAY_MS, offsetDays * DAY_MS)
}

/**
 * Windows in event time of so many hours of the clocks of a time zone, counted from midnight: 1, 2, 3, 4, 6, 8, 12 or 24.
 * Where clocks go back, the window in which they do has the repeated time, too; where they go forward, it is shorter, or
 * there is none. Throws INVALID_ARGUMENT.
 */
export function localHourWindows(zone: string, hours = 1): AssignedWindows {
  requireArgument(
    Number.isSafeInteger(hours) && hours > 0 && 24 % hours === 0,
    `the hours of windows in local time divide a day: 1, 2, 3, 4, 6, 8, 12 or 24, not ${hours}`,
  )
  return local(zone, hours * HOUR_MS, 0)
}

function local(zone: string, sizeMs: number, offsetMs: number): AssignedWindows {
  const periods = new LocalPeriods(zone, sizeMs, offsetMs)
  return { kind: 'assigned', timeDomain: 'event-time', assign: (time) => [periods.at(time)] }
}
