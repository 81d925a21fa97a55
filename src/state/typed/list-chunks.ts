import { WeirError } from '../../core/errors.ts'
import { entryHash } from '../port/entry-hash.ts'
import { storeKeyOf, valueOfStored } from './store-keys.ts'
import type { StateTable } from './table.ts'

/** Bytes of a chunk's key behind those of its list: the number, big-endian, and an end that no list has. */
export const CHUNK_SUFFIX_BYTES = 5
const CHUNK_END = 0xff

/** What follows the composite key of a list in that of its chunk with this number, counted from 0. */
export function writeChunkSuffix(number: number, target: Uint8Array): void {
  for (let i = 0; i < 4; i++) target[i] = number >>> (24 - 8 * i)
  target[4] = CHUNK_END
}

/** Whether a composite key of list state is that of a chunk: those of lists end with a terminator. */
export function isChunkKey(composite: Uint8Array): boolean {
  return composite[composite.length - 1] === CHUNK_END
}

/**
 * The elements of a chunk, packed, without effect on what stays in memory. Throws MALFORMED_DATA when the chunk is
 * missing.
 */
export function readChunk(
  table: StateTable,
  keyGroup: number,
  list: Uint8Array,
  number: number,
): Uint8Array {
  const key = new Uint8Array(list.length + CHUNK_SUFFIX_BYTES)
  key.set(list)
  writeChunkSuffix(number, key.subarray(list.length))
  const entry = table.index.find(keyGroup, key, key.length, entryHash('list', key))
  if (entry !== undefined) return packedOf(table, number, entry.value)
  const stored = table.index.hasSpilled(keyGroup)
    ? table.context.store!.get(storeKeyOf(table.id, keyGroup, key))
    : undefined
  return packedOf(table, number, stored === undefined ? undefined : valueOfStored(stored))
}

/** The value of a chunk's entry. Throws MALFORMED_DATA when there is none. */
export function packedOf(table: StateTable, number: number, value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value
  throw new WeirError(
    'MALFORMED_DATA',
    `chunk ${number} of a list in state "${table.name}" is missing: the checkpoint or the state store is damaged; restore an earlier checkpoint`,
    { details: { state: table.name, chunk: number } },
  )
}
