import { WeirError } from '../../core/errors.ts'
import type { RowChange } from '../joins/table-join.ts'
import { refusePromise } from '../port/refuse-promise.ts'

/** The changes of a table whose rows a function has mapped; a tombstone stays one. */
export function mappedRows<K, V, W>(
  map: (value: V, key: K) => W | null,
): (change: RowChange<K, V>) => RowChange<K, W> {
  return ({ key, value }) => ({
    key,
    value: value === null ? null : requireRow(map(value, key), 'the function of mapRows'),
  })
}

/** The changes of a table without the rows for which a predicate does not hold: such a change is a tombstone. */
export function filteredRows<K, V>(
  predicate: (value: V, key: K) => boolean,
): (change: RowChange<K, V>) => RowChange<K, V> {
  return (change) => {
    const { key, value } = change
    if (value === null) return change
    const isKept = predicate(value, key)
    refusePromise(isKept, 'the predicate of filter')
    return isKept ? change : { key, value: null }
  }
}

/** What a function returned as a row: the row, or null. Throws UNSUPPORTED for a promise, INVALID_ARGUMENT for undefined. */
export function requireRow<V>(row: V | null, name: string): V | null {
  refusePromise(row, name)
  if (row !== undefined) return row
  throw new WeirError(
    'INVALID_ARGUMENT',
    `${name} returned undefined: return the row, or null where there is none`,
  )
}
