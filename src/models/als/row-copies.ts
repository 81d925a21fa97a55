import { copyBytes } from '../../core/copy-bytes.ts'
import { murmur3 } from '../../core/hash/murmur3.ts'
import { innerProduct } from '../../kernels/inner-product.ts'

/** Log2 of the rows that are allocated together. */
const CHUNK_SHIFT = 8
const CHUNK_MASK = 2 ** CHUNK_SHIFT - 1

/**
 * Copies of rows by key, all of one dimension, at most a given number: open addressing with linear
 * probing, keys and rows in a few large arrays. A Map needs a string for each look-up and an array for
 * each row, which takes three times as long.
 */
export class RowCopies {
  private readonly capacity: number
  private readonly mask: number
  /** By slot: hash, number of the copy + 1; 0 = empty. At most half of the slots are used. */
  private readonly index: Int32Array
  /** By copy: where its key ends; it begins where the one before ends. */
  private readonly keyEnds: Int32Array
  private keys = new Uint8Array(1024)
  private readonly chunks: Float32Array[] = []
  private dimension = 0
  private count = 0

  /** `capacity`: most copies. */
  constructor(capacity: number) {
    const slots = 2 ** Math.ceil(Math.log2(2 * capacity))
    this.capacity = capacity
    this.mask = slots - 1
    this.index = new Int32Array(2 * slots)
    this.keyEnds = new Int32Array(capacity)
  }

  /** Number of the copy of a key; -1 where there is none. */
  find(key: Uint8Array, start: number, length: number): number {
    const { index, mask } = this
    const hash = murmur3(key, start, length) | 0
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const copy = index[2 * slot + 1]! - 1
      if (copy < 0) return -1
      if (index[2 * slot] === hash && this.hasKey(copy, key, start, length)) return copy
    }
  }

  /** Copies a row whose key has no copy. Returns the number of the copy, -1 when there is no room. */
  add(key: Uint8Array, start: number, length: number, row: Float32Array): number {
    if (this.count === this.capacity) return -1
    const copy = this.count++
    const hash = murmur3(key, start, length) | 0
    let slot = hash & this.mask
    while (this.index[2 * slot + 1] !== 0) slot = (slot + 1) & this.mask
    this.index[2 * slot] = hash
    this.index[2 * slot + 1] = copy + 1
    this.storeKey(copy, key, start, length)
    this.storeRow(copy, row)
    return copy
  }

  /** Inner product of two copies. */
  score(a: number, b: number): number {
    const { chunks, dimension } = this
    return innerProduct(
      chunks[a >> CHUNK_SHIFT]!,
      (a & CHUNK_MASK) * dimension,
      chunks[b >> CHUNK_SHIFT]!,
      (b & CHUNK_MASK) * dimension,
      dimension,
    )
  }

  private hasKey(copy: number, key: Uint8Array, start: number, length: number): boolean {
    const { keys, keyEnds } = this
    const keyStart = copy === 0 ? 0 : keyEnds[copy - 1]!
    if (keyEnds[copy]! - keyStart !== length) return false
    for (let i = 0; i < length; i++) if (keys[keyStart + i] !== key[start + i]) return false
    return true
  }

  private storeKey(copy: number, key: Uint8Array, start: number, length: number): void {
    const at = copy === 0 ? 0 : this.keyEnds[copy - 1]!
    const end = at + length
    if (end > this.keys.length) {
      const larger = new Uint8Array(Math.max(end, 2 * this.keys.length))
      larger.set(this.keys)
      this.keys = larger
    }
    this.keyEnds[copy] = copyBytes(key, start, this.keys, at, length)
  }

  private storeRow(copy: number, row: Float32Array): void {
    this.dimension = row.length
    const chunk = copy >> CHUNK_SHIFT
    this.chunks[chunk] ??= new Float32Array(row.length << CHUNK_SHIFT)
    this.chunks[chunk].set(row, (copy & CHUNK_MASK) * row.length)
  }
}
