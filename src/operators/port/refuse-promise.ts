import { WeirError } from '../../core/errors.ts'

/** What to do instead of an asynchronous function. */
const REMEDY =
  'functions of operators are synchronous. For asynchronous I/O use AsyncDataStream.orderedWait or AsyncDataStream.unorderedWait'

/**
 * Throws UNSUPPORTED if a user function returned a promise: nothing would wait for it, and what follows
 * its first `await` would run with the key, state and collector of another record.
 */
export function refusePromise(result: unknown, name: string): void {
  if (!(result instanceof Promise)) return
  // The error below is reported; a rejection of the promise adds nothing.
  result.catch(() => undefined)
  throw new WeirError('UNSUPPORTED', `${name} returned a promise; ${REMEDY}`)
}

/** Throws UNSUPPORTED for a function that is declared async, before it is called. */
export function refuseAsync(given: unknown, name: string): void {
  const kind = Object.prototype.toString.call(given)
  if (kind !== '[object AsyncFunction]' && kind !== '[object AsyncGeneratorFunction]') return
  throw new WeirError('UNSUPPORTED', `${name} is async, so it returns a promise; ${REMEDY}`)
}
