import { copyBytes } from '../../../core/copy-bytes.ts'
import { murmur3 } from '../../../core/hash/murmur3.ts'

/** Bytes before a key in the arena: its key group with its state, and its length. */
const RECORD_HEAD_BYTES = 8
/** Where the first key is in the arena: a slot with 0 is empty. */
const FIRST = 1

/**
 * A set of (key group, state, key) by value: open addressing over an arena of bytes, so that a
 * million keys are not a million objects.
 */
export class KeySet {
  /** Hash and place in the arena, beside each other: most looks wait for memory, and so do it once. */
  private slots = new Int32Array(2 * 1024)
  private arena = new Uint8Array(64 * 1024)
  private view = new DataView(this.arena.buffer)
  private length = FIRST
  /** Keys in the set. */
  size = 0

  /**
   * Adds the key `bytes[start .. start + length)`, 0 <= keyGroup, state < 2^16; false if the set had
   * it.
   */
  add(
    keyGroup: number,
    state: number,
    bytes: Uint8Array,
    start = 0,
    length: number = bytes.length,
  ): boolean {
    const key = murmur3(bytes, start, length)
    const hash = (key ^ Math.imul(state + 1, 0x9e3779b1) ^ keyGroup) | 0
    const place = (state << 16) | keyGroup | 0
    const { slots } = this
    const mask = slots.length - 1
    let slot = (hash << 1) & mask
    while (slots[slot + 1] !== 0) {
      if (slots[slot] === hash && this.holds(slots[slot + 1]!, place, bytes, start, length)) {
        return false
      }
      slot = (slot + 2) & mask
    }
    slots[slot] = hash
    slots[slot + 1] = this.store(place, bytes, start, length)
    this.size += 1
    if (this.size * 4 > slots.length) this.growSlots()
    return true
  }

  /** Removes every key and keeps the memory. */
  clear(): void {
    this.slots.fill(0)
    this.length = FIRST
    this.size = 0
  }

  private holds(
    at: number,
    place: number,
    bytes: Uint8Array,
    start: number,
    length: number,
  ): boolean {
    const { view, arena } = this
    if (view.getInt32(at, true) !== place || view.getInt32(at + 4, true) !== length) return false
    const from = at + RECORD_HEAD_BYTES
    for (let i = 0; i < length; i++) if (arena[from + i] !== bytes[start + i]) return false
    return true
  }

  private store(place: number, bytes: Uint8Array, start: number, length: number): number {
    const at = this.length
    this.reserve(at + RECORD_HEAD_BYTES + length)
    this.view.setInt32(at, place, true)
    this.view.setInt32(at + 4, length, true)
    this.length = copyBytes(bytes, start, this.arena, at + RECORD_HEAD_BYTES, length)
    return at
  }

  private reserve(needed: number): void {
    if (needed <= this.arena.length) return
    const grown = new Uint8Array(Math.max(needed, this.arena.length * 2))
    grown.set(this.arena.subarray(0, this.length))
    this.arena = grown
    this.view = new DataView(grown.buffer)
  }

  private growSlots(): void {
    const { slots } = this
    const grown = new Int32Array(slots.length * 2)
    const mask = grown.length - 1
    for (let i = 0; i < slots.length; i += 2) {
      if (slots[i + 1] === 0) continue
      let slot = (slots[i]! << 1) & mask
      while (grown[slot + 1] !== 0) slot = (slot + 2) & mask
      grown[slot] = slots[i]!
      grown[slot + 1] = slots[i + 1]!
    }
    this.slots = grown
  }
}
