import { MISSING, type RowTableReader } from '../../state/rows/reader.ts'
import type { SparseFeatures, SparseOutcome } from '../port/query-backend.ts'
import { ENTRY, type WeightBlocks } from './weight-blocks.ts'
import { WeightLane } from './weight-lane.ts'

/** Features with larger ids are summed block by block: their addresses could pass 2^31. */
const LARGEST_ID = 2 ** 31 - 2 ** 17

/**
 * Sums at most `GATHERED` (`weight-lane.ts`) features in steps: all addresses; then, in a kernel over
 * each table, all sequence words, all weights, and the sequence words again. Each step is a short loop
 * whose memory accesses do not wait for each other. Feature by feature they would wait, and a prediction
 * would take several times as long.
 */
export class WeightGather {
  readonly blocks: WeightBlocks
  sum = 0
  /** Features without a weight (`isWeightless`); the constant feature is not summed here. */
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

  /** Releases the scratch areas of `run`. Call it in the same turn of the event loop. */
  close(): void {
    for (let n = 0; n < this.lanes.length; n++) this.lanes[n]!.close()
  }

  /**
   * Sums features `from` to `to` - 1 into `sum` and `weightless`. False when a block is not in memory or
   * changes meanwhile; the caller then sums these features block by block.
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
      recordRows(lane, outcome)
    }
    return true
  }

  /** Finds the address of every weight; false when one is not in memory. */
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
      // `run` has checked that ids are below 2^31: int32 arithmetic is several times faster here.
      const id = ids[k]! | 0
      if (id >= end) {
        const block = (id / dimension) | 0
        const at = blocks.entryFor(block)
        // The block may be missing, spilled or restoring: summing block by block finds out.
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

function recordRows({ rowNumbers, rows, reader }: WeightLane, outcome: SparseOutcome): void {
  if (outcome.withPosition) for (let j = 0; j < rows; j++) outcome.record(reader, rowNumbers[j]!)
  else outcome.record(reader, MISSING)
}
