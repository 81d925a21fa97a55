import { type ErrorCode, type ErrorDetails, WeirError } from '../errors.ts'

/** What a part of a job waits for, as details of a notice have it. */
export interface Wait {
  /** What it waits for, in words: `Kafka`, `HDFS`, `a record of clicks/2`. */
  readonly waitsFor: string
  /** Why it does not come, in words: the address and the error of the last attempt. */
  readonly why: string
  /** When the wait began, ms since 1970. */
  readonly sinceMs: number
}

/** A notice that a wait has begun or goes on; what takes it can tell it from other warnings (`waitIn`). */
export function waitNotice(code: ErrorCode, message: string, wait: Wait): WeirError {
  const { waitsFor, why, sinceMs } = wait
  return new WeirError(code, message, { details: { waitsFor, why, sinceMs } })
}

/** A notice that a wait is over. */
export function waitEndNotice(code: ErrorCode, message: string, waitsFor: string): WeirError {
  return new WeirError(code, message, { details: { waitsFor } })
}

/** What the details of a notice say of a wait: that it goes on, or, without `wait`, that it is over. */
export type WaitChange = { readonly waitsFor: string; readonly wait: Wait | undefined }

/** The change of a wait in the details of a notice; undefined for other warnings. */
export function waitIn(details: ErrorDetails): WaitChange | undefined {
  const { waitsFor, why, sinceMs } = details
  if (typeof waitsFor !== 'string') return undefined
  const goesOn = typeof why === 'string' && typeof sinceMs === 'number'
  return { waitsFor, wait: goesOn ? { waitsFor, why, sinceMs } : undefined }
}

/** A notice as a part of a job passes it on: `name` stands before the message, `who` in the details. */
export function noticeFrom(name: string, notice: WeirError, who: ErrorDetails): WeirError {
  const { code, message, details } = notice
  return new WeirError(code, `${name}: ${message}`, {
    cause: notice,
    details: { ...details, ...who },
  })
}
