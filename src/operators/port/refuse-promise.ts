import { WeirError } from '../../core/errors.ts'
import { INSTEAD_OF_PROMISES } from '../../core/text/instead-of-promises.ts'

/**
 * Throws UNSUPPORTED if a user function returned a promise: nothing would wait for it, and what follows
 * its first `await` would run with the key, state and collector of another record.
 */
export function refusePromise(result: unknown, name: string): void {
  if (!(result instanceof Promise)) return
  // The error below is reported; a rejection of the promise adds nothing.
  result.catch(() => undefined)
  throw new WeirError('UNSUPPORTED', `${name} returned a promise; ${INSTEAD_OF_PROMISES}`)
}

/** Throws UNSUPPORTED for a function that is declared async, before it is called. */
export function refuseAsync(given: unknown, name: string): void {
  const kind = Object.prototype.toString.call(given)
  if (kind !== '[object AsyncFunction]' && kind !== '[object AsyncGeneratorFunction]') return
  throw new WeirError(
    'UNSUPPORTED',
    `${name} is async, so it returns a promise; ${INSTEAD_OF_PROMISES}`,
  )
}
