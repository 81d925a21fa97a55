import { copyBytes } from '../../core/copy-bytes.ts'
import { murmur3 } from '../../core/hash/murmur3.ts'

/** Bytes before a key in the arena: its key group with its state, and its length. */
const RECORD_HEAD_BYTES = 8
const EMPTY = -1

/**
 * A set of (key group, state, key) by value: open addressing over an arena of bytes, so that a
 * million keys are not a million objects.
 */
export class KeySet {
  private slots = new Int32Array(1024).fill(EMPTY)
  private hashes = new Int32Array(1024)
  private arena = new Uint8Array(64 * 1024)
  private view = new DataView(this.arena.buffer)
  private length = 0
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
    const mask = this.slots.length - 1
    let slot = hash & mask
    while (this.slots[slot] !== EMPTY) {
      if (
        this.hashes[slot] === hash &&
        this.holds(this.slots[slot]!, place, bytes, start, length)
      ) {
        return false
      }
      slot = (slot + 1) & mask
    }
    this.slots[slot] = this.store(place, bytes, start, length)
    this.hashes[slot] = hash
    this.size += 1
    if (this.size * 2 > this.slots.length) this.growSlots()
    return true
  }

  /** Removes every key and keeps the memory. */
  clear(): void {
    this.slots.fill(EMPTY)
    this.length = 0
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
    const { slots, hashes } = this
    const mask = slots.length * 2 - 1
    this.slots = new Int32Array(slots.length * 2).fill(EMPTY)
    this.hashes = new Int32Array(slots.length * 2)
    for (let i = 0; i < slots.length; i++) {
      if (slots[i] === EMPTY) continue
      let slot = hashes[i]! & mask
      while (this.slots[slot] !== EMPTY) slot = (slot + 1) & mask
      this.slots[slot] = slots[i]!
      this.hashes[slot] = hashes[i]!
    }
  }
}
