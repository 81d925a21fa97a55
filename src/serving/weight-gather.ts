import { MISSING, type RowTableReader } from '../state/row-table-reader.ts'
import type { SparseFeatures, SparseOutcome } from './query-backend.ts'
import { ENTRY, type WeightBlocks } from './weight-blocks.ts'
import { WeightLane } from './weight-lane.ts'

/** Larger ids go block by block; no id before it passes 2^31 with the features of its block. */
const LARGEST_ID = 2 ** 31 - 2 ** 17

/**
 * Sums a piece of at most `GATHERED` (`weight-lane.ts`) features in steps: all addresses, then, in a
 * kernel over each table, all sequence words, all weights, the sequence words again. Each step is a
 * short loop whose trips to memory do not wait for each other; feature by feature they would, and a
 * prediction would take several times as long.
 */
export class WeightGather {
  readonly blocks: WeightBlocks
  sum = 0
  /** Features with weight 0, which is no weight. */
  weightless = 0
  private readers: readonly RowTableReader[] = []
  /** One for each reader. */
  private lanes: readonly WeightLane[] = []

  constructor(blocks: WeightBlocks) {
    this.blocks = blocks
  }

  /** Follows the version's tables. */
  refresh(): void {
    const { readers } = this.blocks.refresh()
    if (readers === this.readers) return
    this.readers = readers
    this.lanes = readers.map((reader) => new WeightLane(reader))
  }

  /** Gives back what `run` took; to be called in the same turn of the event loop. */
  close(): void {
    for (let n = 0; n < this.lanes.length; n++) this.lanes[n]!.close()
  }

  /**
   * Sums features `from` to `to` - 1 into `sum` and `weightless`. False when a block is not in memory
   * or changes meanwhile: the piece is then to be summed block by block.
   */
  run(
    features: SparseFeatures,
    from: number,
    to: number,
    dimension: number,
    outcome: SparseOutcome,
  ): boolean {
    this.sum = 0
    this.weightless = 0
    if (features.ids[to - 1]! > LARGEST_ID || !this.locate(features, from, to, dimension))
      return false
    for (let n = 0; n < this.lanes.length; n++) {
      const lane = this.lanes[n]!
      if (lane.features === 0) continue
      this.sum += lane.sum()
      const weightless = lane.weightless()
      if (weightless < 0) return false
      this.weightless += weightless
      lane.reader.reference(lane.headerList, lane.rows)
      noteRows(lane, outcome)
    }
    return true
  }

  /** Finds where every weight lies. */
  private locate(
    { ids, values }: SparseFeatures,
    from: number,
    to: number,
    dimension: number,
  ): boolean {
    const { lanes, blocks } = this
    const { entries } = blocks
    for (let n = 0; n < lanes.length; n++) {
      lanes[n]!.features = 0
      lanes[n]!.rows = 0
    }
    let lane = lanes[0]!
    let { addressList, valueList } = lane
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
        if (!lane.open()) return false
        addressList = lane.addressList
        valueList = lane.valueList
        const first = Math.imul(block, dimension)
        end = first + dimension
        base = entries[at + ENTRY.weights]! - first
        const n = lane.rows++
        lane.headerList[n] = entries[at + ENTRY.header]!
        lane.sequenceList[n] = entries[at + ENTRY.sequence]!
        lane.rowNumbers[n] = entries[at + ENTRY.row]!
      }
      const n = lane.features++
      addressList[n] = (base + id) | 0
      valueList[n] = values[k]!
    }
    return true
  }
}

function noteRows({ rowNumbers, rows, reader }: WeightLane, outcome: SparseOutcome): void {
  if (outcome.withPosition) for (let j = 0; j < rows; j++) outcome.note(reader, rowNumbers[j]!)
  else outcome.note(reader, MISSING)
}
