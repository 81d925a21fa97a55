import { WeirError } from '../../core/errors.ts'
import { refusePromise } from './refuse-promise.ts'

/**
 * Throws UNSUPPORTED if a user function that emits through a collector returned a promise or a list of results:
 * nothing would wait for the one, and the other would be dropped. A list of nothing passes: it is what
 * `values.map((value) => out.collect(value))` returns.
 */
export function refuseResult(result: unknown, name: string): void {
  refusePromise(result, name)
  if (!Array.isArray(result) || result.every((one) => one === undefined)) return
  throw new WeirError(
    'UNSUPPORTED',
    `${name} returned a list of ${result.length}, which nothing emits; pass each result to out.collect`,
  )
}
