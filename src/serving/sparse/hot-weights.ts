import { isWeightless } from '../../core/feature.ts'
import type { RowTableReader } from '../../state/rows/reader.ts'
import type { SparseFeatures, SparseOutcome } from '../port/query-backend.ts'

/** Places of a feature: a copy is in one of them. */
const WAYS = 4
const MOST_USES = 255

/** Position of the write that a weight came with. */
export interface WeightOrigin {
  readonly slot: number
  readonly partition: number
  readonly offset: number
}

/**
 * Copies of the weights of the features that requests have most often, in the thread that answers them. Where
 * blocks are spilled, a request otherwise needs a row for nearly every feature, because the frequent ones are in
 * all blocks; with the copies it needs those of its rare features only. A copy is as good as its row: all are
 * dropped as soon as anything is written to a table of the version.
 *
 * A feature has four places, by its hash. A newcomer takes the place that is used least, once the uses of that one
 * are worn off: each newcomer takes one off.
 */
export class HotWeights {
  /** Grows when copies are dropped. */
  generation = 0
  private readonly shift: number
  private readonly ids: Uint32Array
  private readonly weights: Float32Array
  /** Uses of a copy; 0: the place is free. */
  private readonly uses: Uint8Array
  private readonly slots: Int32Array
  private readonly partitions: Int32Array
  private readonly offsets: Float64Array
  /** What `take` leaves. */
  private readonly rest = {
    ids: new Uint32Array(0),
    values: new Float32Array(0),
    count: 0,
  }
  private readers: readonly RowTableReader[] = []
  private writes = new Int32Array(0)

  /** Room for at least `features` copies, 23 bytes each. */
  constructor(features: number) {
    const bits = Math.max(2, Math.ceil(Math.log2(features / WAYS)))
    const places = WAYS * 2 ** bits
    this.shift = 32 - bits
    this.ids = new Uint32Array(places)
    this.weights = new Float32Array(places)
    this.uses = new Uint8Array(places)
    this.slots = new Int32Array(places)
    this.partitions = new Int32Array(places)
    this.offsets = new Float64Array(places)
  }

  /** Drops all copies if a table was opened, closed or written to since the last call. */
  refresh(readers: readonly RowTableReader[]): void {
    if (readers === this.readers && this.isUnwritten()) return
    if (this.writes.length !== readers.length) this.writes = new Int32Array(readers.length)
    this.readers = readers
    for (let n = 0; n < readers.length; n++) this.writes[n] = readers[n]!.writes
    this.uses.fill(0)
    this.generation++
  }

  private isUnwritten(): boolean {
    const { readers, writes } = this
    for (let n = 0; n < readers.length; n++) if (readers[n]!.writes !== writes[n]) return false
    return true
  }

  /** Adds the features that have a copy to the outcome; returns the others, valid until the next call. */
  take({ ids, values, count }: SparseFeatures, outcome: SparseOutcome): SparseFeatures {
    const { rest, weights, uses } = this
    this.makeRoom(count)
    let [left, sum, unknown] = [0, 0, 0]
    for (let k = 0; k < count; k++) {
      const id = ids[k]!
      const place = this.placeOf(id)
      if (place < 0) {
        rest.ids[left] = id
        rest.values[left++] = values[k]!
        continue
      }
      if (uses[place]! < MOST_USES) uses[place]!++
      sum += weights[place]! * values[k]!
      if (isWeightless(id, weights[place]!)) unknown++
      outcome.recordAt(this.slots[place]!, this.partitions[place]!, this.offsets[place]!)
    }
    outcome.add(sum, unknown)
    rest.count = left
    return rest
  }

  private makeRoom(count: number): void {
    if (this.rest.ids.length >= count) return
    this.rest.ids = new Uint32Array(2 * count)
    this.rest.values = new Float32Array(2 * count)
  }

  private placeOf(id: number): number {
    const first = this.firstPlaceOf(id)
    for (let place = first; place < first + WAYS; place++) {
      if (this.ids[place] === id && this.uses[place] !== 0) return place
    }
    return -1
  }

  private firstPlaceOf(id: number): number {
    return WAYS * (Math.imul(id, 0x9e3779b1) >>> this.shift)
  }

  /** Offers a weight that was read since the last `refresh`, in the same `generation`. */
  offer(id: number, weight: number, origin: WeightOrigin): void {
    if (this.placeOf(id) >= 0) return
    const place = this.leastUsed(this.firstPlaceOf(id))
    if (this.uses[place]! > 1) {
      this.uses[place]!--
      return
    }
    this.ids[place] = id
    this.weights[place] = weight
    this.uses[place] = 1
    this.slots[place] = origin.slot
    this.partitions[place] = origin.partition
    this.offsets[place] = origin.offset
  }

  private leastUsed(first: number): number {
    let least = first
    for (let place = first + 1; place < first + WAYS; place++) {
      if (this.uses[place]! < this.uses[least]!) least = place
    }
    return least
  }
}
