import type { DataStream } from '../../../src/dataflow/data-stream.ts'
import type { Table } from '../../../src/dataflow/table.ts'
import type { RowChange } from '../../../src/operators/joins/table-join.ts'

/** A change of a row as tests feed it: its key, and its new value or null. */
export type Fed<K, V> = readonly [K, V | null]

/** The table of changes that a test feeds. */
export function tableOfFed<K extends string | number, V>(
  changes: DataStream<Fed<K, V>>,
): Table<K, V> {
  return changes.toTable<K, V>({ keyOf: ([key]) => key, rowOf: ([, value]) => value })
}

/** What a table is after changes: its rows by key, sorted. */
export function rowsOf<K, V>(changes: readonly RowChange<K, V>[]): [K, V][] {
  const rows = new Map<K, V>()
  for (const { key, value } of changes) {
    if (value === null) rows.delete(key)
    else rows.set(key, value)
  }
  return [...rows].sort(([a], [b]) => (a < b ? -1 : 1))
}
