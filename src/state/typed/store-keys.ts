import { WeirError } from '../../core/errors.ts'
import { writeLatin1 } from '../../core/text/latin1.ts'
import type { KeyedEntry } from './keyed-entry.ts'

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
  writeHeader(key, tableId, keyGroup)
  key.set(length === composite.length ? composite : composite.subarray(0, length), STORE_KEY_HEADER)
  return key
}

/** The store's key of an entry. */
export function storeKeyOfEntry(tableId: number, entry: KeyedEntry): Uint8Array {
  const key = new Uint8Array(STORE_KEY_HEADER + entry.key.length)
  writeHeader(key, tableId, entry.keyGroup)
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

function writeHeader(target: Uint8Array, tableId: number, keyGroup: number): void {
  target[0] = tableId >>> 8
  target[1] = tableId
  target[2] = keyGroup >>> 8
  target[3] = keyGroup
}
