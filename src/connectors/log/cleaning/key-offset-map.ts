import { murmur3 } from '../../../core/hash/murmur3.ts'

/**
 * Map of keys, as bytes, to their last offsets. It is exact: keys are compared, not only hashed. Open
 * addressing with linear probing in flat arrays, about 40 bytes and the key per entry.
 */
export class KeyOffsetMap {
  private arena = new Uint8Array(1 << 16)
  private arenaUsed = 0
  private slots = new Int32Array(1 << 12)
  private starts = new Float64Array(1 << 11)
  private lengths = new Int32Array(1 << 11)
  private hashes = new Int32Array(1 << 11)
  private offsets = new Float64Array(1 << 11)
  private used = 0

  /** Number of keys. */
  get size(): number {
    return this.used
  }

  /** Sets the offset of the key at `bytes[start, start + length)`. */
  set(bytes: Uint8Array, start: number, length: number, offset: number): void {
    const hash = murmur3(bytes, start, length) | 0
    const slot = this.find(hash, bytes, start, length)
    const entry = this.slots[slot]! - 1
    if (entry >= 0) {
      this.offsets[entry] = offset
      return
    }
    this.insert(slot, hash, bytes, start, length, offset)
  }

  /** The key's last offset, -1 when it was never set. */
  get(bytes: Uint8Array, start: number, length: number): number {
    const entry =
      this.slots[this.find(murmur3(bytes, start, length) | 0, bytes, start, length)]! - 1
    return entry < 0 ? -1 : this.offsets[entry]!
  }

  private find(hash: number, bytes: Uint8Array, start: number, length: number): number {
    const mask = this.slots.length - 1
    let slot = hash & mask
    for (;;) {
      const entry = this.slots[slot]! - 1
      if (entry < 0) return slot
      if (this.hashes[entry] === hash && this.equals(entry, bytes, start, length)) return slot
      slot = (slot + 1) & mask
    }
  }

  private equals(entry: number, bytes: Uint8Array, start: number, length: number): boolean {
    if (this.lengths[entry] !== length) return false
    const at = this.starts[entry]!
    for (let i = 0; i < length; i++) if (this.arena[at + i] !== bytes[start + i]) return false
    return true
  }

  private insert(
    slot: number,
    hash: number,
    bytes: Uint8Array,
    start: number,
    length: number,
    offset: number,
  ): void {
    if (this.arenaUsed + length > this.arena.length) this.growArena(length)
    this.arena.set(bytes.subarray(start, start + length), this.arenaUsed)
    const entry = this.used++
    this.starts[entry] = this.arenaUsed
    this.lengths[entry] = length
    this.hashes[entry] = hash
    this.offsets[entry] = offset
    this.arenaUsed += length
    this.slots[slot] = entry + 1
    if (this.used === this.starts.length) this.grow()
  }

  private growArena(length: number): void {
    const grown = new Uint8Array(Math.max(this.arena.length * 2, this.arenaUsed + length))
    grown.set(this.arena)
    this.arena = grown
  }

  private grow(): void {
    const capacity = this.starts.length * 2
    this.starts = copyInto(new Float64Array(capacity), this.starts)
    this.offsets = copyInto(new Float64Array(capacity), this.offsets)
    this.lengths = copyInto(new Int32Array(capacity), this.lengths)
    this.hashes = copyInto(new Int32Array(capacity), this.hashes)
    this.slots = new Int32Array(capacity * 2)
    const mask = this.slots.length - 1
    for (let entry = 0; entry < this.used; entry++) {
      let slot = this.hashes[entry]! & mask
      while (this.slots[slot] !== 0) slot = (slot + 1) & mask
      this.slots[slot] = entry + 1
    }
  }
}

function copyInto<A extends Float64Array | Int32Array>(target: A, source: A): A {
  target.set(source)
  return target
}
