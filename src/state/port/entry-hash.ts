import { murmur3 } from '../../core/hash/murmur3.ts'
import type { StateDeclaration } from './change.ts'
import { PartReader } from './composite-key.ts'

/*
 * The hash of an entry in memory, of its parts: the murmur3 of the key is there already, because the key group of a
 * record depends on it. No hash is stored.
 */

/**
 * Hash of an entry without a map key, as int32. The hash of the key is mixed, because those of a key group are equal
 * modulo the number of groups, and the entries of a group are kept apart by the lowest bits.
 */
export function prefixHash(
  keyHash: number,
  namespace: Uint8Array,
  length: number = namespace.length,
): number {
  if (length === 0) return mix(keyHash)
  return mix(Math.imul(keyHash, 31) + murmur3(namespace, 0, length))
}

/** Hash of an entry with a map key, from that of its prefix, as int32. */
export function mapEntryHash(prefix: number, mapKey: Uint8Array, length: number): number {
  return mix(Math.imul(prefix, 31) + murmur3(mapKey, 0, length))
}

const part = new PartReader()

/**
 * Hash of the entry with a composite key, in state of a kind, as int32. Timers have that of all their bytes, which
 * orders those of one moment. Throws MALFORMED_DATA.
 */
export function entryHash(kind: StateDeclaration['kind'], composite: Uint8Array): number {
  if (kind === 'timers') return murmur3(composite) | 0
  const keyEnd = part.read(composite, 0)
  const keyHash = murmur3(part.bytes, 0, part.length) | 0
  const end = part.read(composite, keyEnd)
  const prefix = prefixHash(keyHash, part.bytes, part.length)
  if (kind !== 'map' && end === composite.length) return prefix
  // A chunk of a list has a number where entries of a map have their keys.
  return mapEntryHash(prefix, composite.subarray(end), composite.length - end)
}

/** Two of the steps with which murmur3 ends. */
function mix(value: number): number {
  let h = Math.imul(value ^ (value >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return h ^ (h >>> 16)
}
