import { BIAS_FEATURE, isWeightless } from '../../core/feature.ts'
import { MISSING, RESTORING, type RowTableReader, STUCK } from '../../state/rows/reader.ts'
import { DEFERRED } from '../../wire/frame.ts'
import { OK, statusOf } from '../../wire/status.ts'
import type { ReadStatus, SparseFeatures, SparseOutcome } from '../port/query-backend.ts'
import type { HotWeightsOfVersions } from './hot-weights-of-versions.ts'
import { ENTRY, WeightBlocks, type WeightTables } from './weight-blocks.ts'
import { GATHERED, WeightLane } from './weight-lane.ts'

const UNKNOWN_KEY = statusOf('UNKNOWN_KEY')
const RESTORING_STATUS = statusOf('RESTORING')
/** How often a block is summed again because its row changed meanwhile. */
const ATTEMPTS = 64

/** The request of a sparse product. */
export interface SparseTerms {
  /** The status of a key that no table has: UNKNOWN_KEY when it really does not exist. */
  statusOfMissing(reader: RowTableReader | undefined, hash: number): ReadStatus
  /**
   * The status of a block that is not in memory; `isStuck`: its row was in the middle of a write in every attempt.
   * @default DEFERRED: its slot is asked
   */
  statusOfSpilled?(isStuck: boolean): ReadStatus
  /** Upper bound of the age of a slot's answers in ms, -1 if unknown. */
  ageOf(slot: number): number
}

/**
 * Sparse products in place: the thread that received a request sums its features block by block, from
 * the rows in shared memory. A block whose row changes meanwhile is summed again, so the part of each
 * block is of one moment; parts of different blocks may be of different moments.
 */
export class LocalSparseDot {
  private readonly gathers = new WeakMap<WeightTables, WeightGather>()
  private readonly hotWeights: HotWeightsOfVersions | undefined
  private partial = 0
  private weightless = 0

  /** `hotWeights`: copies of weights, where blocks may be spilled. */
  constructor(hotWeights?: HotWeightsOfVersions) {
    this.hotWeights = hotWeights
  }

  /** Sums the features' weights; see `ReadGroup.sparseDot`. */
  run(
    tables: WeightTables,
    dimension: number,
    features: SparseFeatures,
    terms: SparseTerms,
    outcome: SparseOutcome,
  ): ReadStatus {
    const gather = this.gatherOf(tables)
    outcome.open()
    const rest = this.hotWeights?.of(tables)?.take(features, outcome) ?? features
    try {
      const status = this.sumAll(gather, dimension, rest, terms, outcome)
      outcome.ageMs = terms.ageOf(outcome.slot)
      return status
    } finally {
      gather.close()
    }
  }

  private sumAll(
    gather: WeightGather,
    dimension: number,
    features: SparseFeatures,
    terms: SparseTerms,
    outcome: SparseOutcome,
  ): ReadStatus {
    const { ids, count } = features
    const { blocks } = gather
    // The constant feature is summed block by block: there it never counts as unknown.
    const plain = count > 0 && ids[count - 1] === BIAS_FEATURE ? count - 1 : count
    for (let from = 0; from < plain; ) {
      const to = Math.min(plain, from + GATHERED)
      if (gather.run(features, from, to, dimension, outcome)) {
        outcome.add(gather.sum, gather.weightless)
      } else {
        const status = this.byBlock(blocks, features, from, to, dimension, terms, outcome)
        if (status !== OK) return status
      }
      from = to
    }
    return this.byBlock(blocks, features, plain, count, dimension, terms, outcome)
  }

  /** Sums features `start` to `end` - 1, one block after the other. */
  private byBlock(
    blocks: WeightBlocks,
    features: SparseFeatures,
    start: number,
    end: number,
    dimension: number,
    terms: SparseTerms,
    outcome: SparseOutcome,
  ): ReadStatus {
    const { ids } = features
    for (let from = start; from < end; ) {
      const block = Math.floor(ids[from]! / dimension)
      const first = block * dimension
      const to = endOfBlock(ids, from, end, first + dimension)
      const row = this.sumBlock(blocks, block, first, features, from, to)
      if (row >= 0) {
        outcome.add(this.partial, this.weightless)
        outcome.record(blocks.reader!, row)
      } else {
        const status = statusOfMiss(row, blocks, terms)
        if (status !== UNKNOWN_KEY) return status
        outcome.add(0, to - from - (ids[to - 1] === BIAS_FEATURE ? 1 : 0))
      }
      from = to
    }
    return OK
  }

  private gatherOf(tables: WeightTables): WeightGather {
    let gather = this.gathers.get(tables)
    if (gather === undefined) {
      gather = new WeightGather(new WeightBlocks(tables))
      this.gathers.set(tables, gather)
    }
    gather.refresh()
    return gather
  }

  /**
   * Sums the features of one block into `partial` and counts those without a weight. Returns the
   * block's row, or why there is none.
   */
  private sumBlock(
    blocks: WeightBlocks,
    block: number,
    first: number,
    { ids, values }: SparseFeatures,
    from: number,
    to: number,
  ): number {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const row = attempt === 0 ? blocks.recall(block) : blocks.lookUp(block)
      if (row < 0) return row
      const reader = blocks.reader!
      const weights = reader.block
      const base = reader.floatsOf(row) - first
      let sum = 0
      let weightless = 0
      for (let k = from; k < to; k++) {
        const weight = weights[base + ids[k]!]!
        if (isWeightless(ids[k]!, weight)) weightless++
        sum += weight * values[k]!
      }
      this.partial = sum
      this.weightless = weightless
      if (reader.unchanged(row, blocks.sequence)) return row
    }
    return STUCK
  }
}

function statusOfMiss(row: number, blocks: WeightBlocks, terms: SparseTerms): ReadStatus {
  if (row === MISSING) return terms.statusOfMissing(blocks.reader, blocks.hash)
  if (row === RESTORING) return RESTORING_STATUS
  return terms.statusOfSpilled?.(row === STUCK) ?? DEFERRED
}

/** The first feature with this id or a higher one, at most `end`. */
function endOfBlock(ids: Uint32Array, from: number, end: number, id: number): number {
  let to = from + 1
  while (to < end && ids[to]! < id) to++
  return to
}

/** Features with larger ids are summed block by block: their addresses could pass 2^31. */
const LARGEST_ID = 2 ** 31 - 2 ** 17

/**
 * Sums at most `GATHERED` (`weight-lane.ts`) features in steps: all addresses; then, in a kernel over
 * each table, all sequence words, all weights, and the sequence words again. Each step is a short loop
 * whose memory accesses do not wait for each other. Feature by feature they would wait, and a prediction
 * would take several times as long.
 */
class WeightGather {
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
