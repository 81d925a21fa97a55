import {
  CONTROL_MEANS,
  MEAN_CHECKPOINT,
  MEAN_COUNT,
  MEAN_SEQUENCE,
  MEAN_SLOTS,
  MEAN_SUMS,
} from '../rows/layout.ts'
import type { RowTableMemory } from '../rows/memory.ts'

/**
 * Sums (float64) and number of all rows of one table, in its shared memory, so that readers can
 * merge the means of several slots; kept live, and as they were at up to three checkpoints.
 */
export class VectorMean {
  private readonly arena: RowTableMemory
  private readonly dimension: number
  private readonly address: number
  private readonly slotWords: number

  constructor(arena: RowTableMemory, dimension: number) {
    this.arena = arena
    this.dimension = dimension
    this.slotWords = MEAN_SUMS + 2 * dimension
    this.address = arena.allocate(this.slotWords * MEAN_SLOTS)
    arena.words[CONTROL_MEANS] = this.address
  }

  /** Begins a change: readers retry until `end`. */
  begin(): void {
    Atomics.add(this.arena.words, this.address + MEAN_SEQUENCE, 1)
  }

  end(): void {
    Atomics.add(this.arena.words, this.address + MEAN_SEQUENCE, 1)
  }

  /** Writes the floats of a new row to `at` and counts it, in one pass. */
  write(at: number, vector: Float32Array): void {
    const { floats, doubles } = this.arena
    const sums = (this.address + MEAN_SUMS) >> 1
    for (let i = 0; i < vector.length; i++) {
      const value = vector[i]!
      floats[at + i] = value
      doubles[sums + i]! += value
    }
    doubles[(this.address + MEAN_COUNT) >> 1]! += 1
  }

  /** Writes other floats to the counted row at `at`, in one pass. */
  overwrite(at: number, vector: Float32Array): void {
    const { floats, doubles } = this.arena
    const sums = (this.address + MEAN_SUMS) >> 1
    for (let i = 0; i < vector.length; i++) {
      const value = vector[i]!
      doubles[sums + i]! += value - floats[at + i]!
      floats[at + i] = value
    }
  }

  /** Counts rows whose floats were summed elsewhere, [dimension]. */
  addSums(rows: number, rowSums: Float64Array): void {
    const { doubles } = this.arena
    const sums = (this.address + MEAN_SUMS) >> 1
    for (let i = 0; i < this.dimension; i++) doubles[sums + i]! += rowSums[i]!
    doubles[(this.address + MEAN_COUNT) >> 1]! += rows
  }

  /** Subtracts the row whose floats are at `from`. */
  subtract(from: number): void {
    const { floats, doubles } = this.arena
    const sums = (this.address + MEAN_SUMS) >> 1
    for (let i = 0; i < this.dimension; i++) doubles[sums + i]! -= floats[from + i]!
    doubles[(this.address + MEAN_COUNT) >> 1]! -= 1
  }

  /** Rows counted now. */
  get count(): number {
    return this.arena.doubles[(this.address + MEAN_COUNT) >> 1]!
  }

  /** Keeps the sums as those of a checkpoint, in place of the oldest one other than `completed`. */
  keep(checkpointId: number, completed: number): void {
    const words = this.arena.words
    let oldest = -1
    let oldestId = 0
    for (let slot = 1; slot < MEAN_SLOTS; slot++) {
      const id = words[this.address + slot * this.slotWords + MEAN_CHECKPOINT]!
      if (id !== 0 && id === completed) continue
      if (oldest >= 0 && id >= oldestId) continue
      oldest = slot
      oldestId = id
    }
    const target = this.address + oldest * this.slotWords
    Atomics.add(words, target + MEAN_SEQUENCE, 1)
    words[target + MEAN_CHECKPOINT] = checkpointId
    words.copyWithin(target + MEAN_COUNT, this.address + MEAN_COUNT, this.address + this.slotWords)
    Atomics.add(words, target + MEAN_SEQUENCE, 1)
  }
}
