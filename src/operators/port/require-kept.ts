import { WeirError } from '../../core/errors.ts'
import { refusePromise } from './refuse-promise.ts'

/**
 * What a function made of two values, which is kept for the next one. Throws INVALID_ARGUMENT for undefined, which
 * would forget all values before it, and UNSUPPORTED for a promise.
 */
export function requireKept<T>(result: T, name: string): T {
  if (result instanceof Promise) refusePromise(result, name)
  if (result !== undefined) return result
  return refuseLost(result, name)
}

/** As `requireKept`, for a function that makes one record of two: null is no record, either. */
export function requireReduced<T>(result: T, name: string): T {
  return result === null ? refuseLost(result, name) : requireKept(result, name)
}

function refuseLost(result: unknown, name: string): never {
  throw new WeirError(
    'INVALID_ARGUMENT',
    `${name} returned ${result}, and what it has summed so far would be lost: return the new value, also where it was changed in place`,
  )
}
