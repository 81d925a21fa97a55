import type { ValueCopier } from '../serializer.ts'
import { FlatShapes } from './flat-shapes.ts'
import { FIELD_BYTES, NOT_FLAT, NOT_PLAIN, OBJECT_BYTES, STRING_BYTES } from './value-bytes.ts'

/**
 * Gives back plain data itself instead of a copy, for programs that change no object which state or another function
 * may hold. It refuses what `PlainCopier` refuses.
 */
export class PlainSharer implements ValueCopier<unknown> {
  readonly shares = true
  bytes = 0

  copy(value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return undefined
    const bytes = plainBytes(value)
    if (bytes === NOT_PLAIN) return undefined
    this.bytes = bytes
    return value
  }

  measure(value: unknown): number {
    return Math.max(0, plainBytes(value))
  }
}

/**
 * Copies plain data as MessagePack would give it back, many times faster than packing and unpacking:
 * objects without a class, arrays, Map, Set, Date, text, numbers and booleans.
 */
export class PlainCopier implements ValueCopier<unknown> {
  readonly shares = false
  readonly sharer = new PlainSharer()
  bytes = 0
  isFlat = false

  copy(value: unknown): unknown {
    this.bytes = 0
    this.isFlat = false
    return typeof value === 'object' && value !== null ? this.copyObject(value, 0) : undefined
  }

  measure(value: unknown): number {
    return Math.max(0, plainBytes(value))
  }

  private copyObject(value: object, depth: number): object | undefined {
    if (depth > DEEPEST) return undefined
    this.bytes += OBJECT_BYTES
    const prototype: unknown = Object.getPrototypeOf(value)
    if (prototype === Object.prototype || prototype === null) return this.copyFields(value, depth)
    if (prototype === Array.prototype) return this.copyElements(value as unknown[], depth)
    if (prototype === Map.prototype) return this.copyMap(value as Map<unknown, unknown>, depth)
    if (prototype === Set.prototype) return this.copySet(value as Set<unknown>, depth)
    if (prototype !== Date.prototype) return undefined
    const time = (value as Date).getTime()
    return Number.isNaN(time) ? undefined : new Date(time)
  }

  private copyFields(value: object, depth: number): object | undefined {
    // The engine clones an object of a known shape in one step.
    const copy: Record<string, unknown> = { ...value }
    const flat = flatShapes.bytesOf(copy)
    if (flat !== NOT_FLAT) {
      this.bytes += flat - OBJECT_BYTES
      this.isFlat = depth === 0
      return copy
    }
    // Counted here: a field of this object would be stored for each field of that one.
    let bytes = 0
    for (const name in copy) {
      const field = copy[name]
      bytes += FIELD_BYTES
      // MessagePack reads this name back under another one.
      if (name === '__proto__') return undefined
      if (typeof field === 'number') continue
      if (typeof field === 'string') {
        bytes += STRING_BYTES + field.length
        continue
      }
      const copied = this.copyField(field, depth)
      if (copied === undefined && field !== undefined) return undefined
      if (copied !== field) copy[name] = copied
    }
    this.bytes += bytes
    return copy
  }

  private copyElements(values: readonly unknown[], depth: number): unknown[] | undefined {
    const copy = values.slice()
    this.bytes += FIELD_BYTES * copy.length
    for (let i = 0; i < copy.length; i++) {
      const element = copy[i]
      if (typeof element === 'number') continue
      // A hole reads like undefined here, and comes back from MessagePack as something else.
      if (element === undefined) return undefined
      const copied = this.copyField(element, depth)
      if (copied === undefined) return undefined
      if (copied !== element) copy[i] = copied
    }
    return copy
  }

  private copyMap(
    values: ReadonlyMap<unknown, unknown>,
    depth: number,
  ): Map<unknown, unknown> | undefined {
    const copy = new Map<unknown, unknown>()
    for (const [key, value] of values) {
      this.bytes += 4 * FIELD_BYTES
      const copiedKey = this.copyField(key, depth)
      const copied = this.copyField(value, depth)
      if (copiedKey === undefined || copied === undefined) return undefined
      copy.set(copiedKey, copied)
    }
    return copy
  }

  private copySet(values: ReadonlySet<unknown>, depth: number): Set<unknown> | undefined {
    const copy = new Set<unknown>()
    for (const value of values) {
      this.bytes += 3 * FIELD_BYTES
      const copied = this.copyField(value, depth)
      if (copied === undefined) return undefined
      copy.add(copied)
    }
    return copy
  }

  /** A copy of a field or element; undefined for undefined and for what cannot be copied. */
  private copyField(value: unknown, depth: number): unknown {
    // Comparisons, as in `plainBytes`.
    if (typeof value === 'object') return value === null ? null : this.copyObject(value, depth + 1)
    if (typeof value === 'string') {
      this.bytes += STRING_BYTES + value.length
      return value
    }
    return typeof value === 'number' || typeof value === 'boolean' ? value : undefined
  }
}

/** Values nested more deeply, or in a circle, are left to the serializer. */
const DEEPEST = 32

/** The records that were seen in this thread. */
const flatShapes = new FlatShapes()

/**
 * About how many bytes of heap a value takes that MessagePack gives back as it is: objects without a class, arrays,
 * Map, Set, Date, text, numbers and booleans. `NOT_PLAIN` for any other value, and for a value with one inside.
 */
function plainBytes(value: unknown): number {
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
