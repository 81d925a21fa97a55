import type { ByteWriter } from '../../core/byte-writer.ts'
import { hashOfText, LONGEST_KEPT, writePlace } from '../../core/shapes/frequent-texts.ts'
import type { FrequentKey } from '../../state/port/frequent-key.ts'

/** Keys that an edge remembers at most. */
export const MOST_KEYS = 1024
/** Most parts of a tuple that is remembered. */
const MOST_PARTS = 3

/**
 * Kinds of keys on an edge that remembers frequent ones, the first byte of each:
 *
 *     plain    key
 *     kept     u16 place, little-endian, key; the receiver keeps the key at its place
 *     known    u16 place of a key that is kept
 *
 * An edge lives as long as an attempt, so the format has no version.
 */
export const KEY_KINDS = { plain: 0, kept: 1, known: 2 } as const

/** In place of a hash: no key of this type is kept. */
export const NOT_KEPT = 0
/** In place of a number of parts: no key, and a key that is no tuple. */
const NOTHING = -2
const NO_TUPLE = -1

/**
 * The keys that come again on an edge, as its sender knows them: a receiver has the key of each place. A key is kept when
 * it comes for the second time in a row among those of its place that are not kept, so that keys that never
 * come again cost little, and frequent ones stay. Keeping one makes no object: keys that come a few times are many.
 */
export class FrequentKeys {
  /** By place, the number of parts of the key. */
  private readonly lengths = new Int8Array(MOST_KEYS).fill(NOTHING)
  /** By number of a part and place; a key that is no tuple is its own first part. */
  private readonly parts = Array.from({ length: MOST_PARTS }, () =>
    new Array<unknown>(MOST_KEYS).fill(undefined),
  )
  /** By place, the key as the receiver in the own slot knows it, where that is the receiver of the key. */
  readonly own = new Array<FrequentKey | undefined>(MOST_KEYS).fill(undefined)
  /** By place, the key group of the key. */
  readonly keyGroups = new Int32Array(MOST_KEYS)
  /** Hash of the last key of each place that was not kept. */
  private readonly others = new Int32Array(MOST_KEYS)

  /** The place of a key that is kept; -1 for a key that is not kept. */
  find(hash: number, key: unknown): number {
    const place = placeOf(hash)
    if (!this.has(place, key)) return -1
    this.others[place] = NOT_KEPT
    return place
  }

  /** Appends what stands for the key that is kept at a place. */
  write(place: number, writer: ByteWriter): void {
    writePlace(KEY_KINDS.known, place, writer)
  }

  /**
   * Appends what comes before the bytes of a key that is not kept. Returns the place at which it is to be kept, -1 when it
   * comes for the first time.
   */
  begin(hash: number, writer: ByteWriter): number {
    const place = placeOf(hash)
    const comesAgain = hash !== NOT_KEPT && this.others[place] === hash
    this.others[place] = hash
    if (comesAgain) writePlace(KEY_KINDS.kept, place, writer)
    else writer.uint8(KEY_KINDS.plain)
    return comesAgain ? place : -1
  }

  /** Keeps a key that its receiver has got with its place. */
  keep(place: number, key: unknown, keyGroup: number): void {
    const { parts } = this
    if (Array.isArray(key)) for (let i = 0; i < key.length; i++) parts[i]![place] = key[i]
    else parts[0]![place] = key
    this.lengths[place] = Array.isArray(key) ? key.length : NO_TUPLE
    this.keyGroups[place] = keyGroup
    this.others[place] = NOT_KEPT
  }

  private has(place: number, key: unknown): boolean {
    const { parts } = this
    const length = this.lengths[place]!
    if (!Array.isArray(key)) return length === NO_TUPLE && parts[0]![place] === key
    if (length !== key.length) return false
    for (let i = 0; i < length; i++) if (parts[i]![place] !== key[i]) return false
    return true
  }
}

function placeOf(hash: number): number {
  return (hash ^ (hash >>> 10) ^ (hash >>> 20)) & (MOST_KEYS - 1)
}

/** Hash of a number, a text or a short tuple of these, as int32; `NOT_KEPT` for other keys and long texts. */
export function hashOfKey(key: unknown): number {
  if (!Array.isArray(key)) return hashOfPart(key)
  if (key.length > MOST_PARTS) return NOT_KEPT
  let hash = key.length
  for (let i = 0; i < key.length; i++) {
    const part = hashOfPart(key[i])
    if (part === NOT_KEPT) return NOT_KEPT
    hash = Math.imul(hash, 31) + part
  }
  return Math.imul(hash ^ (hash >>> 15), 0x85ebca6b) | 1
}

function hashOfPart(part: unknown): number {
  if (typeof part === 'number') {
    const mixed = Math.imul(part, 0x9e3779b1)
    return (mixed ^ (mixed >>> 15)) | 1
  }
  if (typeof part !== 'string' || part.length > LONGEST_KEPT) return NOT_KEPT
  return hashOfText(part) | 1
}
