import type { ByteSpan } from '../../core/byte-span.ts'
import { ByteWriter } from '../../core/byte-writer.ts'
import { type Clock, systemClock } from '../../core/clock.ts'
import { murmur3 } from '../../core/hash/murmur3.ts'
import type { ModelVersion } from '../../core/model-version.ts'
import type { ChangeSink, StateDeclaration, StateSnapshot } from '../port/change.ts'
import { vectorDeclaration } from '../port/format.ts'
import type { VectorRow, VectorRowTarget, VectorState, WriteOrigin } from '../port/handles.ts'
import type { KeyRange, ScanPart } from '../port/scan-part.ts'
import type { SlotQueryAnswer } from '../port/slot-query.ts'
import { vectorRowBytes } from '../rows/codec.ts'
import { CONTROL_WANTED } from '../rows/layout.ts'
import type { RowTableShare } from '../rows/share.ts'
import { RowWriteAhead } from '../rows/write-ahead.ts'
import { GivenRow } from './given-row.ts'
import { OpenVersions, type VersionedRowsOptions } from './open-versions.ts'
import { OwnKeys } from './own-keys.ts'
import { answerRows, answerScan, answerStoredPage, keysOf } from './query.ts'
import { VectorSnapshot } from './snapshot.ts'
import { checkFinite, type VersionRows } from './version-rows.ts'

/**
 * All versions of one vector state on one slot: a row table each, one writer (this class), readers in
 * any thread through the shares that the listener receives.
 *
 * How checkpoints work (see `VectorEpochs`): the last barrier's id is the write epoch of every row
 * written after it. `snapshot` takes the list of rows changed since the barrier before and raises the
 * epoch; that is all it does at the barrier. `step` copies the listed rows out. Three rules keep the cut:
 * 1. A row that is listed and about to change, be deleted or leave memory is copied out first.
 * 2. A changed row that leaves memory before any barrier goes to the spill sink, whose segment comes
 *    before the snapshot's; it is listed again if it changes again.
 * 3. A deleted row stays as a tombstoned row (and its tombstone is listed) until the deletion is in a
 *    completed checkpoint.
 * Readers at the level `checkpoint` find in a row's chain of images the one that belongs to their
 * checkpoint. Cases: after barrier C+1 and before its completion, C and C+1 can both be read, so the
 * order in which slot and reader learn of the completion does not matter. When C+1 completes, images
 * valid only up to C are freed, a few with every write. When C+1 is aborted, no call comes: C stays
 * readable, the rows copied out are in a segment that the next checkpoint refers to, and rows written
 * after C+1's barrier are listed for C+2 as usual; C+1 stops being readable at barrier C+3.
 * A new snapshot while one is unfinished first copies the old one to its end.
 */
export class VersionedRows implements VectorState {
  readonly dimension: number
  private readonly options: VersionedRowsOptions
  private readonly opened: OpenVersions
  private readonly ownKeys: OwnKeys
  private readonly given: GivenRow
  private readonly ahead = new RowWriteAhead()
  private readonly clock: Clock

  constructor(options: VersionedRowsOptions) {
    const { descriptor, keyGroups, maxParallelism, slot } = options
    this.options = options
    this.dimension = descriptor.dimension
    this.clock = options.clock ?? systemClock
    this.opened = new OpenVersions(options, this.clock)
    this.given = new GivenRow(descriptor.name)
    const { maxKeyBytes } = this.opened
    this.ownKeys = new OwnKeys({
      state: descriptor.name,
      maxKeyBytes,
      keyGroups,
      maxParallelism,
      slot,
    })
  }

  put(version: ModelVersion, key: Uint8Array, vector: Float32Array, origin: WriteOrigin): void {
    this.checkVector(version, vector)
    const hash = this.ownKeys.hash(key)
    this.opened.open(version, vector.length).put(key, hash, vector, origin)
  }

  replace(version: ModelVersion, key: Uint8Array, vector: Float32Array, origin: WriteOrigin): void {
    this.checkVector(version, vector)
    const hash = this.ownKeys.hash(key)
    this.opened.open(version, vector.length).replace(key, hash, vector, origin)
  }

  putBytes(version: ModelVersion, key: Uint8Array, floats: ByteSpan, origin: WriteOrigin): void {
    const dimension = this.dimensionFor(version, floats.length / 4)
    this.put(version, key, this.given.take(floats, dimension), origin)
  }

  add(version: ModelVersion, key: Uint8Array, delta: Float32Array, origin: WriteOrigin): void {
    this.checkVector(version, delta)
    const hash = this.ownKeys.hash(key)
    this.opened.open(version, delta.length).add(key, hash, delta, origin)
  }

  private checkVector(version: ModelVersion, vector: Float32Array): void {
    this.given.checkLength(vector.length, this.dimensionFor(version, vector.length))
    checkFinite(vector)
  }

  /** Floats that a row of a version must have: those of its first row, where versions may differ and it is not open yet. */
  private dimensionFor(version: ModelVersion, given: number): number {
    const isFirst =
      this.options.descriptor.dimensionByVersion === true &&
      given >= 1 &&
      Number.isInteger(given) &&
      this.opened.of(version) === undefined
    return isFirst ? given : this.opened.dimensionOf(version)
  }

  get(version: ModelVersion, key: Uint8Array): VectorRow | undefined {
    return this.opened.of(version)?.get(key, murmur3(key) | 0)
  }

  readInto(version: ModelVersion, key: Uint8Array, target: VectorRowTarget): boolean {
    return this.opened.of(version)?.readInto(key, murmur3(key) | 0, target) ?? false
  }

  remove(version: ModelVersion, key: Uint8Array): boolean {
    const hash = this.ownKeys.hash(key)
    return this.opened.of(version)?.remove(key, hash) ?? false
  }

  /** See `KeyedInput.readAhead`: rows of the version that was written last. */
  readAhead(hashes: Int32Array, count: number): void {
    const { last } = this.opened
    if (last !== undefined) this.ahead.run(last.rows, hashes, count)
  }

  keys(version: ModelVersion): IterableIterator<Uint8Array> {
    const rows = this.opened.of(version)
    return rows === undefined ? [].values() : keysOf(rows)
  }

  size(version: ModelVersion): number {
    return this.opened.of(version)?.size ?? 0
  }

  versions(): ModelVersion[] {
    const versions = [...this.opened.entries()].filter(([, { size }]) => size > 0).map(([v]) => v)
    return versions.sort((a, b) => a - b) as ModelVersion[]
  }

  openVersions(): ModelVersion[] {
    return [...this.opened.entries()].map(([version]) => version as ModelVersion)
  }

  dropVersion(version: ModelVersion): void {
    this.opened.drop(version)
  }

  /** See `VectorState.openVersion`. */
  openVersion(version: ModelVersion, dimension?: number): VersionRows {
    const { descriptor } = this.options
    if (dimension !== undefined) {
      const isOpen = this.opened.of(version) !== undefined
      const expected =
        isOpen || descriptor.dimensionByVersion !== true
          ? this.opened.dimensionOf(version)
          : dimension
      this.given.checkLength(dimension, expected)
    }
    return this.opened.open(version, dimension)
  }

  dimensionOf(version: ModelVersion): number | undefined {
    return this.opened.of(version)?.rows.layout.dimension
  }

  /** See `OpenVersions.leavesOut`. */
  leavesOut(version: ModelVersion): boolean {
    return this.opened.leavesOut(version)
  }

  /** See `OpenVersions.foundInSegments`. */
  foundInSegments(version: ModelVersion): void {
    this.opened.foundInSegments(version)
  }

  /** See `OpenVersions.needsFull`. */
  get needsFull(): boolean {
    return this.opened.needsFull
  }

  /** Versions that are open. */
  get versionsOpen(): number {
    return this.opened.count
  }

  /** Shares of the open versions. */
  shares(): RowTableShare[] {
    return this.opened.shares()
  }

  /** See `OpenVersions.memoryBytes`. */
  get memoryBytes(): number {
    return this.opened.memoryBytes
  }

  /** Bytes of one encoded row. */
  get rowBytes(): number {
    return vectorRowBytes(this.dimension)
  }

  /** Answers in the order of the keys, see `answerRows`. */
  answerRows(version: number, keys: readonly Uint8Array[], bring = false): SlotQueryAnswer[] {
    const rows = this.opened.of(version)
    if (rows !== undefined) return answerRows(rows, keys, bring)
    const kind = this.opened.restoring ? 'restoring' : 'missing'
    return keys.map((key) => ({ kind, key }))
  }

  /** Rows with `from <= key < to` in key order, spilled ones included, at most `limit`, encoded in `arena`. */
  *scan(version: number, range: KeyRange, arena = new ByteWriter()): Generator<void, ScanPart> {
    const rows = this.opened.of(version)
    if (rows === undefined) return { answers: [], resume: undefined }
    return yield* answerScan(rows, range, this.clock, arena)
  }

  /**
   * Rows that the store has an entry of, from a key on, in key order, at most `limit`. Rows that are in
   * memory too are answered from memory. After a pass over the rows in memory, this covers every row of
   * the version. An answer shorter than `limit` is the last.
   */
  storedPage(version: number, from: Uint8Array, limit: number): SlotQueryAnswer[] {
    const rows = this.opened.of(version)
    return rows === undefined ? [] : answerStoredPage(rows, from, limit)
  }

  /** Fixes the changes since the last barrier (all rows when `full`); see the class. */
  snapshot(checkpointId: number, sink: ChangeSink, full: boolean): StateSnapshot {
    const { opened } = this
    if (opened.snapshot !== undefined) while (!opened.snapshot.step(1000));
    const previous = opened.epochs.current
    opened.epochs.barrier(checkpointId)
    if (full) opened.allSnapshot()
    opened.snapshot = new VectorSnapshot({
      versions: opened,
      barrier: checkpointId,
      previous,
      sink,
      full,
      clock: this.clock,
    })
    for (const { memory } of opened) {
      memory.mean?.keep(checkpointId, opened.epochs.completed)
      memory.publishEpochs()
    }
    return opened.snapshot
  }

  /** See `OpenVersions.checkpointCompleted`. */
  checkpointCompleted(checkpointId: number): void {
    this.opened.checkpointCompleted(checkpointId)
  }

  /** See `OpenVersions.maintain`. */
  maintain(budgetMs: number): boolean {
    const nowMs = this.clock.nowMs()
    for (const { memory } of this.opened) memory.windows.expire(nowMs)
    return this.opened.maintain(budgetMs)
  }

  /** The open versions as they are declared in checkpoints. */
  declarations(): StateDeclaration[] {
    const versions = this.openVersions().sort((a, b) => a - b)
    const { name } = this.options.descriptor
    return versions.map((version) =>
      vectorDeclaration({ name, dimension: this.opened.dimensionOf(version) }, version),
    )
  }

  /** From here to `endRestore` a missing key answers RESTORING to readers. */
  beginRestore(): void {
    this.opened.restoring = true
    for (const { memory } of this.opened) memory.setRestoring(true)
  }

  /** Sizes the indexes for so many restored rows each, or for those that the budget has room for. */
  expectRows(rows: number): void {
    const { store } = this.opened
    const budget = this.options.memoryBudgetBytes / this.opened.count
    for (const { rows: table } of this.opened) {
      const rowBytes = (table.layout.segmentWords * 4) / 2 ** table.layout.rowShift
      const fitting = store === undefined ? rows : Math.floor(budget / rowBytes)
      table.index.reserve(Math.min(rows, fitting))
    }
  }

  /**
   * Takes one entry of a segment, newest segment first: the first one of a key wins, `undefined` is a
   * deletion. The key's group must be this slot's. Throws MALFORMED_DATA, UNSUPPORTED_VERSION.
   */
  restoreRow(version: ModelVersion, key: Uint8Array, value: Uint8Array | undefined): void {
    this.opened.open(version).restore.takeEntry(key, value)
  }

  /** See `RestorableState.wantedKeyGroup`. */
  wantedKeyGroup(): number {
    for (const { rows } of this.opened) {
      const wanted = Atomics.exchange(rows.arena.words, CONTROL_WANTED, 0)
      if (wanted > 0) return wanted - 1
    }
    return -1
  }

  /** Ends the restore: the rows are those of the checkpoint; a missing key is now really missing. */
  endRestore(checkpointId: number): void {
    const { opened } = this
    opened.restoreEnded()
    opened.epochs.restored(checkpointId)
    for (const { memory, restore } of opened) {
      restore.end()
      memory.mean?.keep(checkpointId, opened.epochs.completed)
      memory.publishEpochs()
      memory.setRestoring(false)
    }
  }

  /** Forgets every version; idempotent. The store is the caller's. */
  close(): void {
    this.opened.close()
  }
}
