/** Event time before every record: no watermark has been seen yet. */
export const MIN_TIMESTAMP = -Number.MAX_SAFE_INTEGER
/** Event time after every record: the input has ended. */
export const MAX_TIMESTAMP = Number.MAX_SAFE_INTEGER
/** The timestamp of a record that has none. */
export const NO_TIMESTAMP = -1

/** The oldest and the newest of some times, ms since 1970. */
export interface TimeSpan {
  readonly oldest: number
  readonly newest: number
}

/** The span of times; undefined where there are none. */
export function timeSpan(times: Iterable<number>): TimeSpan | undefined {
  let [oldest, newest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const time of times) {
    oldest = Math.min(oldest, time)
    newest = Math.max(newest, time)
  }
  return newest < oldest ? undefined : { oldest, newest }
}
