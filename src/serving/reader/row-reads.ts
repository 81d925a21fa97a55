import { murmur3 } from '../../core/hash/murmur3.ts'
import type { KeyClass, StateVersion } from '../../state/catalog/key-class.ts'
import { NOT_REPORTED } from '../../state/catalog/progress-board.ts'
import type { QueryableState } from '../../state/catalog/state-catalog.ts'
import {
  MISSING,
  RESTORING,
  type RowMetaTarget,
  type RowTableReader,
} from '../../state/rows/reader.ts'
import { DEFERRED } from '../../wire/frame.ts'
import { OK, statusOf } from '../../wire/status.ts'
import type { KeySpan, ReadStatus } from '../port/query-backend.ts'
import type { SparseTerms } from '../sparse/dot.ts'
import type { Absence, VectorRequest } from './request.ts'

const UNKNOWN_KEY = statusOf('UNKNOWN_KEY')
const NOT_OWNER = statusOf('NOT_OWNER')
const RESTORING_STATUS = statusOf('RESTORING')
const NOT_UP_TO_BOUND = statusOf('NOT_UP_TO_BOUND')

/** Floats of a row, and where the row was read. The instance is reused. */
export class RowBuffer implements RowMetaTarget {
  vector = new Float32Array(0)
  updateCount = 0
  partition = -1
  offset = 0
  eventTime = -1
  slot = 0
  /** Whether another row stands in for the one that was asked for. */
  cold = false

  resize(dimension: number): void {
    if (this.vector.length !== dimension) this.vector = new Float32Array(dimension)
  }
}

/** The terms that the rows of one request are read at: `VectorRequest` has them. */
export type ReadTerms = Pick<VectorRequest, 'state' | 'version' | 'checkpointId' | 'consistency'>

/**
 * Reads single rows of one version in place, the mean row included, without allocation. The instance is
 * reused: `prepare` sets what is read.
 */
export class RowReads implements SparseTerms {
  private state!: QueryableState
  private modelVersion = 0
  private checkpointId = 0
  private live = true
  private absence: Absence = 'unknown'
  /** As in `prepare`. */
  private readonly ages: number[] = []
  private allKnown = false
  private sums = new Float64Array(0)

  /**
   * Sets what is read. `ages[slot]` is the upper bound of an answer's age in ms, -1 if unknown,
   * `NOT_REPORTED` or `TABLE_UNKNOWN`.
   */
  prepare(terms: ReadTerms, ages: readonly number[], absence: Absence): void {
    this.state = terms.state
    this.modelVersion = terms.version
    this.checkpointId = terms.checkpointId
    this.live = terms.consistency.level !== 'checkpoint'
    this.absence = absence
    this.ages.length = ages.length
    this.allKnown = true
    for (let slot = 0; slot < ages.length; slot++) {
      this.ages[slot] = ages[slot]!
      this.allKnown &&= ages[slot] !== NOT_REPORTED && (!this.live || ages[slot] !== -1)
    }
  }

  /** Upper bound of the age of a slot's answers in ms, -1 if unknown. */
  ageOf(slot: number): number {
    return Math.max(-1, this.ages[slot] ?? -1)
  }

  /**
   * Copies the row with a key, or the row of the stand-in key `cold`, to `target`. DEFERRED when the slot
   * must be asked, or the row stays in the middle of a write.
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
    const keyClass = this.state.keyClassOf(bytes, at, length)
    if (keyClass === undefined) return UNKNOWN_KEY
    const version = keyClass.versions.get(this.modelVersion)
    target.resize(version?.dimension ?? keyClass.dimension)
    const reader = version?.readerOf(hash)
    const outcome =
      reader === undefined ? MISSING : this.read(reader, bytes, at, length, hash, target)
    if (outcome >= 0) {
      target.slot = reader!.share.slot
      return this.live || reader!.retains(this.checkpointId) ? OK : NOT_UP_TO_BOUND
    }
    if (keyClass.isMeanKey(bytes, at, length)) return this.fillMean(keyClass, version, target)
    if (outcome === MISSING) return this.statusOfAbsent(keyClass, reader, hash)
    return outcome === RESTORING ? RESTORING_STATUS : DEFERRED
  }

  /** The status of a weight block that no table has: UNKNOWN_KEY when it really does not exist. */
  statusOfMissing(reader: RowTableReader | undefined, hash: number): ReadStatus {
    return this.statusOfAbsent(this.state.keyClasses[0]!, reader, hash)
  }

  /** The status of a key that its table does not have; `reader` is undefined where no table is open. */
  private statusOfAbsent(
    keyClass: KeyClass,
    reader: RowTableReader | undefined,
    hash: number,
  ): ReadStatus {
    if (this.absence === 'row-on-its-way') return RESTORING_STATUS
    if (reader === undefined) {
      const slot = keyClass.slotOf(hash)
      if (this.absence === 'table-on-its-way') return RESTORING_STATUS
      if (slot < 0) return NOT_OWNER
      // A slot that has reported no progress has not reported its tables either.
      if (this.mayHaveMore(slot)) return RESTORING_STATUS
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
    return reader.readLiveInto(bytes, at, length, hash, target.vector, 0, target)
  }

  /** Whether a slot may have opened a table that is not known here; `version` is undefined where none is known. */
  private lacksTables(keyClass: KeyClass, version: StateVersion | undefined): boolean {
    if (this.allKnown) return false
    for (const slot of keyClass.slots) {
      const opened = version?.readers.some((reader) => reader.share.slot === slot) ?? false
      if (!opened && this.mayHaveMore(slot)) return true
    }
    return false
  }

  /** Whether a slot may have tables that are not known here: what it reports comes later than the live version. */
  private mayHaveMore(slot: number): boolean {
    const age = this.ages[slot]
    return age === NOT_REPORTED || (this.live && age === -1)
  }

  /** Fills in the mean of all rows of the version. */
  private fillMean(
    keyClass: KeyClass,
    version: StateVersion | undefined,
    target: RowBuffer,
  ): ReadStatus {
    if (this.absence === 'row-on-its-way') return RESTORING_STATUS
    if (this.lacksTables(keyClass, version)) return RESTORING_STATUS
    if (version === undefined) return UNKNOWN_KEY
    const { dimension } = version
    if (this.sums.length !== dimension) this.sums = new Float64Array(dimension)
    this.sums.fill(0)
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
