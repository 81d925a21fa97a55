import { MISSING, type RowTableReader } from '../state/row-table-reader.ts'
import type { SparseFeatures, SparseOutcome } from './query-backend.ts'
import { ENTRY, type WeightBlocks } from './weight-blocks.ts'

/** Features that are gathered together. */
export const GATHERED = 256

/** Larger ids go block by block; no id before it passes 2^31 with the features of its block. */
const LARGEST_ID = 2 ** 31 - 2 ** 17

/** What the features of a piece ask of one table. */
class Lane {
  /** Features: address of the weight, value. */
  readonly addresses = new Int32Array(GATHERED)
  readonly values = new Float32Array(GATHERED)
  features = 0
  /** Blocks: address of the row's header, sequence word as remembered, number of the row. */
  readonly headers = new Int32Array(GATHERED)
  readonly sequences = new Int32Array(GATHERED)
  readonly rows = new Int32Array(GATHERED)
  blocks = 0
}

/**
 * Sums a piece of at most `GATHERED` features in steps: all addresses, then all sequence words, then
 * all weights, then the sequence words again. Each step is a short loop whose trips to memory do not
 * wait for each other; feature by feature they would, and a prediction would take several times as
 * long.
 */
export class WeightGather {
  sum = 0
  /** Features with weight 0, which is no weight. */
  weightless = 0
  private readonly lanes: Lane[] = []

  /**
   * Sums features `from` to `to` - 1 into `sum` and `weightless`. False when a block is not in memory
   * or changes meanwhile: the piece is then to be summed block by block.
   */
  run(
    blocks: WeightBlocks,
    features: SparseFeatures,
    from: number,
    to: number,
    dimension: number,
    outcome: SparseOutcome,
  ): boolean {
    const { readers } = blocks
    while (this.lanes.length < readers.length) this.lanes.push(new Lane())
    this.sum = 0
    this.weightless = 0
    if (features.ids[to - 1]! > LARGEST_ID || !this.locate(blocks, features, from, to, dimension))
      return false
    for (let n = 0; n < readers.length; n++) {
      const lane = this.lanes[n]!
      if (lane.features === 0) continue
      const reader = readers[n]!
      if (!hasSequences(lane, reader.memoryWords)) return false
      this.add(lane, reader.block)
      if (!isUnchanged(lane, reader)) return false
      reader.reference(lane.headers, lane.blocks)
      noteRows(lane, reader, outcome)
    }
    return true
  }

  /** Finds where every weight lies. */
  private locate(
    blocks: WeightBlocks,
    { ids, values }: SparseFeatures,
    from: number,
    to: number,
    dimension: number,
  ): boolean {
    const { lanes } = this
    const { entries, readers } = blocks
    for (let n = 0; n < readers.length; n++) {
      lanes[n]!.features = 0
      lanes[n]!.blocks = 0
    }
    let lane = lanes[0]!
    let { addresses, values: laneValues } = lane
    let end = -1
    let base = 0
    for (let k = from; k < to; k++) {
      // Below 2^31, as `run` has seen: whole numbers of 32 bits are several times faster here.
      const id = ids[k]! | 0
      if (id >= end) {
        const block = (id / dimension) | 0
        const at = blocks.known(block)
        // A block that does not exist has no weights; the slower way says whether that is certain.
        if (at < 0) return false
        lane = lanes[entries[at + ENTRY.reader]! - 1]!
        addresses = lane.addresses
        laneValues = lane.values
        const first = Math.imul(block, dimension)
        end = first + dimension
        base = entries[at + ENTRY.weights]! - first
        const n = lane.blocks++
        lane.headers[n] = entries[at + ENTRY.header]!
        lane.sequences[n] = entries[at + ENTRY.sequence]!
        lane.rows[n] = entries[at + ENTRY.row]!
      }
      const n = lane.features++
      addresses[n] = (base + id) | 0
      laneValues[n] = values[k]!
    }
    return true
  }

  private add({ addresses, values, features }: Lane, weights: Float32Array): void {
    let sum = 0
    let weightless = 0
    for (let k = 0; k < features; k++) {
      const weight = weights[addresses[k]!]!
      if (weight === 0) weightless++
      sum += weight * values[k]!
    }
    this.sum += sum
    this.weightless += weightless
  }
}

function hasSequences({ headers, sequences, blocks }: Lane, words: Int32Array): boolean {
  let differing = 0
  for (let j = 0; j < blocks; j++) {
    differing |= Atomics.load(words, headers[j]!) ^ sequences[j]!
  }
  return differing === 0
}

function isUnchanged({ headers, sequences, blocks }: Lane, reader: RowTableReader): boolean {
  let differing = 0
  for (let j = 0; j < blocks; j++) differing |= reader.sequenceOf(headers[j]!) ^ sequences[j]!
  return differing === 0
}

function noteRows({ rows, blocks }: Lane, reader: RowTableReader, outcome: SparseOutcome): void {
  if (outcome.withPosition) for (let j = 0; j < blocks; j++) outcome.note(reader, rows[j]!)
  else outcome.note(reader, MISSING)
}
