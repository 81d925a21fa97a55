import { bytesOfLatin1, latin1Of } from '../../core/text/latin1.ts'
import { type KeyedEntry, LIVE } from '../entries/keyed-entry.ts'
import type { EntryValue } from '../values/entry.ts'
import { STORE_KEY_HEADER, storeKeyOf, valueOfStored } from './store-keys.ts'
import type { StateTable } from './table.ts'

/** One entry of a scan. */
export interface PrefixEntry {
  /** Composite key, one character per byte. */
  readonly key: string
  readonly value: EntryValue
}

/**
 * The live entries of a map table under one composite prefix (key and namespace), in key order, from
 * memory and store. Entries that change during the scan may show their old or their new value.
 */
export function* scanPrefix(
  table: StateTable,
  keyGroup: number,
  prefix: string,
): IterableIterator<PrefixEntry> {
  const group = table.groups?.of(keyGroup, prefix)
  const inMemory = group === undefined ? [] : [...group].sort(byKey)
  const now = table.ttl === undefined ? 0 : table.context.clock.nowMs()
  if (!table.index.hasSpilled(keyGroup)) {
    for (const entry of inMemory) {
      if (isVisible(table, entry, now)) yield { key: entry.key, value: entry.value }
    }
    return
  }
  const from = bytesOfLatin1(prefix)
  const to = from.slice()
  to[to.length - 1]! += 1
  yield* mergeEntries(table, inMemory, storedRange(table, keyGroup, from, to), now)
}

/** Live entries of memory (sorted) and store in key order; memory wins where both have a key. */
function* mergeEntries(
  table: StateTable,
  inMemory: readonly KeyedEntry[],
  stored: Iterator<PrefixEntry>,
  nowMs: number,
): IterableIterator<PrefixEntry> {
  let at = 0
  let next = stored.next()
  while (at < inMemory.length || next.done !== true) {
    const entry = inMemory[at]
    if (entry !== undefined && (next.done === true || entry.key <= next.value.key)) {
      if (next.done !== true && next.value.key === entry.key) next = stored.next()
      at += 1
      if (isVisible(table, entry, nowMs)) yield { key: entry.key, value: entry.value }
    } else if (next.done !== true) {
      yield next.value
      next = stored.next()
    }
  }
}

/** Unexpired entries of a table in the store with `from <= composite key < to`, in key order. */
export function* storedRange(
  table: StateTable,
  keyGroup: number,
  from: Uint8Array,
  to: Uint8Array,
): IterableIterator<PrefixEntry> {
  const start = storeKeyOf(table.id, keyGroup, from)
  const end = storeKeyOf(table.id, keyGroup, to)
  const now = table.ttl === undefined ? 0 : table.context.clock.nowMs()
  for (const [key, stored] of table.context.store!.scan(start, end)) {
    const bytes = valueOfStored(stored)
    if (bytes === undefined) continue
    const value = table.valueIfUnexpired(bytes, now)
    if (value !== undefined) yield { key: latin1Of(key.subarray(STORE_KEY_HEADER)), value }
  }
}

/** Whether a reader at `nowMs` sees the entry. */
export function isVisible(table: StateTable, entry: KeyedEntry, nowMs: number): boolean {
  return (entry.flags & LIVE) !== 0 && !table.isExpired(entry, nowMs)
}

/** Orders entries by key bytes. */
export function byKey(a: KeyedEntry, b: KeyedEntry): number {
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0
}
