import { BIAS_FEATURE } from '../core/feature.ts'
import { MISSING, RESTORING, type RowTableReader } from '../state/row-table-reader.ts'
import { DEFERRED } from '../wire/frame.ts'
import { OK, statusOf } from '../wire/status.ts'
import type { LocalSide, LocalVersion } from './local-catalog.ts'
import type { ReadStatus, SparseFeatures, SparseOutcome } from './query-backend.ts'
import { WeightBlocks } from './weight-blocks.ts'

const UNKNOWN_KEY = statusOf('UNKNOWN_KEY')
const RESTORING_STATUS = statusOf('RESTORING')
/** How often a block is summed again because its row changed meanwhile. */
const ATTEMPTS = 64

/** What a sparse product needs to know of the request that it belongs to. */
export interface SparseTerms {
  /** What is said of a key that no table has: UNKNOWN_KEY when it really does not exist. */
  statusOfAbsent(side: LocalSide, reader: RowTableReader | undefined, hash: number): ReadStatus
  /** Upper bound of the age of a slot's answers in ms, -1 if unknown. */
  ageOf(slot: number): number
}

/**
 * Sparse products in place: the features of a request are summed block by block out of the rows where
 * they lie, in the thread that received the request. A block whose row changes under its sum is
 * summed again, so each block's part is of one moment; blocks may be of different ones.
 */
export class LocalSparseDot {
  private readonly blocks = new WeakMap<LocalVersion, WeightBlocks>()
  private lastVersion: LocalVersion | undefined
  private lastBlocks: WeightBlocks | undefined
  private partial = 0
  private weightless = 0

  /** Sums the features' weights; see `ReadGroup.sparseDot`. */
  run(
    version: LocalVersion,
    features: SparseFeatures,
    terms: SparseTerms,
    outcome: SparseOutcome,
  ): ReadStatus {
    const blocks = this.blocksOf(version)
    const { ids, count } = features
    const { dimension } = version.side
    outcome.open()
    for (let from = 0; from < count; ) {
      const block = Math.floor(ids[from]! / dimension)
      const first = block * dimension
      let row = blocks.find(block)
      let to = -1
      for (let attempt = 0; row >= 0 && attempt < ATTEMPTS; attempt++) {
        to = this.sumBlock(features, from, first, dimension, blocks.reader!, row)
        if (blocks.reader!.unchanged(row, blocks.sequence)) break
        to = -1
        row = blocks.find(block)
      }
      if (to >= 0) {
        outcome.add(this.partial, this.weightless)
        outcome.note(blocks.reader!, row)
      } else {
        const status = statusOfMiss(row, version, blocks, terms)
        if (status !== UNKNOWN_KEY) return status
        to = endOfBlock(features, from, first + dimension)
        const ofBias = ids[to - 1] === BIAS_FEATURE ? 1 : 0
        outcome.add(0, to - from - ofBias)
      }
      from = to
    }
    outcome.ageMs = terms.ageOf(outcome.slot)
    return OK
  }

  private blocksOf(version: LocalVersion): WeightBlocks {
    if (version === this.lastVersion) return this.lastBlocks!
    let blocks = this.blocks.get(version)
    if (blocks === undefined) {
      blocks = new WeightBlocks(version)
      this.blocks.set(version, blocks)
    }
    this.lastVersion = version
    this.lastBlocks = blocks
    return blocks
  }

  /**
   * Sums the features that lie in one row into `partial` and counts those with weight 0, which is no
   * weight; the first feature behind the block.
   */
  private sumBlock(
    { ids, values, count }: SparseFeatures,
    from: number,
    first: number,
    dimension: number,
    reader: RowTableReader,
    row: number,
  ): number {
    const weights = reader.block
    const base = reader.floatsOf(row)
    let sum = 0
    let weightless = 0
    let k = from
    for (; k < count; k++) {
      const within = ids[k]! - first
      if (within >= dimension) break
      const weight = weights[base + within]!
      if (weight === 0) weightless++
      sum += weight * values[k]!
    }
    if (ids[k - 1] === BIAS_FEATURE && weights[base + BIAS_FEATURE - first] === 0) weightless--
    this.partial = sum
    this.weightless = weightless
    return k
  }
}

function statusOfMiss(
  row: number,
  version: LocalVersion,
  blocks: WeightBlocks,
  terms: SparseTerms,
): ReadStatus {
  if (row === MISSING) return terms.statusOfAbsent(version.side, blocks.reader, blocks.hash)
  return row === RESTORING ? RESTORING_STATUS : DEFERRED
}

/** The first feature at or behind an id. */
function endOfBlock({ ids, count }: SparseFeatures, from: number, end: number): number {
  let to = from + 1
  while (to < count && ids[to]! < end) to++
  return to
}
