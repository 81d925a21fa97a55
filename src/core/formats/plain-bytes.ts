import { FlatShapes } from './flat-shapes.ts'
import { FIELD_BYTES, NOT_FLAT, NOT_PLAIN, OBJECT_BYTES, STRING_BYTES } from './value-bytes.ts'

/** Values nested more deeply, or in a circle, are left to the serializer. */
export const DEEPEST = 32

/** The records that were seen in this thread. */
export const flatShapes = new FlatShapes()

/**
 * About how many bytes of heap a value takes that MessagePack gives back as it is: objects without a class, arrays,
 * Map, Set, Date, text, numbers and booleans. `NOT_PLAIN` for any other value, and for a value with one inside.
 */
export function plainBytes(value: unknown): number {
  return bytesOf(value, 0)
}

function bytesOf(value: unknown, depth: number): number {
  // Comparisons, not a switch: the engine looks at the kind of a value itself, and makes no name of it.
  if (typeof value === 'object') return value === null ? 0 : bytesOfObject(value, depth)
  if (typeof value === 'string') return STRING_BYTES + value.length
  return typeof value === 'number' || typeof value === 'boolean' ? 0 : NOT_PLAIN
}

function bytesOfObject(value: object, depth: number): number {
  if (depth > DEEPEST) return NOT_PLAIN
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype === Object.prototype || prototype === null) return bytesOfFields(value, depth)
  if (prototype === Array.prototype) return bytesOfElements(value as unknown[], depth)
  if (prototype === Map.prototype) return bytesOfMap(value as Map<unknown, unknown>, depth)
  if (prototype === Set.prototype) return bytesOfSet(value as Set<unknown>, depth)
  if (prototype !== Date.prototype) return NOT_PLAIN
  return Number.isNaN((value as Date).getTime()) ? NOT_PLAIN : OBJECT_BYTES
}

function bytesOfFields(value: object, depth: number): number {
  const flat = flatShapes.bytesOf(value)
  if (flat !== NOT_FLAT) return flat
  const fields = value as Readonly<Record<string, unknown>>
  let bytes = OBJECT_BYTES
  for (const name in fields) {
    const field = fields[name]
    bytes += FIELD_BYTES
    // MessagePack reads this name back under another one.
    if (name === '__proto__') return NOT_PLAIN
    if (typeof field === 'number' || field === undefined) continue
    const own = bytesOf(field, depth + 1)
    if (own === NOT_PLAIN) return NOT_PLAIN
    bytes += own
  }
  return bytes
}

function bytesOfElements(values: readonly unknown[], depth: number): number {
  let bytes = OBJECT_BYTES + FIELD_BYTES * values.length
  for (let i = 0; i < values.length; i++) {
    // A hole reads like undefined here, and comes back from MessagePack as something else.
    const own = bytesOf(values[i], depth + 1)
    if (own === NOT_PLAIN) return NOT_PLAIN
    bytes += own
  }
  return bytes
}

function bytesOfMap(values: ReadonlyMap<unknown, unknown>, depth: number): number {
  let bytes = OBJECT_BYTES
  for (const [key, value] of values) {
    const ofKey = bytesOf(key, depth + 1)
    const ofValue = bytesOf(value, depth + 1)
    if (ofKey === NOT_PLAIN || ofValue === NOT_PLAIN) return NOT_PLAIN
    bytes += 4 * FIELD_BYTES + ofKey + ofValue
  }
  return bytes
}

function bytesOfSet(values: ReadonlySet<unknown>, depth: number): number {
  let bytes = OBJECT_BYTES
  for (const value of values) {
    const own = bytesOf(value, depth + 1)
    if (own === NOT_PLAIN) return NOT_PLAIN
    bytes += 3 * FIELD_BYTES + own
  }
  return bytes
}
