import { innerProduct } from '../../core/kernels/inner-product.ts'
import { RankedKeys } from '../port/ranked-keys.ts'
import { type ExcludedKeys, hashOfKey } from './excluded-keys.ts'
import { boosted } from './tag-boosts.ts'
import type { TagFilter } from './tag-filter.ts'

/** A top-k query. */
export interface TopKQuery {
  /** [dimension] */
  readonly vector: Float32Array
  readonly k: number
  readonly suffix: Uint8Array
  /** Keys never returned. */
  readonly exclude: ExcludedKeys
  /** Scores are divided by the norm of the first so many floats of the row. @default they are not */
  readonly normColumns?: number
  /** Tags that a row must and must not have, and that boost it. @default any, and none does */
  readonly tags?: TagFilter
}

/**
 * The k best rows of one query so far: a binary min-heap of scores, with copies of the keys, because a
 * row's number can soon belong to another key.
 */
export class TopKHeap {
  query: TopKQuery
  /** Longest key that fits. */
  readonly maxKeyBytes: number
  /** A score must be greater to enter: the lowest score of a full heap, otherwise minus infinity. */
  threshold = Number.NEGATIVE_INFINITY
  /** No row with a score up to this one, boosts left out, can enter: the threshold where no tag boosts rows. */
  bound = Number.NEGATIVE_INFINITY
  private size = 0
  private readonly scores: Float64Array
  private readonly places: Int32Array
  private readonly keys: Uint8Array
  private readonly lengths: Int32Array
  /** Hashes of the keys. With fewer than k rows, places 0 to size - 1 are in use. */
  private readonly hashes: Int32Array
  /** Places by hash: the first place of each chain plus one, 0 for none. */
  private readonly chains: Int32Array
  /** The next place of the chain plus one, 0 at its end. */
  private readonly following: Int32Array
  /** Numbers of the rows, the best one first, when the heap is used up. */
  private readonly order: Int32Array

  constructor(query: TopKQuery, maxKeyBytes: number) {
    this.query = query
    this.maxKeyBytes = maxKeyBytes
    const capacity = 1 << (32 - Math.clz32(query.k - 1))
    this.scores = new Float64Array(capacity)
    this.places = new Int32Array(capacity)
    this.keys = new Uint8Array(capacity * maxKeyBytes)
    this.lengths = new Int32Array(capacity)
    this.hashes = new Int32Array(capacity)
    this.following = new Int32Array(capacity)
    this.order = new Int32Array(capacity)
    this.chains = new Int32Array(2 * capacity)
    this.reset(query)
  }

  /** Whether `reset` may be called with such a query, and does not clear much more than it needs. */
  suits({ k }: TopKQuery, maxKeyBytes: number): boolean {
    const capacity = this.scores.length
    return k <= capacity && 2 * k > capacity && maxKeyBytes === this.maxKeyBytes
  }

  /** Whether it has k rows. */
  get isFull(): boolean {
    return this.size === this.query.k
  }

  /** Empties the heap, for another query. */
  reset(query: TopKQuery): void {
    this.query = query
    this.threshold = Number.NEGATIVE_INFINITY
    this.bound = Number.NEGATIVE_INFINITY
    this.size = 0
    this.chains.fill(0)
    for (let i = 0; i < query.k; i++) this.places[i] = i
  }

  /** Whether rows with this key may be results; its tags are looked up. */
  accepts(bytes: Uint8Array, at: number, length: number): boolean {
    const { tags } = this.query
    return this.names(bytes, at, length) && (tags?.accepts(bytes, at, length) ?? true)
  }

  /** As `accepts`, whatever tags the key has. */
  names(bytes: Uint8Array, at: number, length: number): boolean {
    const { suffix, exclude } = this.query
    const from = at + length - suffix.length
    if (from < at) return false
    for (let i = 0; i < suffix.length; i++) if (bytes[from + i] !== suffix[i]) return false
    return !exclude.has(bytes, at, length)
  }

  /**
   * Enters a row if its score is greater than the threshold. A key that the heap has already gets the new
   * score: a row that moves during the pass is read twice.
   */
  offer(score: number, bytes: Uint8Array, at: number, length: number): void {
    // Not a number is no score: it would have no place among the others.
    if (!(score > this.threshold)) return
    const hash = hashOfKey(bytes, at, length)
    const known = this.indexOf(bytes, at, length, hash)
    if (known >= 0) {
      if (this.scores[known] !== score) this.rescore(known, score)
    } else this.enter(score, bytes, at, length, hash)
    if (this.size < this.query.k) return
    this.threshold = this.scores[0]!
    this.bound = this.query.tags?.boosts?.boundOf(this.threshold) ?? this.threshold
  }

  /** Enters a row that is no part of a table any more. */
  offerRow(row: Float32Array, key: Uint8Array): void {
    const { vector, normColumns = 0 } = this.query
    const dot = innerProduct(row, 0, vector, 0, vector.length)
    const squares = innerProduct(row, 0, row, 0, normColumns)
    const score = normColumns === 0 ? dot : dividedByNorm(dot, squares)
    const factor = this.query.tags?.factorOf(key, 0, key.length) ?? 1
    this.offer(boosted(score, factor), key, 0, key.length)
  }

  private indexOf(bytes: Uint8Array, at: number, length: number, hash: number): number {
    let link = this.chains[hash & (this.chains.length - 1)]!
    for (; link !== 0; link = this.following[link - 1]!) {
      const place = link - 1
      if (this.hashes[place] !== hash || this.lengths[place] !== length) continue
      const from = place * this.maxKeyBytes
      let same = 0
      while (same < length && this.keys[from + same] === bytes[at + same]) same++
      if (same === length) return this.places.indexOf(place)
    }
    return -1
  }

  /** Rebuilds the heap with another score at `index`; rare. */
  private rescore(index: number, score: number): void {
    this.scores[index] = score
    const pairs = Array.from({ length: this.size }, (_, i) => [this.scores[i]!, this.places[i]!])
    pairs.sort((a, b) => a[0]! - b[0]!)
    pairs.forEach(([value, place], i) => {
      this.scores[i] = value!
      this.places[i] = place!
    })
  }

  private enter(score: number, bytes: Uint8Array, at: number, length: number, hash: number): void {
    let i = this.size
    let place: number
    if (this.size < this.query.k) {
      place = this.places[i]!
      this.size++
      i = this.siftUp(i, score)
    } else {
      place = this.places[0]!
      this.unlink(place)
      i = this.siftDown(score)
    }
    this.scores[i] = score
    this.places[i] = place
    const to = place * this.maxKeyBytes
    for (let n = 0; n < length; n++) this.keys[to + n] = bytes[at + n]!
    this.lengths[place] = length
    this.hashes[place] = hash
    const chain = hash & (this.chains.length - 1)
    this.following[place] = this.chains[chain]!
    this.chains[chain] = place + 1
  }

  /** Takes a place out of its chain. */
  private unlink(place: number): void {
    const { chains, following } = this
    const chain = this.hashes[place]! & (chains.length - 1)
    let before = chains[chain]! - 1
    if (before === place) {
      chains[chain] = following[place]!
      return
    }
    while (following[before]! !== place + 1) before = following[before]! - 1
    following[before] = following[place]!
  }

  private siftUp(from: number, score: number): number {
    let i = from
    while (i > 0) {
      const parent = (i - 1) >> 1
      if (this.scores[parent]! <= score) break
      this.scores[i] = this.scores[parent]!
      this.places[i] = this.places[parent]!
      i = parent
    }
    return i
  }

  private siftDown(score: number): number {
    let i = 0
    for (;;) {
      let child = 2 * i + 1
      if (child >= this.size) break
      if (child + 1 < this.size && this.scores[child + 1]! < this.scores[child]!) child++
      if (this.scores[child]! >= score) break
      this.scores[i] = this.scores[child]!
      this.places[i] = this.places[child]!
      i = child
    }
    return i
  }

  /** The rows, scores descending, equal ones by the bytes of their keys. The heap is used up. */
  takeRanked(): RankedKeys {
    const { size, scores, places, order } = this
    let bytes = 0
    for (let i = 0; i < size; i++) bytes += this.lengths[places[i]!]!
    const ranked = RankedKeys.reserve(size, bytes)
    this.rank(ranked.scores)
    const { keys, ends } = ranked
    for (let i = 0, at = 0; i < size; i++) {
      const place = places[order[i]!]!
      const from = place * this.maxKeyBytes
      for (let n = 0; n < this.lengths[place]!; n++) keys[at++] = this.keys[from + n]!
      ends[i] = at
      ranked.scores[i] = scores[order[i]!]!
    }
    return ranked
  }

  /**
   * Sets `order`. The scores are sorted as plain numbers in `sorted`, which needs no call for a comparison, and each row looks for
   * its place: a heap sort of a thousand rows was longer than a turn.
   */
  private rank(sorted: Float64Array): void {
    const { size, scores, order } = this
    sorted.set(scores.subarray(0, size))
    sorted.sort()
    // The chains are not needed any more: rows with the score of each first place so far.
    const taken = this.following.fill(0, 0, size)
    for (let i = 0; i < size; i++) {
      const first = size - countNotAbove(sorted, scores[i]!)
      order[first + taken[first]!] = i
      taken[first]! += 1
    }
    for (let first = 0; first < size; first += taken[first]!) {
      if (taken[first]! > 1) order.subarray(first, first + taken[first]!).sort(this.byKey)
    }
  }

  private readonly byKey = (a: number, b: number): number =>
    this.compareKeys(this.places[a]!, this.places[b]!)

  private compareKeys(a: number, b: number): number {
    const { keys, lengths, maxKeyBytes } = this
    const length = Math.min(lengths[a]!, lengths[b]!)
    const fromA = a * maxKeyBytes
    const fromB = b * maxKeyBytes
    for (let n = 0; n < length; n++) {
      const difference = keys[fromA + n]! - keys[fromB + n]!
      if (difference !== 0) return difference
    }
    return lengths[a]! - lengths[b]!
  }
}

/** How many of the ascending numbers are not above `value`. */
function countNotAbove(sorted: Float64Array, value: number): number {
  let from = 0
  let to = sorted.length
  while (from < to) {
    const middle = (from + to) >> 1
    if (sorted[middle]! <= value) from = middle + 1
    else to = middle
  }
  return from
}

/** A product divided by a norm, given as its square; 0 for norm 0. */
export function dividedByNorm(product: number, squares: number): number {
  return squares > 0 ? product / Math.sqrt(squares) : 0
}
