import { ERROR_CODES, type ErrorCode } from '../core/errors.ts'

/**
 * Numbers of error codes on the wire. A number is never reused for another code. A code without a
 * number is sent as 254, with its name in the details.
 */
const STATUS_OF: Partial<Record<ErrorCode, number>> = {
  UNKNOWN_KEY: 1,
  UNKNOWN_STATE: 2,
  UNKNOWN_VERSION: 3,
  NOT_OWNER: 4,
  RESTORING: 5,
  NOT_UP_TO_BOUND: 6,
  OVERLOADED: 7,
  DEADLINE_EXCEEDED: 8,
  UNAVAILABLE: 9,
  FRAME_TOO_LARGE: 10,
  PROTOCOL_ERROR: 11,
  UNAUTHENTICATED: 12,
  INVALID_ARGUMENT: 13,
  DIMENSION_MISMATCH: 14,
  KEY_TOO_LONG: 15,
  UNSUPPORTED: 16,
  UNSUPPORTED_VERSION: 17,
  STORE_FAILED: 18,
  SLOT_LOST: 19,
  ILLEGAL_STATE: 20,
}

/** Status of an answer that has a value. */
export const OK = 0
/** Status of an error whose code is in the details, by name. */
export const OTHER = 254

const CODE_OF: readonly (ErrorCode | undefined)[] = invert()

function invert(): (ErrorCode | undefined)[] {
  const codes = new Array<ErrorCode | undefined>(256).fill(undefined)
  for (const code of Object.keys(ERROR_CODES) as ErrorCode[]) {
    const status = STATUS_OF[code]
    if (status !== undefined) codes[status] = code
  }
  return codes
}

/** The wire number of a code. */
export function statusOf(code: ErrorCode): number {
  return STATUS_OF[code] ?? OTHER
}

/** The code of a wire number; undefined for 0, 254, 255 and numbers of a newer protocol. */
export function codeOf(status: number): ErrorCode | undefined {
  return CODE_OF[status]
}
