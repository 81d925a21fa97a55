import { murmur3 } from '../../core/hash/murmur3.ts'
import { keyGroupOfHash } from '../../core/key-group.ts'
import type { ChangeSink } from '../port/change.ts'
import { KeyWindows } from '../rows/key-window.ts'
import {
  CONTROL_EPOCH,
  CONTROL_EVICTING,
  CONTROL_LIVE_ROWS,
  CONTROL_RESTORING,
  CONTROL_RETAINED,
  KIND_IMAGES,
  KIND_ROWS,
  RETAINED_CHECKPOINTS,
  type RowTableLayout,
  STATE_LIVE,
} from '../rows/layout.ts'
import { RowQueue } from '../rows/row-list.ts'
import { RowTable } from '../rows/row-table.ts'
import { VectorRowScratch } from '../rows/scratch.ts'
import type { StateStore } from '../store/state-store.ts'
import { VectorChangedRows } from './changed-rows.ts'
import type { VectorEpochs } from './epochs.ts'
import { VectorImages } from './images.ts'
import { VectorMean } from './mean.ts'

/** State that all versions of one vector state on one slot share; `OpenVersions` implements it. */
export interface VersionContext {
  readonly maxParallelism: number
  readonly epochs: VectorEpochs
  /** Whether to keep before-images for readers at the `checkpoint` level. */
  readonly keepImages: boolean
  readonly keepMean: boolean
  /** Receives rows that memory has no room for; without it memory holds everything. */
  readonly store: StateStore | undefined
  readonly spillSink: () => ChangeSink
  /** Whether rows of a checkpoint are still coming in. */
  readonly restoring: boolean
  /** The snapshot being copied out. */
  readonly snapshot: RowsSnapshot | undefined
  /** Whether a change sink has, or restored segments have, entries of earlier epochs. */
  readonly needsTombstones: boolean
  /** Whether a version may take this many more bytes. */
  allows(version: VersionMemory, bytes: number): boolean
}

/** The events of rows that a snapshot must see while it is copied out. */
export interface RowsSnapshot {
  /** Writes the row now if the snapshot holds it and has not written it yet. */
  beforeChange(version: VersionMemory, row: number): void
  /** A row is about to leave memory, after `beforeChange`. */
  beforeLeaving(version: VersionMemory, row: number): void
}

/** Moves rows out of memory; `VectorSpill` implements it. */
export interface RowEvictor {
  /** Bytes of memory that the evictor itself takes. */
  readonly bytes: number
  /** Frees some rows; false when every row is pinned. */
  evict(): boolean
}

/**
 * The rows of one model version that are in memory, with all that belongs to them: older images,
 * the mean, the list of rows changed since the last barrier, the queue of tombstoned rows.
 */
export class VersionMemory {
  readonly context: VersionContext
  /** `<state>@<version>`, as in segments. */
  readonly stateName: string
  readonly rows: RowTable
  readonly scratch: VectorRowScratch
  readonly images: VectorImages
  readonly mean: VectorMean | undefined
  readonly changed: VectorChangedRows
  /** Keys in order, for scans. */
  readonly windows: KeyWindows
  /**
   * Deleted rows, oldest first. Each is kept until its deletion is in a completed checkpoint: the next
   * segment needs its tombstone and readers of checkpoints its images.
   */
  readonly tombstoned = new RowQueue()
  /** A row that must not be evicted: it is being written. */
  pinned = -1
  /** Undefined without a store. */
  evictor: RowEvictor | undefined

  constructor(context: VersionContext, stateName: string, layout: RowTableLayout) {
    this.context = context
    this.stateName = stateName
    this.rows = new RowTable(layout)
    this.scratch = new VectorRowScratch(this.rows)
    this.windows = new KeyWindows(this.rows)
    this.changed = new VectorChangedRows(this.rows, context.epochs)
    const { arena } = this.rows
    this.mean = context.keepMean ? new VectorMean(arena, layout.dimension) : undefined
    this.images = new VectorImages(this.rows, context.epochs, (kind) => this.take(kind))
    arena.words[CONTROL_EVICTING] = context.store === undefined ? 0 : 1
    this.publishEpochs()
  }

  /** Bytes of this version in memory, its lists and filters included. */
  get bytes(): number {
    return this.rows.allocatedBytes + this.changed.bytes + (this.evictor?.bytes ?? 0)
  }

  /** Whether memory has the key, deleted or not. */
  has(key: Uint8Array): boolean {
    return this.rows.find(key, murmur3(key) | 0) >= 0
  }

  /** A free row: from the free list, by growth, or by eviction. Throws OUT_OF_ROW_MEMORY. */
  take(kind: typeof KIND_ROWS | typeof KIND_IMAGES): number {
    const free = this.rows.takeFree(kind)
    if (free >= 0) return free
    const bytes = this.rows.layout.segmentWords * 4
    if (this.evictor === undefined) return this.rows.grow(kind)
    if (this.context.allows(this, bytes) && this.rows.canGrow()) return this.rows.grow(kind)
    const other = kind === KIND_IMAGES ? this.rows.takeFree(KIND_ROWS) : -1
    if (other >= 0) return other
    if (!this.evictor.evict()) return this.rows.grow(kind)
    return this.rows.takeFree(KIND_ROWS)
  }

  /** Makes a complete row visible to readers. */
  enter(row: number, hash: number): void {
    this.rows.count(CONTROL_LIVE_ROWS, 1)
    this.rows.index.insert(hash, row)
    if (this.windows.isActive) this.windows.add(row)
  }

  /** Removes a row from the index and frees it with its images. */
  release(row: number): void {
    this.rows.index.remove(this.rows.hashOf(row), row)
    this.images.freeChain(row)
    this.rows.free(row)
  }

  /** Writes a row's change into a sink: its value, or a tombstone if it is deleted. */
  emit(row: number, sink: ChangeSink): void {
    const key = this.scratch.keyOf(row)
    const group = keyGroupOfHash(this.rows.hashOf(row) >>> 0, this.context.maxParallelism)
    const live = (this.rows.stateOf(row) & STATE_LIVE) !== 0
    sink.append(group, this.stateName, key, live ? this.scratch.encode(row) : undefined)
  }

  /** Shows readers the epoch and the checkpoints that can be read. */
  publishEpochs(): void {
    const words = this.rows.arena.words
    const { epochs } = this.context
    Atomics.store(words, CONTROL_EPOCH, epochs.current)
    const retained = epochs.retained
    for (let i = 0; i < RETAINED_CHECKPOINTS; i++) {
      Atomics.store(words, CONTROL_RETAINED + i, retained[i] ?? 0)
    }
  }

  /** Shows readers whether a missing row may still be restored. */
  setRestoring(restoring: boolean): void {
    if (!restoring) this.rows.index.bumpEpoch()
    Atomics.store(this.rows.arena.words, CONTROL_RESTORING, restoring ? 1 : 0)
  }
}
