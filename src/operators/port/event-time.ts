import { WeirError } from '../../core/errors.ts'
import { describeValue } from '../../core/text/describe-value.ts'
import { NO_TIMESTAMP } from '../../core/time.ts'
import { refusePromise } from './refuse-promise.ts'

/**
 * The timestamp of the results of a window's last moment, or of a timer. -1 stands for none, so that results of the
 * last millisecond before 1970 have the one before it.
 */
export function timestampOfResults(time: number): number {
  return time === NO_TIMESTAMP ? NO_TIMESTAMP - 1 : time
}

/** The error of a record without event time: INVALID_ARGUMENT. */
export function missingTimestamp(receiver: string, operatorUid: string): WeirError {
  return new WeirError(
    'INVALID_ARGUMENT',
    `a record without timestamp reached ${receiver}: give the watermark strategy a timestampOf. If it has one, the function returned -1 (1969-12-31T23:59:59.999Z), which stands for no timestamp: return -2 in its place`,
    { details: { operator: operatorUid } },
  )
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
