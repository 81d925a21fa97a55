import type { Clock } from '../../core/clock.ts'
import type { KeyGroupRange } from '../../core/key-group.ts'
import type { ModelVersion } from '../../core/model-version.ts'
import type { ChangeSink } from '../port/change.ts'
import type { VectorStateDescriptor } from '../port/descriptors.ts'
import { DEFAULT_MAX_KEY_BYTES } from '../port/key-length.ts'
import { type RowTableLayout, rowTableLayout } from '../rows/layout.ts'
import type { RowTableListener, RowTableShare } from '../rows/share.ts'
import type { Leftovers } from '../store/leftovers.ts'
import type { StateStore } from '../store/state-store.ts'
import { VectorEpochs } from './epochs.ts'
import type { VectorSnapshot } from './snapshot.ts'
import type { VersionContext, VersionMemory } from './version-memory.ts'
import { VersionRows } from './version-rows.ts'

/** Store entries of dropped versions deleted at a time. */
const PURGE_BATCH = 256
/** Images and tombstoned rows looked at between two looks at the clock. */
const SWEEP_BATCH = 256

/** Options of one vector state on one slot. */
export interface VersionedRowsOptions {
  readonly operatorUid: string
  readonly descriptor: VectorStateDescriptor
  /** Key groups of this slot; writes of others throw NOT_OWNER. */
  readonly keyGroups: KeyGroupRange
  readonly maxParallelism: number
  readonly slot: number
  /** Bytes that all versions together should take in memory; enforced only with a store. */
  readonly memoryBudgetBytes: number
  /** Receives rows that exceed the budget; without it they never leave memory. */
  readonly store?: StateStore
  /** Start of all keys of this state in the store. @default empty */
  readonly storePrefix?: Uint8Array
  readonly listener: RowTableListener
  /** Returns the sink of changed rows that leave memory before a snapshot. */
  readonly spillSink: () => ChangeSink
  /** @default the machine's clock */
  readonly clock?: Clock
  /** Log2 of the rows per segment. @default by dimension */
  readonly rowShift?: number
}

/** The open versions of one vector state on one slot, which share one memory budget and one store. */
export class OpenVersions implements VersionContext {
  readonly maxKeyBytes: number
  readonly maxParallelism: number
  readonly epochs = new VectorEpochs()
  readonly keepImages: boolean
  readonly keepMean: boolean
  readonly store: StateStore | undefined
  readonly spillSink: () => ChangeSink
  snapshot: VectorSnapshot | undefined
  restoring = false
  /** Whether a checkpoint was restored: its segments may hold any row. */
  restored = false
  private readonly options: VersionedRowsOptions
  private readonly clock: Clock
  /** Of the versions that have the dimension of the state. */
  private readonly layout: RowTableLayout
  private readonly versions = new Map<number, VersionRows>()
  /** Store entries of dropped versions. Their tables are not kept: readers may free the memory. */
  private readonly dropped: Leftovers[] = []
  /** Versions that are not open, of which segments may have rows. */
  private readonly inSegments = new Set<number>()
  /** Versions that were dropped while they were restored. */
  private readonly leftOut = new Set<number>()
  /** Whether segments have rows of a version that was dropped and opened again: the next snapshot must replace them. */
  needsFull = false
  /** Distinguishes the store entries of a version from those of an earlier one of its number. */
  private incarnation = 0
  private lastVersion = -1
  /** The version that was opened last. */
  last: VersionRows | undefined

  constructor(options: VersionedRowsOptions, clock: Clock) {
    const { descriptor } = options
    this.options = options
    this.clock = clock
    this.maxKeyBytes = descriptor.maxKeyBytes ?? DEFAULT_MAX_KEY_BYTES
    this.layout = this.layoutOf(descriptor.dimension)
    this.maxParallelism = options.maxParallelism
    this.keepImages = descriptor.queryableName !== undefined
    this.keepMean = descriptor.meanKey !== undefined
    this.store = options.store
    this.spillSink = options.spillSink
  }

  get needsTombstones(): boolean {
    return this.restored || this.epochs.current > 0 || this.store !== undefined
  }

  get count(): number {
    return this.versions.size
  }

  /**
   * Bytes of memory that all versions take. A version that is opened when others use up the budget
   * may still take a quarter of its even share, so this can exceed the budget by that much.
   */
  get memoryBytes(): number {
    let bytes = 0
    for (const { memory } of this.versions.values()) bytes += memory.bytes
    return bytes
  }

  allows(version: VersionMemory, bytes: number): boolean {
    if (this.memoryBytes + bytes <= this.options.memoryBudgetBytes) return true
    const share = this.options.memoryBudgetBytes / (4 * this.versions.size)
    return version.rows.rowLimit === 0 || version.bytes + bytes <= share
  }

  [Symbol.iterator](): IterableIterator<VersionRows> {
    return this.versions.values()
  }

  entries(): IterableIterator<[version: number, rows: VersionRows]> {
    return this.versions.entries()
  }

  /** An open version; undefined if it is not open. */
  of(version: number): VersionRows | undefined {
    return version === this.lastVersion ? this.last : this.versions.get(version)
  }

  /** Floats of a version's rows, or those that it would be opened with. */
  dimensionOf(version: number): number {
    return this.of(version)?.rows.layout.dimension ?? this.layout.dimension
  }

  /** Opens a version if it is not open, so that readers know it even while it has no row here. */
  open(version: ModelVersion, dimension?: number): VersionRows {
    if (version === this.lastVersion && this.last !== undefined) return this.last
    const rows = this.versions.get(version) ?? this.create(version, dimension)
    this.lastVersion = version
    this.last = rows
    return rows
  }

  private layoutOf(dimension: number): RowTableLayout {
    return rowTableLayout(dimension, this.maxKeyBytes, this.options.rowShift)
  }

  private create(version: ModelVersion, dimension: number = this.layout.dimension): VersionRows {
    this.needsFull ||= this.inSegments.has(version)
    const prefix = this.options.storePrefix ?? new Uint8Array(0)
    const full = new Uint8Array(prefix.length + 8)
    full.set(prefix)
    const view = new DataView(full.buffer, prefix.length)
    view.setUint32(0, version)
    view.setUint32(4, ++this.incarnation)
    const name = `${this.options.descriptor.name}@${version}`
    const layout = dimension === this.layout.dimension ? this.layout : this.layoutOf(dimension)
    const rows = new VersionRows(this, name, layout, full)
    if (this.restoring) rows.memory.setRestoring(true)
    this.versions.set(version, rows)
    this.options.listener.tableOpened(this.shareOf(version, rows))
    return rows
  }

  /** Forgets a version; `maintain` deletes what the store has of it. */
  drop(version: number): void {
    const rows = this.versions.get(version)
    if (rows === undefined) return
    this.remove(version, rows)
    const leftovers = rows.spill?.leftovers
    if (leftovers !== undefined) this.dropped.push(leftovers)
    if (this.restoring) this.leftOut.add(version)
    if (this.restoring || this.needsTombstones) this.inSegments.add(version)
  }

  /** Whether rows of a version that a restore brings are left out, because it was dropped meanwhile. */
  leavesOut(version: number): boolean {
    return this.leftOut.has(version)
  }

  /** The restore has ended. */
  restoreEnded(): void {
    this.restoring = false
    this.restored = true
    this.leftOut.clear()
  }

  /** Segments have rows of a version that the checkpoint does not have. */
  foundInSegments(version: number): void {
    if (this.versions.has(version)) this.needsFull = true
    else this.inSegments.add(version)
  }

  /** A snapshot of all rows was taken: segments of before are not read any more. */
  allSnapshot(): void {
    this.inSegments.clear()
    this.needsFull = false
  }

  /** Forgets all versions; idempotent. */
  close(): void {
    for (const [version, rows] of [...this.versions]) this.remove(version, rows)
    this.snapshot = undefined
  }

  private remove(version: number, rows: VersionRows): void {
    this.versions.delete(version)
    this.lastVersion = -1
    this.last = undefined
    this.snapshot?.forget(rows)
    this.options.listener.tableDropped(this.options.descriptor.name, version)
  }

  /** Shares of the open versions. */
  shares(): RowTableShare[] {
    return [...this.versions].map(([version, rows]) => this.shareOf(version, rows))
  }

  private shareOf(version: number, { memory }: VersionRows): RowTableShare {
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
      dimension: memory.rows.layout.dimension,
      memory: memory.rows.memory,
    }
  }

  /** The checkpoint is durable: readers move to it, images of older ones may be freed. */
  checkpointCompleted(checkpointId: number): void {
    if (!this.epochs.complete(checkpointId)) return
    for (const rows of this) {
      rows.memory.publishEpochs()
      rows.spill?.sweepTombstones()
      rows.sweep(SWEEP_BATCH)
    }
  }

  /**
   * Housekeeping for about `budgetMs`: frees images and tombstoned rows that no checkpoint needs, and
   * store entries of dropped versions. True when nothing is left. Writes do a little of the first, too.
   */
  maintain(budgetMs: number): boolean {
    const end = this.clock.monotonicMs() + budgetMs
    for (const rows of this) {
      while (!rows.sweep(SWEEP_BATCH)) if (this.clock.monotonicMs() >= end) return false
    }
    while (this.dropped.length > 0) {
      if (this.dropped[0]!.purge(PURGE_BATCH)) this.dropped.shift()
      if (this.clock.monotonicMs() >= end) return false
    }
    return true
  }
}
