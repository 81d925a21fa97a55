import type { ValueCopier } from '../serializer.ts'
import { DEEPEST, flatShapes, plainBytes } from './plain-bytes.ts'
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
