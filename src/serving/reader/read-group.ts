import { murmur3 } from '../../core/hash/murmur3.ts'
import { innerProduct } from '../../core/kernels/inner-product.ts'
import type { StateVersion } from '../../state/catalog/key-class.ts'
import type { QueryableState } from '../../state/catalog/state-catalog.ts'
import { RowReadAhead } from '../../state/rows/read-ahead.ts'
import type { RowTableReader } from '../../state/rows/reader.ts'
import { DEFERRED } from '../../wire/frame.ts'
import { OK, statusOf } from '../../wire/status.ts'
import {
  type KeySpan,
  PAIRS_AHEAD,
  type PairKeys,
  type ReadGroup,
  type ReadOutcome,
  type ReadStatus,
  type SparseFeatures,
  type SparseOutcome,
} from '../port/query-backend.ts'
import { LocalSparseDot } from '../sparse/dot.ts'
import type { HotWeightsOfVersions } from '../sparse/hot-weights-of-versions.ts'
import type { Absence } from './request.ts'
import { type ReadTerms, RowBuffer, RowReads } from './row-reads.ts'

const RESTORING_STATUS = statusOf('RESTORING')
const DIMENSION_MISMATCH = statusOf('DIMENSION_MISMATCH')

/** How often a product of two rows starts again when one changes; each takes less than a microsecond. */
const ATTEMPTS = 64

/**
 * Synchronous reads of one queryable name at one version, in place and without allocation. The instance
 * is reused: `prepare` sets what is read.
 */
export class LocalReadGroup implements ReadGroup {
  modelVersion = 0
  checkpointId = 0
  ageMs = -1
  private state!: QueryableState
  private live = true
  /** The version that is read, by key class; undefined where a key class does not have it. */
  private readonly versions: (StateVersion | undefined)[] = []
  private readonly rows = new RowReads()
  private readonly left = new RowBuffer()
  private readonly right = new RowBuffer()
  private readonly ahead = new RowReadAhead(2 * PAIRS_AHEAD)
  /** Number of the first key that was read ahead. */
  private firstAhead = 0
  private rowBytes = new Uint8Array(0)
  private rowOf: Float32Array | undefined
  private readonly sparse: LocalSparseDot

  /** `hotWeights`: copies of the weights of linear models. */
  constructor(hotWeights?: HotWeightsOfVersions) {
    this.sparse = new LocalSparseDot(hotWeights)
  }

  /** Sets what is read; see `RowReads.prepare`. */
  prepare(terms: ReadTerms, ages: readonly number[], absence: Absence): void {
    const { state, version } = terms
    this.state = state
    this.versions.length = state.keyClasses.length
    for (let i = 0; i < state.keyClasses.length; i++) {
      this.versions[i] = state.keyClasses[i]!.versions.get(version)
    }
    this.modelVersion = version
    this.checkpointId = terms.checkpointId
    this.live = terms.consistency.level !== 'checkpoint'
    this.ageMs = oldest(ages)
    this.rows.prepare(terms, ages, absence)
  }

  readAhead(keys: PairKeys, first: number, pairs: number): void {
    const { bytes, at, length } = keys
    const { ahead } = this
    this.firstAhead = 2 * first
    ahead.begin()
    const end = 2 * (first + pairs)
    for (let n = 2 * first; n < end; n++) {
      const hash = murmur3(bytes, at[n]!, length[n]!) | 0
      ahead.add(this.readerOf(bytes, at[n]!, length[n]!, hash), hash)
    }
    ahead.run()
  }

  predict(
    keys: PairKeys,
    pair: number,
    coldLeft: KeySpan | undefined,
    coldRight: KeySpan | undefined,
    outcome: ReadOutcome,
  ): ReadStatus {
    const { bytes } = keys
    const leftAt = keys.at[2 * pair]!
    const leftLength = keys.length[2 * pair]!
    const rightAt = keys.at[2 * pair + 1]!
    const rightLength = keys.length[2 * pair + 1]!
    const at = 2 * pair - this.firstAhead
    const { ahead } = this
    const leftHash = ahead.hashAt(at)
    const rightHash = ahead.hashAt(at + 1)
    if (this.live) {
      const left = ahead.readerAt(at)
      const right = ahead.readerAt(at + 1)
      if (left !== undefined && right !== undefined && left.layout.stride === right.layout.stride) {
        for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
          const leftRow = left.findAt(ahead.rowAt(at), bytes, leftAt, leftLength, leftHash)
          if (leftRow < 0) break
          const leftSequence = left.foundSequence
          const rightRow = right.findAt(ahead.rowAt(at + 1), bytes, rightAt, rightLength, rightHash)
          if (rightRow < 0) break
          if (outcome.withPosition) {
            outcome.partition = left.partitionOf(leftRow)
            outcome.offset = left.offsetOf(leftRow)
          }
          const score = left.dot(leftRow, leftSequence, right, rightRow, right.foundSequence)
          if (Number.isNaN(score)) continue
          outcome.score = score
          outcome.leftCold = false
          outcome.rightCold = false
          outcome.slot = left.share.slot
          outcome.ageMs = this.rows.ageOf(left.share.slot)
          return OK
        }
      }
    }
    const left = this.left
    const leftStatus = this.rows.fill(bytes, leftAt, leftLength, leftHash, coldLeft, left)
    if (leftStatus === RESTORING_STATUS) {
      // Asking for the right row makes its owner restore it next, too.
      ahead.readerAt(at + 1)?.find(bytes, rightAt, rightLength, rightHash)
    }
    if (leftStatus !== OK) return leftStatus
    const right = this.right
    const rightStatus = this.rows.fill(bytes, rightAt, rightLength, rightHash, coldRight, right)
    if (rightStatus !== OK) return rightStatus
    return this.predictFrom(left, right, outcome)
  }

  private predictFrom(left: RowBuffer, right: RowBuffer, outcome: ReadOutcome): ReadStatus {
    if (left.vector.length !== right.vector.length) return DIMENSION_MISMATCH
    outcome.score = innerProduct(left.vector, 0, right.vector, 0, left.vector.length)
    outcome.leftCold = left.cold
    outcome.rightCold = right.cold
    this.describe(left, outcome)
    return OK
  }

  private describe(row: RowBuffer, outcome: ReadOutcome): void {
    outcome.partition = row.partition
    outcome.offset = row.offset
    outcome.slot = row.slot
    outcome.ageMs = this.rows.ageOf(row.slot)
  }

  row(bytes: Uint8Array, at: number, length: number, outcome: ReadOutcome): ReadStatus {
    const row = this.left
    const hash = murmur3(bytes, at, length) | 0
    const status = this.rows.fill(bytes, at, length, hash, undefined, row)
    if (status !== OK) return status
    if (this.rowOf !== row.vector) {
      this.rowOf = row.vector
      this.rowBytes = new Uint8Array(row.vector.buffer)
    }
    outcome.row = this.rowBytes
    this.describe(row, outcome)
    return OK
  }

  sparseDot(features: SparseFeatures, outcome: SparseOutcome): ReadStatus {
    const { keyClasses } = this.state
    const version = this.versions[0]
    const isPlain = this.live && keyClasses.length === 1 && keyClasses[0]!.suffix.length === 0
    if (!isPlain || version === undefined) return DEFERRED
    return this.sparse.run(version, keyClasses[0]!.dimension, features, this.rows, outcome)
  }

  private readerOf(
    bytes: Uint8Array,
    at: number,
    length: number,
    hash: number,
  ): RowTableReader | undefined {
    const keyClasses = this.state.keyClasses
    for (let i = 0; i < keyClasses.length; i++) {
      if (keyClasses[i]!.hasKey(bytes, at, length)) return this.versions[i]?.readerOf(hash)
    }
    return undefined
  }
}

/** The highest of the ages, -1 if one is unknown. */
function oldest(ages: readonly number[]): number {
  let oldest = 0
  for (let slot = 0; slot < ages.length; slot++) {
    const age = ages[slot]!
    if (age < 0) return -1
    if (age > oldest) oldest = age
  }
  return oldest
}
