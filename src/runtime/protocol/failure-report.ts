import { asWeirError, isWeirError } from '../../core/errors.ts'
import { causesOf, userPlace } from './failure-cause.ts'
import type { SlotFailure } from './slot-messages.ts'

/** The `failed` report of an error. */
export function failureReport(
  error: unknown,
  source: Pick<SlotFailure, 'attempt' | 'task' | 'operator' | 'part' | 'record' | 'key'>,
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
