import type { ScoredKey } from '../wire/model-reader.ts'

const decoder = new TextDecoder()

/** What a top-k query wants. */
export interface TopKQuery {
  /** [dimension] */
  readonly vector: Float32Array
  readonly k: number
  readonly suffix: Uint8Array
  /** Keys never returned, as latin1 text. */
  readonly exclude: ReadonlySet<string>
}

/**
 * The k best rows of one query so far: a binary min-heap of scores, the keys copied beside it,
 * because a row's number may belong to another key a moment later.
 */
export class TopKHeap {
  readonly query: TopKQuery
  /** Scores must be greater to enter: the least of a full heap, else minus infinity. */
  threshold = Number.NEGATIVE_INFINITY
  private size = 0
  private readonly scores: Float64Array
  private readonly places: Int32Array
  private readonly keys: Uint8Array
  private readonly lengths: Int32Array
  /** Hashes of the keys, so that a look-up reads little; with fewer than k rows, places 0 to size - 1 are taken. */
  private readonly hashes: Int32Array
  private readonly maxKeyBytes: number

  constructor(query: TopKQuery, maxKeyBytes: number) {
    this.query = query
    this.maxKeyBytes = maxKeyBytes
    this.scores = new Float64Array(query.k)
    this.places = Int32Array.from({ length: query.k }, (_, i) => i)
    this.keys = new Uint8Array(query.k * maxKeyBytes)
    this.lengths = new Int32Array(query.k)
    this.hashes = new Int32Array(query.k)
  }

  /** Whether the query wants rows with this key at all. */
  accepts(bytes: Uint8Array, at: number, length: number): boolean {
    const { suffix, exclude } = this.query
    const from = at + length - suffix.length
    if (from < at) return false
    for (let i = 0; i < suffix.length; i++) if (bytes[from + i] !== suffix[i]) return false
    if (exclude.size === 0) return true
    return !exclude.has(Buffer.from(bytes.buffer, bytes.byteOffset + at, length).toString('latin1'))
  }

  /**
   * Enters a row whose score is greater than the threshold; a key that is there already (its row was
   * met twice because it moved) gets the new score.
   */
  offer(score: number, bytes: Uint8Array, at: number, length: number): void {
    if (score <= this.threshold) return
    const hash = hashOf(bytes, at, length)
    const known = this.indexOf(bytes, at, length, hash)
    if (known >= 0) {
      if (this.scores[known] !== score) this.rescore(known, score)
    } else this.enter(score, bytes, at, length, hash)
    if (this.size === this.query.k) this.threshold = this.scores[0]!
  }

  private indexOf(bytes: Uint8Array, at: number, length: number, hash: number): number {
    for (let place = 0; place < this.size; place++) {
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
      i = this.siftDown(score)
    }
    this.scores[i] = score
    this.places[i] = place
    const to = place * this.maxKeyBytes
    for (let n = 0; n < length; n++) this.keys[to + n] = bytes[at + n]!
    this.lengths[place] = length
    this.hashes[place] = hash
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

  /** Scores descending, equal ones by key. */
  results(): ScoredKey[] {
    const results: ScoredKey[] = []
    for (let i = 0; i < this.size; i++) {
      const place = this.places[i]!
      const from = place * this.maxKeyBytes
      const key = decoder.decode(this.keys.subarray(from, from + this.lengths[place]!))
      results.push({ key, score: this.scores[i]! })
    }
    return results.sort((a, b) => b.score - a.score || (a.key < b.key ? -1 : 1))
  }
}

function hashOf(bytes: Uint8Array, at: number, length: number): number {
  let hash = 0
  for (let i = at; i < at + length; i++) hash = (Math.imul(hash, 31) + bytes[i]!) | 0
  return hash
}
