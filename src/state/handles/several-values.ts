import { WeirError } from '../../core/errors.ts'
import { describeValue } from '../../core/text/describe-value.ts'

/** Requires several values for a list, before it is changed: a text would be taken letter by letter. Throws INVALID_ARGUMENT. */
export function requireValues(values: unknown, name: string): void {
  if (!Array.isArray(values)) refuse(values, `${name} takes an array of values`)
}

/** Requires pairs of keys and values for a map. Throws INVALID_ARGUMENT. */
export function requirePairs(pairs: unknown, name: string): void {
  const isIterable = typeof pairs === 'object' && pairs !== null && Symbol.iterator in pairs
  if (!isIterable) refuse(pairs, `${name} takes pairs [key, value], such as a Map`)
}

function refuse(given: unknown, takes: string): never {
  throw new WeirError('INVALID_ARGUMENT', `${takes}, not ${describeValue(given)}`)
}
