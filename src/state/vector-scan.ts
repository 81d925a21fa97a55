import { murmur3 } from '../core/murmur3.ts'
import { STATE_LIVE } from './row-table-layout.ts'
import type { SlotQueryAnswer } from './slot-query.ts'
import { VECTOR_ROW_DELETED, vectorRowBytes } from './vector-row-codec.ts'
import type { VectorTable } from './vector-table.ts'

/** Rows of one table with `from <= key < to` in key order, spilled ones included, at most `limit`. */
export function vectorScan(
  table: VectorTable,
  from: Uint8Array,
  to: Uint8Array,
  limit: number,
): SlotQueryAnswer[] {
  const found = keysInMemory(table, from, to)
  if (table.spill !== undefined) addStored(table, from, to, limit, found)
  found.sort((a, b) => Buffer.compare(a.key, b.key))
  return found.slice(0, limit).map(({ key, row, value }) => ({
    kind: 'found',
    key,
    value: value ?? table.scratch.encode(row).slice(),
  }))
}

/** A row in memory (`value` missing) or in the store. */
interface Found {
  readonly key: Uint8Array
  readonly row: number
  readonly value: Uint8Array | undefined
}

function keysInMemory(table: VectorTable, from: Uint8Array, to: Uint8Array): Found[] {
  const { rows, scratch } = table
  const found: Found[] = []
  for (let row = 0; row < rows.rowLimit; row++) {
    if ((rows.stateOf(row) & STATE_LIVE) === 0) continue
    const key = scratch.keyOf(row)
    if (Buffer.compare(key, from) < 0 || Buffer.compare(key, to) >= 0) continue
    found.push({ key: key.slice(), row, value: undefined })
  }
  return found
}

function addStored(
  table: VectorTable,
  from: Uint8Array,
  to: Uint8Array,
  limit: number,
  found: Found[],
): void {
  const size = vectorRowBytes(table.context.layout.dimension)
  let added = 0
  for (const [key, value] of table.spill!.entries(from)) {
    if (added === limit || Buffer.compare(key, to) >= 0) return
    if ((value[1]! & VECTOR_ROW_DELETED) !== 0 || table.isInMemory(key)) continue
    found.push({ key: key.slice(), row: -1, value: value.slice(0, size) })
    added++
  }
}

/** A page of the store's entries from a key on, see `VectorStateTables.storedPage`. */
export function vectorStoredPage(
  table: VectorTable,
  from: Uint8Array,
  limit: number,
): SlotQueryAnswer[] {
  const answers: SlotQueryAnswer[] = []
  if (table.spill === undefined) return answers
  const size = vectorRowBytes(table.context.layout.dimension)
  for (const [stored, value] of table.spill.entries(from)) {
    if (answers.length === limit) break
    const key = stored.slice()
    answers.push(answerOf(table, key, value.slice(0, size)))
  }
  return answers
}

function answerOf(table: VectorTable, key: Uint8Array, value: Uint8Array): SlotQueryAnswer {
  const row = table.rows.find(key, murmur3(key) | 0)
  if (row < 0) {
    const deleted = (value[1]! & VECTOR_ROW_DELETED) !== 0
    return deleted ? { kind: 'missing', key } : { kind: 'found', key, value }
  }
  const live = (table.rows.stateOf(row) & STATE_LIVE) !== 0
  if (!live) return { kind: 'missing', key }
  return { kind: 'found', key, value: table.scratch.encode(row).slice() }
}
