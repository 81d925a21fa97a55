import { ERROR_CODES, type ErrorCode } from '../../core/errors.ts'

/** Codes by their number in the memory of a queue, which never leaves the process. */
const CODES = Object.keys(ERROR_CODES) as readonly ErrorCode[]

/** Number of an error code in a failed slot (`SLOT.code`). */
export const numberOfCode = (code: ErrorCode): number => CODES.indexOf(code)

/** The error code of a number; MODEL_FAILED for one that is none. */
export const codeOfNumber = (number: number): ErrorCode => CODES[number] ?? 'MODEL_FAILED'
