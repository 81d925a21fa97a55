import { copyBytes } from '../../core/copy-bytes.ts'
import { WeirError } from '../../core/errors.ts'
import { writeLatin1 } from '../../core/text/latin1.ts'
import type { KeyedEntry } from '../entries/keyed-entry.ts'
import { PrefixViews } from '../store/prefix-views.ts'

/*
 * Typed state in a store.
 *
 *   key     +----------------+-----------------+---------------------------+
 *           | table id, u16  | key group, u16  | composite key             |   big-endian
 *           +----------------+-----------------+---------------------------+
 *   value   +------------------------+-------------------------------------+
 *           | u8: 1 exists, 0 deleted| the entry's bytes, none if deleted  |
 *           +------------------------+-------------------------------------+
 */

/** Bytes in front of the composite key. */
export const STORE_KEY_HEADER = 4
export const STORED_TOMBSTONE = 0
export const STORED_VALUE = 1
/** Above every key of typed state; row tables have the rest of the store. */
export const STORE_END = Uint8Array.of(0x80)

/** The store's key of the first `length` bytes of a composite key. */
export function storeKeyOf(
  tableId: number,
  keyGroup: number,
  composite: Uint8Array,
  length: number = composite.length,
): Uint8Array {
  const key = new Uint8Array(STORE_KEY_HEADER + length)
  writeStoreKeyHeader(key, 0, tableId, keyGroup)
  key.set(length === composite.length ? composite : composite.subarray(0, length), STORE_KEY_HEADER)
  return key
}

/** The store's key of an entry. */
export function storeKeyOfEntry(tableId: number, entry: KeyedEntry): Uint8Array {
  const key = new Uint8Array(STORE_KEY_HEADER + entry.key.length)
  writeStoreKeyHeader(key, 0, tableId, entry.keyGroup)
  writeLatin1(entry.key, key, STORE_KEY_HEADER)
  return key
}

/** Splits a store key; the composite key is a view. Throws MALFORMED_DATA when it is too short. */
export function readStoreKey(key: Uint8Array): {
  readonly tableId: number
  readonly keyGroup: number
  readonly composite: Uint8Array
} {
  if (key.length < STORE_KEY_HEADER) {
    throw new WeirError('MALFORMED_DATA', `a store key of ${key.length} bytes has no header`)
  }
  return {
    tableId: (key[0]! << 8) | key[1]!,
    keyGroup: (key[2]! << 8) | key[3]!,
    composite: key.subarray(STORE_KEY_HEADER),
  }
}

/** The entry's bytes in a value of the store, a view; undefined for a deleted entry. */
export function valueOfStored(stored: Uint8Array): Uint8Array | undefined {
  return stored[0] === STORED_TOMBSTONE ? undefined : stored.subarray(1)
}

/** Writes what is before the composite key of a store key, from `at`. */
export function writeStoreKeyHeader(
  target: Uint8Array,
  at: number,
  tableId: number,
  keyGroup: number,
): void {
  target[at] = tableId >>> 8
  target[at + 1] = tableId
  target[at + 2] = keyGroup >>> 8
  target[at + 3] = keyGroup
}

/**
 * The store's key of one read at a time, in a buffer outside the JavaScript heap: an engine would first have to move a
 * small array of the heap.
 */
export class ReadKey {
  private bytes = new Uint8Array(512)
  private readonly views = new PrefixViews()

  /** As `storeKeyOf`; valid until the next call. */
  of(tableId: number, keyGroup: number, composite: Uint8Array, length: number): Uint8Array {
    const end = STORE_KEY_HEADER + length
    if (end > this.bytes.length) this.bytes = new Uint8Array(end * 2)
    writeStoreKeyHeader(this.bytes, 0, tableId, keyGroup)
    copyBytes(composite, 0, this.bytes, STORE_KEY_HEADER, length)
    return this.views.of(this.bytes, end)
  }
}
