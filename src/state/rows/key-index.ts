import {
  CONTROL_INDEX_ADDRESS,
  CONTROL_INDEX_EPOCH,
  CONTROL_INDEX_MASK,
  CONTROL_INDEX_SHIFT,
  INDEX_MULTIPLIER,
} from './layout.ts'
import type { RowTableMemory } from './memory.ts'

const FIRST_CAPACITY_SHIFT = 7
/** Old entries moved per insertion while a larger index is built. */
const MOVES_PER_INSERT = 16
/** Words of a larger index touched per insertion, before entries are moved to it. */
const TOUCHED_PER_INSERT = 4096

/** One array of index entries. */
interface IndexArray {
  readonly address: number
  /** First slot of a hash = imul(hash, multiplier) >>> shift. */
  readonly shift: number
  readonly mask: number
}

/**
 * The writer's side of a row table's index (drawn in `layout.ts`). It grows without a pause: once it is
 * half full, an array of double size is touched (see `RowTableMemory.touch`) and then built beside it,
 * some entries with every insertion, and published when it is complete. While it is built both get every
 * change. Deletion moves later entries back (no tombstones, so that evictions never slow the index down).
 * Readers that missed check the index epoch again and retry when it changed.
 */
export class RowTableIndex {
  private readonly memory: RowTableMemory
  private current: IndexArray
  /** A larger array without entries, of which `touched` words are touched. */
  private untouched: IndexArray | undefined
  private touched = 0
  /** The larger array, to which the entries of `moved` slots are moved. */
  private next: IndexArray | undefined
  private moved = 0
  private count = 0

  constructor(memory: RowTableMemory) {
    this.memory = memory
    this.current = this.createArray(32 - FIRST_CAPACITY_SHIFT)
    this.publish()
  }

  /** Bytes of the array, and of the larger one. */
  get bytes(): number {
    const larger = this.untouched ?? this.next
    return (this.current.mask + 1 + (larger === undefined ? 0 : larger.mask + 1)) * 8
  }

  /** Address of the array that readers use, in words; shift and mask belong to it. */
  get address(): number {
    return this.current.address
  }

  get shift(): number {
    return this.current.shift
  }

  get mask(): number {
    return this.current.mask
  }

  /** Enters a row that is not in the index. */
  insert(hash: number, row: number): void {
    const isFull = (this.count + 1) * 2 > this.current.mask + 1
    if (isFull && this.next === undefined) this.prepareGrowth()
    this.insertInto(this.current, hash, row)
    this.count++
    if (this.next !== undefined) {
      this.insertInto(this.next, hash, row)
      this.moveSome(this.next)
    }
  }

  /** Removes a row. Readers that probe meanwhile notice it by the index epoch. */
  remove(hash: number, row: number): void {
    this.beginMove()
    this.removeFrom(this.current, hash, row)
    if (this.next !== undefined) this.removeFrom(this.next, hash, row)
    this.endMove()
    this.count--
  }

  /**
   * Makes the index of an empty table as large as `rows` will need, so that it need not grow (every
   * row is entered about five times on the way up). Does nothing when the table has rows.
   */
  reserve(rows: number): void {
    const isGrowing = this.untouched !== undefined || this.next !== undefined
    if (this.count > 0 || isGrowing || rows * 2 <= this.current.mask + 1) return
    const old = this.current
    this.current = this.createArray(Math.max(1, Math.clz32(rows * 2 - 1)))
    this.memory.touch(this.current.address, (this.current.mask + 1) * 2)
    this.publish()
    this.memory.release(old.address, (old.mask + 1) * 2)
  }

  /** Makes readers whose look-up just missed try again. */
  bumpEpoch(): void {
    Atomics.add(this.memory.words, CONTROL_INDEX_EPOCH, 2)
  }

  private beginMove(): void {
    Atomics.add(this.memory.words, CONTROL_INDEX_EPOCH, 1)
  }

  private endMove(): void {
    Atomics.add(this.memory.words, CONTROL_INDEX_EPOCH, 1)
  }

  private createArray(shift: number): IndexArray {
    const capacity = 2 ** (32 - shift)
    return { address: this.memory.allocateUntouched(capacity * 2), shift, mask: capacity - 1 }
  }

  private prepareGrowth(): void {
    this.untouched ??= this.createArray(this.current.shift - 1)
    const { address, mask } = this.untouched
    const count = Math.min(TOUCHED_PER_INSERT, (mask + 1) * 2 - this.touched)
    this.memory.touch(address + this.touched, count)
    this.touched += count
    if (this.touched < (mask + 1) * 2) return
    this.next = this.untouched
    this.untouched = undefined
    this.touched = 0
    this.moved = 0
  }

  private moveSome(next: IndexArray): void {
    const { address, mask } = this.current
    const end = Math.min(this.moved + MOVES_PER_INSERT, mask + 1)
    for (; this.moved < end; this.moved++) {
      const words = this.memory.words
      const row = words[address + 2 * this.moved + 1]!
      if (row !== 0) this.insertAbsent(next, words[address + 2 * this.moved]!, row - 1)
    }
    if (this.moved <= mask) return
    const old = this.current
    this.current = next
    this.next = undefined
    this.publish()
    this.memory.release(old.address, (old.mask + 1) * 2)
  }

  private publish(): void {
    this.beginMove()
    const words = this.memory.words
    words[CONTROL_INDEX_ADDRESS] = this.current.address
    words[CONTROL_INDEX_SHIFT] = this.current.shift
    words[CONTROL_INDEX_MASK] = this.current.mask
    this.endMove()
  }

  private insertInto(array: IndexArray, hash: number, row: number): void {
    const words = this.memory.words
    let slot = Math.imul(hash, INDEX_MULTIPLIER) >>> array.shift
    while (words[array.address + 2 * slot + 1] !== 0) slot = (slot + 1) & array.mask
    words[array.address + 2 * slot] = hash
    Atomics.store(words, array.address + 2 * slot + 1, row + 1)
  }

  private slotOf(array: IndexArray, hash: number, row: number): number {
    const words = this.memory.words
    let slot = Math.imul(hash, INDEX_MULTIPLIER) >>> array.shift
    for (;;) {
      const found = words[array.address + 2 * slot + 1]!
      if (found === row + 1) return slot
      if (found === 0) return -1
      slot = (slot + 1) & array.mask
    }
  }

  private insertAbsent(array: IndexArray, hash: number, row: number): void {
    if (this.slotOf(array, hash, row) < 0) this.insertInto(array, hash, row)
  }

  /**
   * Deletion by shifting back (Knuth, TAOCP 3, 6.4, algorithm R). An entry that jumps from the part
   * of the array that growth has not copied yet into the part that it has is copied at once.
   */
  private removeFrom(array: IndexArray, hash: number, row: number): void {
    const words = this.memory.words
    const { address, mask, shift } = array
    let hole = this.slotOf(array, hash, row)
    if (hole < 0) return
    for (let slot = (hole + 1) & mask; ; slot = (slot + 1) & mask) {
      const entry = words[address + 2 * slot + 1]!
      if (entry === 0) break
      const entryHash = words[address + 2 * slot]!
      const home = Math.imul(entryHash, INDEX_MULTIPLIER) >>> shift
      if (((slot - home) & mask) < ((slot - hole) & mask)) continue
      words[address + 2 * hole] = entryHash
      Atomics.store(words, address + 2 * hole + 1, entry)
      if (array === this.current && this.next !== undefined) {
        this.insertAbsent(this.next, entryHash, entry - 1)
      }
      hole = slot
    }
    Atomics.store(words, address + 2 * hole + 1, 0)
  }
}
