import type { ByteSpan } from '../core/byte-span.ts'
import { type Clock, systemClock } from '../core/clock.ts'
import type { ModelVersion } from '../core/identity.ts'
import type { KeyGroupRange } from '../core/key-group.ts'
import { murmur3 } from '../core/murmur3.ts'
import type { VectorStateDescriptor } from './descriptors.ts'
import { GivenRow } from './given-row.ts'
import type { VectorRow, VectorRowTarget, VectorState, WriteOrigin } from './handles.ts'
import { OwnKeys } from './own-keys.ts'
import { CONTROL_WANTED, rowTableLayout } from './row-table-layout.ts'
import type { RowTableListener, RowTableShare } from './row-table-share.ts'
import { RowWriteAhead } from './row-write-ahead.ts'
import type { SlotQueryAnswer } from './slot-query.ts'
import type { ChangeSink, StateDeclaration, StateSnapshot } from './state-change.ts'
import type { StateStore } from './state-store.ts'
import { VectorEpochs } from './vector-epochs.ts'
import { vectorRowAnswers } from './vector-row-answers.ts'
import { vectorRowBytes } from './vector-row-codec.ts'
import { vectorScan, vectorStoredPage } from './vector-scan.ts'
import { VectorSnapshot } from './vector-snapshot.ts'
import type { VectorSpill } from './vector-spill.ts'
import { checkFinite, VectorTable, type VectorTableContext } from './vector-table.ts'

const DEFAULT_MAX_KEY_BYTES = 32
/** Store entries of dropped versions deleted at a time. */
const PURGE_BATCH = 256
/** Images and ghosts looked at between two looks at the clock. */
const SWEEP_BATCH = 256

/** What a vector state needs to know; `descriptor` says what it holds. */
export interface VectorStateTablesOptions {
  readonly operatorUid: string
  readonly descriptor: VectorStateDescriptor
  /** Key groups of this slot; writes of others throw NOT_OWNER. */
  readonly keyGroups: KeyGroupRange
  readonly maxParallelism: number
  readonly slot: number
  /** Bytes that all versions together should take in memory; enforced only with a store. */
  readonly memoryBudgetBytes: number
  /** Where rows go that exceed the budget; without it they never leave memory. */
  readonly store?: StateStore
  /** Start of all keys of this state in the store. @default empty */
  readonly storePrefix?: Uint8Array
  readonly listener: RowTableListener
  /** Gives the sink that takes changed rows that leave memory before a snapshot. */
  readonly spillSink: () => ChangeSink
  /** @default the machine's clock */
  readonly clock?: Clock
  /** Log2 of the rows per segment. @default by dimension */
  readonly rowShift?: number
}

/**
 * All versions of one vector state on one slot: a row table each, one writer (this class), readers in
 * any thread through the shares that the listener is told of.
 *
 * How checkpoints work (see `VectorEpochs`): the last barrier's id is the write epoch of every row
 * written after it. `snapshot` takes the list of rows changed since the barrier before and raises the
 * epoch; that is all it does at the barrier. `step` copies the listed rows out. Three rules keep the cut:
 * 1. A row that is listed and about to change, be deleted or leave memory is copied out first.
 * 2. A changed row that leaves memory before any barrier goes to the spill sink, whose segment comes
 *    before the snapshot's; it is listed again if it changes again.
 * 3. A deleted row stays as a ghost (and its tombstone is listed) until the deletion is in a completed
 *    checkpoint.
 * Readers at the level `checkpoint` find in a row's chain of images the one that belongs to their
 * checkpoint. Cases: after barrier C+1 and before its completion, C and C+1 can both be read, so it
 * does not matter whether the slot or the reader hears first of the completion; when C+1 completes,
 * images valid only up to C are freed, a few with every write; when C+1 is aborted, nothing is told,
 * C stays readable, the rows copied out are in a segment that the next checkpoint refers to, and rows
 * written after C+1's barrier are listed for C+2 as usual; C+1 stops being readable at barrier C+3.
 * A new snapshot while one is unfinished first copies the old one to its end.
 */
export class VectorStateTables implements VectorState {
  readonly dimension: number
  private readonly options: VectorStateTablesOptions
  private readonly context: VectorTableContext
  private readonly keys: OwnKeys
  private readonly given: GivenRow
  private readonly ahead = new RowWriteAhead()
  private readonly clock: Clock
  private readonly epochs = new VectorEpochs()
  private readonly tables = new Map<number, VectorTable>()
  private readonly dropped: VectorSpill[] = []
  private running: VectorSnapshot | undefined
  private restoring = false
  private tombstonesNeeded = false
  private incarnation = 0
  private lastVersion = -1
  private lastTable: VectorTable | undefined

  constructor(options: VectorStateTablesOptions) {
    const { descriptor } = options
    this.options = options
    this.dimension = descriptor.dimension
    this.given = new GivenRow(descriptor)
    const maxKeyBytes = descriptor.maxKeyBytes ?? DEFAULT_MAX_KEY_BYTES
    const { keyGroups, maxParallelism, slot } = options
    this.keys = new OwnKeys({
      state: descriptor.name,
      maxKeyBytes,
      keyGroups,
      maxParallelism,
      slot,
    })
    this.clock = options.clock ?? systemClock
    this.context = {
      layout: rowTableLayout(descriptor.dimension, maxKeyBytes, options.rowShift),
      maxParallelism: options.maxParallelism,
      epochs: this.epochs,
      keepImages: descriptor.queryableName !== undefined,
      keepMean: descriptor.meanKey !== undefined,
      store: options.store,
      spillSink: options.spillSink,
      allows: (table, bytes) => this.allows(table, bytes),
      snapshot: () => this.running,
      needsTombstones: () =>
        this.tombstonesNeeded || this.epochs.current > 0 || options.store !== undefined,
    }
  }

  // ---- VectorState -------------------------------------------------------------------------------

  put(version: ModelVersion, key: Uint8Array, vector: Float32Array, origin: WriteOrigin): void {
    this.checkVector(vector)
    const hash = this.keys.hash(key)
    this.openVersion(version).put(key, hash, vector, origin)
  }

  putBytes(version: ModelVersion, key: Uint8Array, floats: ByteSpan, origin: WriteOrigin): void {
    this.put(version, key, this.given.take(floats), origin)
  }

  add(version: ModelVersion, key: Uint8Array, delta: Float32Array, origin: WriteOrigin): void {
    this.checkVector(delta)
    const hash = this.keys.hash(key)
    this.openVersion(version).add(key, hash, delta, origin)
  }

  get(version: ModelVersion, key: Uint8Array): VectorRow | undefined {
    return this.tables.get(version)?.get(key, murmur3(key) | 0)
  }

  readInto(version: ModelVersion, key: Uint8Array, target: VectorRowTarget): boolean {
    const table = version === this.lastVersion ? this.lastTable : this.tables.get(version)
    return table?.readInto(key, murmur3(key) | 0, target) ?? false
  }

  remove(version: ModelVersion, key: Uint8Array): boolean {
    const hash = this.keys.hash(key)
    return this.tables.get(version)?.remove(key, hash) ?? false
  }

  /** See `KeyedStateBackend.readAhead`: rows of the version that was written last. */
  readAhead(hashes: Int32Array, count: number): void {
    if (this.lastTable !== undefined) this.ahead.run(this.lastTable.rows, hashes, count)
  }

  size(version: ModelVersion): number {
    return this.tables.get(version)?.size ?? 0
  }

  versions(): ModelVersion[] {
    const versions = [...this.tables].filter(([, table]) => table.size > 0).map(([v]) => v)
    return versions.sort((a, b) => a - b) as ModelVersion[]
  }

  dropVersion(version: ModelVersion): void {
    const table = this.tables.get(version)
    if (table === undefined) return
    this.tables.delete(version)
    this.lastTable = undefined
    this.running?.forget(table)
    if (table.spill !== undefined) this.dropped.push(table.spill)
    this.options.listener.tableDropped(this.options.descriptor.name, version)
  }

  /**
   * Opens a version's table if it is not open, so that readers know it even while it has no row here.
   */
  openVersion(version: ModelVersion): VectorTable {
    if (version === this.lastVersion && this.lastTable !== undefined) return this.lastTable
    const table = this.tables.get(version) ?? this.createTable(version)
    this.lastVersion = version
    this.lastTable = table
    return table
  }

  private createTable(version: ModelVersion): VectorTable {
    const prefix = this.options.storePrefix ?? new Uint8Array(0)
    const full = new Uint8Array(prefix.length + 8)
    full.set(prefix)
    const view = new DataView(full.buffer, prefix.length)
    view.setUint32(0, version)
    view.setUint32(4, ++this.incarnation)
    const name = `${this.options.descriptor.name}@${version}`
    const table = new VectorTable(this.context, name, full)
    if (this.restoring) table.setRestoring(true)
    this.tables.set(version, table)
    this.options.listener.tableOpened(this.shareOf(version, table))
    return table
  }

  private shareOf(version: number, table: VectorTable): RowTableShare {
    const { descriptor, operatorUid, slot, keyGroups, maxParallelism } = this.options
    return {
      operatorUid,
      state: descriptor.name,
      queryableName: descriptor.queryableName,
      keySuffix: descriptor.keySuffix ?? '',
      meanKey: descriptor.meanKey,
      version,
      slot,
      firstKeyGroup: keyGroups.first,
      lastKeyGroup: keyGroups.last,
      maxParallelism,
      dimension: descriptor.dimension,
      memory: table.rows.memory,
    }
  }

  /** Shares of the open versions. */
  shares(): RowTableShare[] {
    return [...this.tables].map(([version, table]) => this.shareOf(version, table))
  }

  private checkVector(vector: Float32Array): void {
    this.given.checkLength(vector.length)
    checkFinite(vector)
  }

  private allows(table: VectorTable, bytes: number): boolean {
    if (this.memoryBytes + bytes <= this.options.memoryBudgetBytes) return true
    const share = this.options.memoryBudgetBytes / (4 * this.tables.size)
    return table.rows.rowLimit === 0 || table.bytes + bytes <= share
  }

  /**
   * Bytes of memory that all versions take. A version that is opened when others use up the budget
   * may still take a quarter of its even share, so this can pass the budget by that much.
   */
  get memoryBytes(): number {
    let bytes = 0
    for (const table of this.tables.values()) bytes += table.bytes
    return bytes
  }

  // ---- Queries -----------------------------------------------------------------------------------

  /** Answers in the order of the keys, see `vectorRowAnswers`. */
  answerRows(version: number, keys: readonly Uint8Array[], bring = false): SlotQueryAnswer[] {
    const table = this.tables.get(version)
    if (table !== undefined) return vectorRowAnswers(table, keys, bring, this.restoring)
    const kind = this.restoring ? 'restoring' : 'missing'
    return keys.map((key) => ({ kind, key }))
  }

  /** Rows with `from <= key < to` in key order, spilled ones included, at most `limit`, encoded. */
  scan(version: number, from: Uint8Array, to: Uint8Array, limit: number): SlotQueryAnswer[] {
    const table = this.tables.get(version)
    return table === undefined ? [] : vectorScan(table, from, to, limit)
  }

  /**
   * Rows that the store has an entry of, from a key on, in key order, at most `limit`; rows that are
   * in memory too are given as they are in memory. With a pass over the rows in memory before it, this
   * meets every row of the version. An answer shorter than `limit` is the last.
   */
  storedPage(version: number, from: Uint8Array, limit: number): SlotQueryAnswer[] {
    const table = this.tables.get(version)
    return table === undefined ? [] : vectorStoredPage(table, from, limit)
  }

  // ---- Checkpoints -------------------------------------------------------------------------------

  /** Fixes the changes since the last barrier (all rows when `full`); see the class. */
  snapshot(checkpointId: number, sink: ChangeSink, full: boolean): StateSnapshot {
    if (this.running !== undefined) while (!this.running.step(1000));
    const previous = this.epochs.current
    this.epochs.barrier(checkpointId)
    const nowMs = (): number => this.clock.monotonicMs()
    this.running = new VectorSnapshot(this.tables.values(), checkpointId, previous, {
      sink,
      full,
      nowMs,
    })
    for (const table of this.tables.values()) {
      table.mean?.keep(checkpointId, this.epochs.completed)
      table.publishEpochs()
    }
    return this.running
  }

  /** The checkpoint is durable: readers move to it, images of older ones may go. */
  checkpointCompleted(checkpointId: number): void {
    if (!this.epochs.complete(checkpointId)) return
    for (const table of this.tables.values()) {
      table.publishEpochs()
      table.spill?.sweepGhosts()
      table.sweep(SWEEP_BATCH)
    }
  }

  /**
   * Housekeeping for about `budgetMs`: frees images and deleted rows that no checkpoint needs, and
   * store entries of dropped versions. True when nothing is left. Writes do the first a little, too.
   */
  maintain(budgetMs: number): boolean {
    const end = this.clock.monotonicMs() + budgetMs
    for (const table of this.tables.values()) {
      while (!table.sweep(SWEEP_BATCH)) if (this.clock.monotonicMs() >= end) return false
    }
    while (this.dropped.length > 0) {
      if (this.dropped[0]!.purge(PURGE_BATCH)) this.dropped.shift()
      if (this.clock.monotonicMs() >= end) return false
    }
    return true
  }

  /** The open versions as they are declared in checkpoints. */
  declarations(): StateDeclaration[] {
    const versions = [...this.tables.keys()].sort((a, b) => a - b)
    return versions.map((version) => ({
      name: `${this.options.descriptor.name}@${version}`,
      kind: 'vector',
      format: `float32[${this.dimension}]`,
    }))
  }

  // ---- Restore -----------------------------------------------------------------------------------

  /** From here to `endRestore` a missing key answers RESTORING to readers. */
  beginRestore(): void {
    this.restoring = true
    for (const table of this.tables.values()) table.setRestoring(true)
  }

  /** Versions whose table is open. */
  get versionsOpen(): number {
    return this.tables.size
  }

  /** Sizes the indexes for so many restored rows each, or for those that the budget has room for. */
  expectRows(rows: number): void {
    const { layout, store } = this.context
    const rowBytes = (layout.segmentWords * 4) / 2 ** layout.rowShift
    const fitting = this.options.memoryBudgetBytes / this.tables.size / rowBytes
    const expected = store === undefined ? rows : Math.min(rows, Math.floor(fitting))
    for (const table of this.tables.values()) table.rows.index.reserve(expected)
  }

  /**
   * One entry of a segment, newest segment first: the first one of a key wins, `undefined` is a
   * deletion. The key's group must be this slot's. Throws MALFORMED_DATA, UNSUPPORTED_VERSION.
   */
  restoreRow(version: ModelVersion, key: Uint8Array, value: Uint8Array | undefined): void {
    this.openVersion(version).restoring.takeEntry(key, value)
  }

  /** See `KeyedStateBackend.wantedKeyGroup`. */
  wantedKeyGroup(): number {
    for (const table of this.tables.values()) {
      const wanted = Atomics.exchange(table.rows.arena.words, CONTROL_WANTED, 0)
      if (wanted > 0) return wanted - 1
    }
    return -1
  }

  /** The rows stand as in the checkpoint; a missing key is now really missing. */
  endRestore(checkpointId: number): void {
    this.restoring = false
    this.tombstonesNeeded = true
    this.epochs.restored(checkpointId)
    for (const table of this.tables.values()) {
      table.restoring.end()
      table.mean?.keep(checkpointId, this.epochs.completed)
      table.publishEpochs()
      table.setRestoring(false)
    }
  }

  /** Bytes of one encoded row. */
  get rowBytes(): number {
    return vectorRowBytes(this.dimension)
  }

  /** Lets go of every version; idempotent. The store is the caller's. */
  close(): void {
    for (const [version, table] of [...this.tables]) {
      this.running?.forget(table)
      this.tables.delete(version)
      this.options.listener.tableDropped(this.options.descriptor.name, version)
    }
    this.lastTable = undefined
    this.running = undefined
  }
}
