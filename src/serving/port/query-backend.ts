import type {
  Answer,
  Consistency,
  ModelReader,
  Prediction,
  PredictOptions,
  TopKOptions,
} from '../../wire/model-reader.ts'
import type { RoutingTable } from '../../wire/routing-table.ts'
import type { ModelsBackend } from './models-backend.ts'
import type { RankedKeys } from './ranked-keys.ts'
import type { OwnedQueryOptions } from './request-owner.ts'
import type { ScanPage } from './scan-page.ts'

/**
 * Registers that a synchronous read writes its answer into; one instance serves a thread, so that
 * a read allocates nothing.
 */
export class ReadOutcome {
  score = 0
  leftCold = false
  rightCold = false
  /** Floats of a row as bytes, little-endian, valid until the next read. */
  row: Uint8Array = new Uint8Array(0)
  /** Slot that answered. */
  slot = 0
  /** Position of the last write to what was read; partition -1 if none. A prediction has it if it is wanted. */
  partition = -1
  offset = 0
  /** Upper bound of the answer's age in ms; -1 when unknown. */
  ageMs = -1
  /** Whether predictions need positions: they are in other cache lines than what a product reads. */
  withPosition = false
}

/** Features of a sparse product; the first `count` elements count. Ids rise strictly. */
export interface SparseFeatures {
  readonly ids: Uint32Array
  readonly values: Float32Array
  readonly count: number
}

/** Positions of the last writes to rows; a row table's reader is one. */
export interface RowPositions {
  readonly share: { readonly slot: number }
  partitionOf(row: number): number
  offsetOf(row: number): number
}

/** Registers that a synchronous sparse product writes its answer into. */
export class SparseOutcome {
  sum = 0
  /** Features without a weight. */
  unknown = 0
  /** Slot of the last row read. */
  slot = 0
  /** Position of the latest write to a row that was read; partition -1 if none, or not wanted. */
  partition = -1
  offset = 0
  ageMs = -1
  /** Whether positions are wanted. */
  withPosition = false

  /** Begins an answer. */
  open(): void {
    this.sum = 0
    this.unknown = 0
    this.slot = 0
    this.partition = -1
    this.offset = 0
  }

  /** Adds to the sum and to the features without weight. */
  add(sum: number, unknown: number): void {
    this.sum += sum
    this.unknown += unknown
  }

  /** Records which row was read; the row number counts only where positions are wanted. */
  record(reader: RowPositions, row: number): void {
    if (this.withPosition) {
      this.recordAt(reader.share.slot, reader.partitionOf(row), reader.offsetOf(row))
    } else this.slot = reader.share.slot
  }

  /** Records the slot and the position of a weight that was read. */
  recordAt(slot: number, partition: number, offset: number): void {
    this.slot = slot
    if (!this.withPosition || (this.partition >= 0 && offset < this.offset)) return
    this.partition = partition
    this.offset = offset
  }

  /** Where the latest write was read. */
  get position(): { readonly slot: number; readonly partition: number; readonly offset: number } {
    return { slot: this.slot, partition: this.partition, offset: this.offset }
  }
}

/** Result of a synchronous read: 0, a status of `wire/status.ts`, or DEFERRED. */
export type ReadStatus = number

/** A key in a received frame. */
export interface KeySpan {
  bytes: Uint8Array
  at: number
  length: number
}

/** Most pairs of keys that are read ahead: their rows must stay in the processor's cache. */
export const PAIRS_AHEAD = 32

/** Pairs of keys in a received frame: pair i is keys 2 i (left) and 2 i + 1 (right). */
export class PairKeys {
  bytes: Uint8Array = new Uint8Array(0)
  /** First byte of each key. */
  at = new Int32Array(2 * PAIRS_AHEAD)
  length = new Int32Array(2 * PAIRS_AHEAD)

  /** Makes room for this number of pairs of keys in `bytes`; earlier keys are dropped. */
  open(bytes: Uint8Array, pairs: number): void {
    this.bytes = bytes
    if (this.at.length >= 2 * pairs) return
    this.at = new Int32Array(2 * pairs)
    this.length = new Int32Array(2 * pairs)
  }
}

/**
 * Reads of one request frame: state, version and consistency are resolved once. Valid until the
 * backend's next `open`.
 */
export interface ReadGroup {
  readonly modelVersion: number
  readonly checkpointId: number
  /** Upper bound of the age of every answer of the group in ms; -1 when unknown. */
  readonly ageMs: number
  /** Reads ahead for the predictions of pairs `first` to `first + pairs - 1` (at most PAIRS_AHEAD). */
  readAhead(keys: PairKeys, first: number, pairs: number): void
  /**
   * Inner product of the rows of pair `pair`, which the last `readAhead` covered. The row of the cold
   * key, if one is given, stands in for a missing row. DEFERRED when this thread cannot answer from
   * memory: the server then asks `reader`.
   */
  predict(
    keys: PairKeys,
    pair: number,
    coldLeft: KeySpan | undefined,
    coldRight: KeySpan | undefined,
    outcome: ReadOutcome,
  ): ReadStatus
  /** One row into `outcome.row`. DEFERRED as above. */
  row(bytes: Uint8Array, at: number, length: number, outcome: ReadOutcome): ReadStatus
  /** Sum of weight x value over the features (`ModelReader.sparseDot`). DEFERRED as above. */
  sparseDot(features: SparseFeatures, outcome: SparseOutcome): ReadStatus
}

/** Predictions of one frame that could not be answered from memory, in order. */
export interface DeferredPredictions {
  readonly bytes: Uint8Array
  /** Four numbers per prediction: start in `bytes` and length of the left key, then of the right key. */
  readonly spans: readonly number[]
}

/** Keys `from <= key < to`, at most `limit` of them. */
export interface ScanRange {
  readonly from: string
  readonly to: string
  readonly limit: number
  /** Of a job in many processes: the job partition whose entries are wanted. */
  readonly partition?: number
}

/** Backend of a query server. */
export interface QueryBackend {
  /** The asynchronous way to everything. */
  readonly reader: ModelReader
  /**
   * Begins the synchronous reads of a frame; `version` 0 is the live one. Throws WeirError
   * (UNKNOWN_STATE, UNKNOWN_VERSION, NOT_UP_TO_BOUND); undefined when this state, version or
   * consistency has no synchronous way.
   */
  open(state: string, version: number, consistency: Consistency): ReadGroup | undefined
  /** Answers to the deferred predictions of a frame, in order. */
  predictDeferred(
    state: string,
    deferred: DeferredPredictions,
    options: PredictOptions,
  ): Promise<Answer<Prediction>[]>
  /** `ModelReader.topK` without objects. */
  topKRanked(
    state: string,
    query: string | Float32Array,
    options: TopKOptions & OwnedQueryOptions,
  ): Promise<Answer<RankedKeys>>
  /** Entries of a range from its first key on, as many as one answer may hold. */
  scanPage(state: string, range: ScanRange, options: OwnedQueryOptions): Promise<ScanPage>
  /** Models of any kind; undefined where only rows are served. */
  readonly models?: ModelsBackend
  /** Grows whenever the routing table changes. */
  routingEpoch(): number
  routing(): RoutingTable
}
