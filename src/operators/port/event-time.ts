import { WeirError } from '../../core/errors.ts'
import { describeValue } from '../../core/text/describe-value.ts'
import { NO_TIMESTAMP } from '../../core/time.ts'
import { refusePromise } from './refuse-promise.ts'

/** Last moment that a Date has, ms since 1970; the first one is as far before. */
const LAST_DATE_MS = 8.64e15

/**
 * The timestamp of the results of a window's last moment, or of a timer. -1 stands for none, so that results of the
 * last millisecond before 1970 have the one before it.
 */
export function timestampOfResults(time: number): number {
  return time === NO_TIMESTAMP ? NO_TIMESTAMP - 1 : time
}

/** A record whose event time is missing or too far away, and who received it. */
interface Untimely {
  readonly timestamp: number
  /** Such as `the event-time window "Counts"`. */
  readonly receiver: string
  readonly operatorUid: string
}

/** The warning of a record that counts as late because it has no event time that windows and joins reach: NO_EVENT_TIME. */
export function withoutEventTime({ timestamp, receiver, operatorUid }: Untimely): WeirError {
  const why =
    timestamp === NO_TIMESTAMP
      ? 'has no timestamp: give the watermark strategy a timestampOf. If it has one, the function returned -1 (1969-12-31T23:59:59.999Z), which stands for no timestamp: return -2 in its place'
      : `has the timestamp ${timestamp} ms, which is no time of a calendar: a timestamp is in ms since 1970`
  return new WeirError(
    'NO_EVENT_TIME',
    `a record that reached ${receiver} ${why}. It counts as late, and so does each further one: numLateRecordsDropped and the side output of late records have them`,
    { details: { operator: operatorUid } },
  )
}

/** Whether windows and joins reach a time: those of dates leave room for the end of a window behind them. */
export function isEventTime(timestamp: number): boolean {
  return timestamp !== NO_TIMESTAMP && timestamp <= LAST_DATE_MS && timestamp >= -LAST_DATE_MS
}

/** The time that a user function gave. Throws INVALID_ARGUMENT for what is no whole number of ms. */
export function requireTime(time: unknown, name: string): asserts time is number {
  if (!Number.isSafeInteger(time)) refuseTime(time, name)
}

/** Apart from the check, which is then small enough to be inlined for each record. */
function refuseTime(time: unknown, name: string): never {
  refusePromise(time, name)
  throw new WeirError(
    'INVALID_ARGUMENT',
    `${name} is ${describeValue(time)}, not a whole number of ms since 1970: use date.getTime(), Date.parse(text) or Math.floor(ms)`,
  )
}
