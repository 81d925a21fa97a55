/** Event time before every record: no watermark has been seen yet. */
export const MIN_TIMESTAMP = -Number.MAX_SAFE_INTEGER
/** Event time after every record: the input has ended. */
export const MAX_TIMESTAMP = Number.MAX_SAFE_INTEGER
/** The timestamp of a record that has none. */
export const NO_TIMESTAMP = -1
