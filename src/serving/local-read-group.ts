import { murmur3 } from '../core/murmur3.ts'
import { RowReadAhead } from '../state/row-read-ahead.ts'
import {
  MISSING,
  RESTORING,
  type RowMetaTarget,
  type RowTableReader,
} from '../state/row-table-reader.ts'
import { DEFERRED } from '../wire/frame.ts'
import { OK, statusOf } from '../wire/status.ts'
import type { LocalSide, LocalState, LocalVersion } from './local-catalog.ts'
import { LocalSparseDot, type SparseTerms } from './local-sparse-dot.ts'
import {
  type KeySpan,
  PAIRS_AHEAD,
  type PairKeys,
  type ReadGroup,
  type ReadOutcome,
  type ReadStatus,
  type SparseFeatures,
  type SparseOutcome,
} from './query-backend.ts'

const UNKNOWN_KEY = statusOf('UNKNOWN_KEY')
const NOT_OWNER = statusOf('NOT_OWNER')
const RESTORING_STATUS = statusOf('RESTORING')
const NOT_UP_TO_BOUND = statusOf('NOT_UP_TO_BOUND')
const DIMENSION_MISMATCH = statusOf('DIMENSION_MISMATCH')

/** How often a read starts again when rows change under it; each takes less than a microsecond. */
const ATTEMPTS = 64

/** Floats of a row and where they came from; reused from read to read. */
export class RowBuffer implements RowMetaTarget {
  vector = new Float32Array(0)
  updateCount = 0
  partition = -1
  offset = 0
  eventTime = -1
  slot = 0
  /** Another row stood in for the one that was asked for. */
  cold = false

  resize(dimension: number): void {
    if (this.vector.length !== dimension) this.vector = new Float32Array(dimension)
  }
}

/**
 * Synchronous reads of one queryable name at one version, in place and without allocation. State,
 * version and checkpoint are resolved by `prepare`; the instance is reused.
 */
export class LocalReadGroup implements ReadGroup, SparseTerms {
  modelVersion = 0
  checkpointId = 0
  ageMs = -1
  private state: LocalState | undefined
  private live = true
  private restoring = false
  /** The version that is read, by side; undefined where a side does not have it. */
  private readonly versions: (LocalVersion | undefined)[] = []
  private readonly ages: number[] = []
  private readonly left = new RowBuffer()
  private readonly right = new RowBuffer()
  private readonly ahead = new RowReadAhead(2 * PAIRS_AHEAD)
  /** Number of the first key that was read ahead. */
  private firstAhead = 0
  private sums = new Float64Array(0)
  private rowBytes = new Uint8Array(0)
  private rowOf: Float32Array | undefined
  private readonly sparse = new LocalSparseDot()

  /**
   * Sets what is read: the live rows, or, unless `live`, those of the checkpoint. `ages[slot]` is the
   * upper bound of an answer's age in ms, -1 if unknown. `restoring`: some slot may not have told its
   * tables yet.
   */
  prepare(
    state: LocalState,
    version: number,
    checkpointId: number,
    live: boolean,
    ages: readonly number[],
    restoring = false,
  ): void {
    this.state = state
    this.restoring = restoring
    this.versions.length = state.sides.length
    for (let i = 0; i < state.sides.length; i++) {
      this.versions[i] = state.sides[i]!.versions.get(version)
    }
    this.modelVersion = version
    this.checkpointId = checkpointId
    this.live = live
    this.ageMs = 0
    for (let slot = 0; slot < ages.length; slot++) {
      const age = ages[slot]!
      this.ages[slot] = age
      if (age < 0 || this.ageMs < 0) this.ageMs = -1
      else this.ageMs = Math.max(this.ageMs, age)
    }
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
          outcome.partition = left.partitionOf(leftRow)
          outcome.offset = left.offsetOf(leftRow)
          const score = left.dot(leftRow, leftSequence, right, rightRow, right.foundSequence)
          if (Number.isNaN(score)) continue
          outcome.score = score
          outcome.leftCold = false
          outcome.rightCold = false
          outcome.slot = left.share.slot
          outcome.ageMs = this.ageOf(left.share.slot)
          return OK
        }
      }
    }
    const left = this.left
    const leftStatus = this.fill(bytes, leftAt, leftLength, leftHash, coldLeft, left)
    if (leftStatus === RESTORING_STATUS) {
      // Looked at all the same, so that the owner of the right row restores it next, too.
      ahead.readerAt(at + 1)?.find(bytes, rightAt, rightLength, rightHash)
    }
    if (leftStatus !== OK) return leftStatus
    const right = this.right
    const rightStatus = this.fill(bytes, rightAt, rightLength, rightHash, coldRight, right)
    if (rightStatus !== OK) return rightStatus
    return this.predictFrom(left, right, outcome)
  }

  private predictFrom(left: RowBuffer, right: RowBuffer, outcome: ReadOutcome): ReadStatus {
    if (left.vector.length !== right.vector.length) return DIMENSION_MISMATCH
    outcome.score = innerProductOf(left.vector, right.vector)
    outcome.leftCold = left.cold
    outcome.rightCold = right.cold
    this.tell(left, outcome)
    return OK
  }

  private tell(row: RowBuffer, outcome: ReadOutcome): void {
    outcome.partition = row.partition
    outcome.offset = row.offset
    outcome.slot = row.slot
    outcome.ageMs = this.ageOf(row.slot)
  }

  /** Upper bound of the age of a slot's answers in ms, -1 if unknown. */
  ageOf(slot: number): number {
    return this.ages[slot] ?? -1
  }

  row(bytes: Uint8Array, at: number, length: number, outcome: ReadOutcome): ReadStatus {
    const row = this.left
    const hash = murmur3(bytes, at, length) | 0
    const status = this.fill(bytes, at, length, hash, undefined, row)
    if (status !== OK) return status
    if (this.rowOf !== row.vector) {
      this.rowOf = row.vector
      this.rowBytes = new Uint8Array(row.vector.buffer)
    }
    outcome.row = this.rowBytes
    this.tell(row, outcome)
    return OK
  }

  sparseDot(features: SparseFeatures, outcome: SparseOutcome): ReadStatus {
    const { sides } = this.state!
    const version = this.versions[0]
    const isPlain = this.live && sides.length === 1 && sides[0]!.suffix.length === 0
    if (!isPlain || version === undefined) return DEFERRED
    return this.sparse.run(version, sides[0]!.dimension, features, this, outcome)
  }

  private readerOf(
    bytes: Uint8Array,
    at: number,
    length: number,
    hash: number,
  ): RowTableReader | undefined {
    const sides = this.state!.sides
    for (let i = 0; i < sides.length; i++) {
      if (sides[i]!.hasKey(bytes, at, length)) return this.versions[i]?.readerOf(hash)
    }
    return undefined
  }

  /**
   * Copies the row with a key, or the row that stands in for it, to `target`; a status. DEFERRED: the
   * slot has to be asked, or the row is stuck in a write.
   */
  fill(
    bytes: Uint8Array,
    at: number,
    length: number,
    hash: number,
    cold: KeySpan | undefined,
    target: RowBuffer,
  ): ReadStatus {
    target.cold = false
    const status = this.fillExact(bytes, at, length, hash, target)
    if (status !== UNKNOWN_KEY || cold === undefined) return status
    target.cold = true
    const coldHash = murmur3(cold.bytes, cold.at, cold.length) | 0
    return this.fillExact(cold.bytes, cold.at, cold.length, coldHash, target)
  }

  private fillExact(
    bytes: Uint8Array,
    at: number,
    length: number,
    hash: number,
    target: RowBuffer,
  ): ReadStatus {
    const side = this.state!.sideOf(bytes, at, length)
    if (side === undefined) return UNKNOWN_KEY
    target.resize(side.dimension)
    const version = side.versions.get(this.modelVersion)
    const reader = version?.readerOf(hash)
    const outcome =
      reader === undefined ? MISSING : this.read(reader, bytes, at, length, hash, target)
    if (outcome >= 0) {
      target.slot = reader!.share.slot
      return this.live || reader!.retains(this.checkpointId) ? OK : NOT_UP_TO_BOUND
    }
    if (outcome === MISSING)
      return this.absent(side, version, reader, bytes, at, length, hash, target)
    if (outcome === RESTORING) {
      if (!side.isMeanKey(bytes, at, length)) return RESTORING_STATUS
      return this.fillMean(version, target)
    }
    if (side.isMeanKey(bytes, at, length)) return this.fillMean(version, target)
    return DEFERRED
  }

  private absent(
    side: LocalSide,
    version: LocalVersion | undefined,
    reader: RowTableReader | undefined,
    bytes: Uint8Array,
    at: number,
    length: number,
    hash: number,
    target: RowBuffer,
  ): ReadStatus {
    if (side.isMeanKey(bytes, at, length)) return this.fillMean(version, target)
    return this.statusOfAbsent(side, reader, hash)
  }

  statusOfMissing(reader: RowTableReader | undefined, hash: number): ReadStatus {
    return this.statusOfAbsent(this.state!.sides[0]!, reader, hash)
  }

  /** What is said of a key that its table does not have; no table: undefined. */
  private statusOfAbsent(
    side: LocalSide,
    reader: RowTableReader | undefined,
    hash: number,
  ): ReadStatus {
    if (reader === undefined) {
      const slot = side.slotOf(hash)
      if (this.restoring) return RESTORING_STATUS
      if (slot < 0) return NOT_OWNER
      // A slot that has not told its progress has not told its tables either.
      if (this.live && this.ageOf(slot) < 0) return RESTORING_STATUS
    }
    if (reader !== undefined && !this.live && !reader.retains(this.checkpointId)) {
      return NOT_UP_TO_BOUND
    }
    return UNKNOWN_KEY
  }

  private read(
    reader: RowTableReader,
    bytes: Uint8Array,
    at: number,
    length: number,
    hash: number,
    target: RowBuffer,
  ): number {
    if (!this.live) {
      const id = this.checkpointId
      return reader.readAtInto(id, bytes, at, length, hash, target.vector, 0, target)
    }
    for (let attempt = 0; ; attempt++) {
      const row = reader.find(bytes, at, length, hash)
      if (row < 0) return row
      const sequence = reader.foundSequence
      reader.metaInto(row, sequence, target)
      if (reader.readInto(row, sequence, target.vector, 0)) return row
      if (attempt === ATTEMPTS) return MISSING - 1
    }
  }

  /** Whether some slot may still open its table of the version. */
  private lacksTables(version: LocalVersion): boolean {
    if (this.ages.every((age) => age >= 0)) return false
    for (const slot of version.side.slots) {
      const opened = version.readers.some((reader) => reader.share.slot === slot)
      if (!opened && this.ageOf(slot) < 0) return true
    }
    return false
  }

  /** The mean of all rows of the version, over the slots of this process. */
  private fillMean(version: LocalVersion | undefined, target: RowBuffer): ReadStatus {
    if (version === undefined) return UNKNOWN_KEY
    const dimension = version.side.dimension
    if (this.sums.length !== dimension) this.sums = new Float64Array(dimension)
    this.sums.fill(0)
    if (this.live && this.lacksTables(version)) return RESTORING_STATUS
    let count = 0
    for (let i = 0; i < version.readers.length; i++) {
      const reader = version.readers[i]!
      if (reader.restoring) return RESTORING_STATUS
      const rows = reader.addMeanInto(this.live ? 0 : this.checkpointId, this.sums)
      if (rows > 0) count += rows
      else if (rows < MISSING) return DEFERRED
    }
    if (count === 0) return UNKNOWN_KEY
    for (let i = 0; i < dimension; i++) target.vector[i] = this.sums[i]! / count
    target.partition = -1
    target.offset = 0
    target.slot = version.readers[0]!.share.slot
    return OK
  }
}

/** Inner product of two vectors of one length, summed in float64. */
export function innerProductOf(a: Float32Array, b: Float32Array): number {
  let sum = 0
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!
  return sum
}
