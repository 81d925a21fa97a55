import { asWeirError, isWeirError, messageOf } from '../../core/errors.ts'
import { causesOf, userPlace } from './failure-cause.ts'
import type { SlotFailure } from './slot-messages.ts'

/** The `failed` report of an error. */
export function failureReport(
  error: unknown,
  source: Omit<SlotFailure, 'kind' | 'code' | 'message' | 'stack' | 'place' | 'causes'>,
): SlotFailure {
  const { code, message } = asWeirError(error, 'OPERATOR_FAILED')
  const stack = error instanceof Error ? error.stack : undefined
  return {
    kind: 'failed',
    ...source,
    code,
    message,
    stack,
    place: isWeirError(error) ? undefined : userPlace(stack),
    causes: causesOf(error),
  }
}

/** The error of asynchronous code that nothing handled, with the stack of what was thrown. */
export function strayError(thrown: unknown): Error {
  const message = `nothing handled an error of asynchronous code: ${messageOf(thrown)}; wait for each promise, or catch its error`
  if (!(thrown instanceof Error)) return new Error(message)
  const stray = new Error(message, { cause: thrown.cause })
  if (thrown.stack !== undefined) stray.stack = thrown.stack
  return stray
}
