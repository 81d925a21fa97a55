import { asWeirError, WeirError } from '../../../core/errors.ts'
import type { ErrorMessage } from './messages.ts'

/** An error as plain data, for the other process. */
export function errorMessage(error: unknown): ErrorMessage {
  const { code, message, details } = asWeirError(error, 'OPERATOR_FAILED')
  return { code, message, details }
}

/** The error that the other process sent. */
export function errorOf({ code, message, details }: ErrorMessage): WeirError {
  return new WeirError(code, message, { details })
}
