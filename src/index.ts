/** The public surface of `weir`. */
export { ERROR_CODES, type ErrorCode, isWeirError, WeirError } from './core/errors.ts'
