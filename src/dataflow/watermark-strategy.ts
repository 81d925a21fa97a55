import { requireArgument } from '../core/errors.ts'

/** The event time of records, and how watermarks follow it in each source partition. */
export interface WatermarkStrategy<T> {
  /** Event time of a record in ms; `recordTimestamp` is the source's own, -1 if none. */
  readonly timestampOf: (value: T, recordTimestamp: number) => number
  /** The watermark is the largest timestamp seen minus this minus one; undefined emits none. */
  readonly outOfOrdernessMs: number | undefined
  /** Time without records after which a partition no longer holds the watermark back, ms. */
  readonly idleAfterMs: number | undefined
}

/** No event time: the source sets the timestamps, and there are no watermarks. */
export function noWatermarks<T>(): WatermarkStrategy<T> {
  return { timestampOf: (_, own) => own, outOfOrdernessMs: undefined, idleAfterMs: undefined }
}

/** Watermarks that tolerate records up to `maxOutOfOrdernessMs` late. Throws INVALID_ARGUMENT. */
export function boundedOutOfOrderness<T>(
  maxOutOfOrdernessMs: number,
  options: {
    readonly timestampOf?: (value: T, recordTimestamp: number) => number
    readonly idleAfterMs?: number
  } = {},
): WatermarkStrategy<T> {
  requireArgument(
    maxOutOfOrdernessMs >= 0,
    `maxOutOfOrdernessMs must be at least 0, not ${maxOutOfOrdernessMs}`,
  )
  return {
    timestampOf: options.timestampOf ?? ((_, own) => own),
    outOfOrdernessMs: maxOutOfOrdernessMs,
    idleAfterMs: options.idleAfterMs,
  }
}

/** Watermarks for timestamps that never decrease within a partition. */
export function monotonousTimestamps<T>(
  options: {
    readonly timestampOf?: (value: T, recordTimestamp: number) => number
    readonly idleAfterMs?: number
  } = {},
): WatermarkStrategy<T> {
  return boundedOutOfOrderness(0, options)
}
