import type { Clock } from '../../core/clock.ts'
import { keyGroupOf } from '../../core/key-group.ts'
import type { ChangeSink, StateSnapshot } from '../port/change.ts'
import { VECTOR_ROW_DELETED, vectorRowBytes } from '../rows/codec.ts'
import {
  META_LISTED,
  META_THROUGH,
  META_WRITE_EPOCH,
  ROW_STATE,
  STATE_CLEAN,
  STATE_IMAGE,
  STATE_LIVE,
  STATE_STORED,
} from '../rows/layout.ts'
import type { RowList } from '../rows/row-list.ts'
import { type SnapshotPart, SnapshotRun } from '../snapshot/run.ts'
import { StoredScan } from '../snapshot/stored-scan.ts'
import type { RowsSnapshot, VersionMemory } from './version-memory.ts'
import type { VersionRows } from './version-rows.ts'

/** Options of `VectorSnapshot`. */
export interface VectorSnapshotOptions {
  readonly versions: Iterable<VersionRows>
  /** Id of the barrier. */
  readonly barrier: number
  /** Id of the barrier before. */
  readonly previous: number
  readonly sink: ChangeSink
  readonly full: boolean
  readonly clock: Clock
}

/**
 * Copies out what one vector state held when a barrier passed. Incremental: the rows listed as
 * changed in the interval that the barrier ended. Full: the store's entries, then every row in
 * memory. A row that is about to change or to leave memory before its turn is copied first, so the
 * cut stays exact; nothing is done at the barrier itself but taking the lists.
 */
export class VectorSnapshot implements StateSnapshot, RowsSnapshot {
  entries = 0
  private readonly sink: ChangeSink
  private readonly full: boolean
  private readonly barrier: number
  /** Value of META_LISTED of rows that changed in the interval before the barrier. */
  private readonly mark: number
  private readonly parts = new Map<VersionMemory, VersionPart>()
  private readonly run: SnapshotRun

  /** Fixes the cut: to be created at the barrier. */
  constructor({ versions, barrier, previous, sink, full, clock }: VectorSnapshotOptions) {
    this.sink = sink
    this.full = full
    this.barrier = barrier
    this.mark = previous + 1
    for (const version of versions) {
      this.parts.set(version.memory, new VersionPart(this, version, full))
    }
    this.run = new SnapshotRun([...this.parts.values()], clock)
  }

  step(budgetMs: number): boolean {
    return this.run.step(budgetMs)
  }

  /** Leaves out a version that was dropped. */
  forget(version: VersionRows): void {
    this.parts.get(version.memory)?.end()
  }

  beforeChange(version: VersionMemory, row: number): void {
    if (!this.run.done) this.copyIfPending(version, row)
  }

  beforeLeaving(version: VersionMemory, row: number): void {
    if (!this.full) return
    const state = version.rows.stateOf(row)
    if ((state & STATE_STORED) === 0 || (state & STATE_CLEAN) !== 0) return
    const stored = this.parts.get(version)?.stored
    if (stored?.isOpen) stored.override(version.scratch.keyOf(row))
  }

  /** Copies a row of memory out, unless that is done or the cut does not hold it. */
  copyIfPending(version: VersionMemory, row: number): void {
    if (!this.isPending(version, row)) return
    this.entries++
    version.emit(row, this.sink)
    const words = version.rows.arena.words
    const meta = version.rows.metaOf(row)
    if (this.full) words[meta + META_THROUGH] = this.barrier
    else words[meta + META_LISTED] = 0
  }

  private isPending(version: VersionMemory, row: number): boolean {
    const words = version.rows.arena.words
    const meta = version.rows.metaOf(row)
    const state = words[version.rows.headerOf(row) + ROW_STATE]!
    // A listed row may have left memory and its number may be an image's now.
    if ((state & STATE_IMAGE) !== 0) return false
    if (!this.full) return words[meta + META_LISTED] === this.mark
    return (
      (state & STATE_LIVE) !== 0 &&
      words[meta + META_WRITE_EPOCH]! < this.barrier &&
      words[meta + META_THROUGH] !== this.barrier
    )
  }

  /** Copies an entry of the store out. */
  copyStored(version: VersionMemory, key: Uint8Array, value: Uint8Array): void {
    if ((value[1]! & VECTOR_ROW_DELETED) !== 0 || version.has(key)) return
    const { maxParallelism } = version.context
    const row = value.subarray(0, vectorRowBytes(version.rows.layout.dimension))
    this.entries++
    this.sink.append(keyGroupOf(key, maxParallelism), version.stateName, key, row)
  }
}

/** One version's part: in a full snapshot its store entries and all its rows, else the changed rows. */
class VersionPart implements SnapshotPart {
  readonly stored: StoredScan | undefined
  private readonly snapshot: VectorSnapshot
  private readonly version: VersionMemory
  private readonly changed: RowList
  private readonly full: boolean
  private next = 0

  constructor(snapshot: VectorSnapshot, { memory, spill }: VersionRows, full: boolean) {
    this.snapshot = snapshot
    this.version = memory
    this.full = full
    this.changed = memory.changed.take()
    if (full && spill !== undefined) this.stored = new StoredScan(spill.entries(new Uint8Array(0)))
  }

  copyStored(key: Uint8Array, value: Uint8Array): void {
    this.snapshot.copyStored(this.version, key, value)
  }

  copyNext(): boolean {
    const length = this.full ? this.version.rows.rowLimit : this.changed.length
    if (this.next >= length) return false
    const row = this.full ? this.next : this.changed.at(this.next)
    this.next += 1
    this.snapshot.copyIfPending(this.version, row)
    return true
  }

  end(): void {
    this.stored?.close()
    this.next = Number.MAX_SAFE_INTEGER
  }
}
