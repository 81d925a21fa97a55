import { WeirError } from '../core/errors.ts'
import { keyGroupOfHash } from '../core/key-group.ts'
import { murmur3 } from '../core/murmur3.ts'
import type { VectorRow, VectorRowTarget, WriteOrigin } from './handles.ts'
import { type RowList, RowTable } from './row-table.ts'
import {
  CONTROL_EPOCH,
  CONTROL_EVICTING,
  CONTROL_LIVE_ROWS,
  CONTROL_RESTORING,
  CONTROL_RETAINED,
  KIND_IMAGES,
  KIND_ROWS,
  META_EVENT_TIME,
  META_IMAGE,
  META_OFFSET,
  META_PARTITION,
  META_UPDATE_COUNT,
  META_WRITE_EPOCH,
  RETAINED_CHECKPOINTS,
  ROW_REFERENCE,
  ROW_STATE,
  type RowTableLayout,
  STATE_DELETED,
  STATE_KEY_LENGTH,
  STATE_LIVE,
  STATE_STORED,
} from './row-table-layout.ts'
import type { ChangeSink } from './state-change.ts'
import type { StateStore } from './state-store.ts'
import { VectorChangedRows } from './vector-changed-rows.ts'
import type { VectorEpochs } from './vector-epochs.ts'
import { RowQueue, VectorImages } from './vector-images.ts'
import { VectorMean } from './vector-mean.ts'
import { VectorRestore } from './vector-restore.ts'
import { VectorRowScratch } from './vector-row-scratch.ts'
import type { VectorSnapshot } from './vector-snapshot.ts'
import { VectorSpill } from './vector-spill.ts'

/** Images and deleted rows looked at with every write. */
const SWEEP_PER_WRITE = 2

/** What all versions of one vector state on one slot share. */
export interface VectorTableContext {
  readonly layout: RowTableLayout
  readonly maxParallelism: number
  readonly epochs: VectorEpochs
  /** Keep before-images for readers at the `checkpoint` level. */
  readonly keepImages: boolean
  readonly keepMean: boolean
  readonly store: StateStore | undefined
  readonly spillSink: () => ChangeSink
  /** Whether a table may take this many more bytes. */
  readonly allows: (table: VectorTable, bytes: number) => boolean
  /** The snapshot being copied out, if one is. */
  readonly snapshot: () => VectorSnapshot | undefined
  /** A change sink has, or restored segments have, entries of earlier epochs. */
  readonly needsTombstones: () => boolean
}

/**
 * The rows of one model version on one slot: writes, deletions, the list of rows changed since the
 * last barrier, and their older images. `VectorStateTables` says how the parts work together.
 */
export class VectorTable {
  readonly context: VectorTableContext
  /** `<state>@<version>`, as in segments. */
  readonly stateName: string
  readonly rows: RowTable
  readonly images: VectorImages
  readonly mean: VectorMean | undefined
  readonly spill: VectorSpill | undefined
  readonly scratch: VectorRowScratch
  /** A row that must not be evicted: it is being written. */
  pinned = -1
  readonly restoring: VectorRestore
  private readonly changed: VectorChangedRows
  private readonly ghosts = new RowQueue()
  private readonly sum: Float32Array

  constructor(context: VectorTableContext, stateName: string, storePrefix: Uint8Array) {
    this.context = context
    this.stateName = stateName
    this.rows = new RowTable(context.layout)
    this.scratch = new VectorRowScratch(this.rows)
    this.changed = new VectorChangedRows(this.rows, context.epochs)
    this.sum = new Float32Array(context.layout.dimension)
    const { arena } = this.rows
    this.mean = context.keepMean ? new VectorMean(arena, context.layout.dimension) : undefined
    this.images = new VectorImages(this.rows, context.epochs, (kind) => this.take(kind))
    this.spill =
      context.store === undefined ? undefined : new VectorSpill(this, context.store, storePrefix)
    arena.words[CONTROL_EVICTING] = context.store === undefined ? 0 : 1
    this.restoring = new VectorRestore(this)
    this.publishEpochs()
  }

  /** Bytes of this version in memory, its lists and filters included. */
  get bytes(): number {
    return this.rows.allocatedBytes + this.changed.bytes + (this.spill?.bytes ?? 0)
  }

  /** Rows, spilled ones included. */
  get size(): number {
    return this.rows.liveRows + (this.spill?.liveRows ?? 0)
  }

  put(key: Uint8Array, hash: number, vector: Float32Array, origin: WriteOrigin): void {
    const row = this.bring(key, hash)
    if (row < 0) this.create(key, hash, vector, origin)
    else this.overwrite(row, vector, origin)
  }

  /** Adds a delta to a row that starts as zero. Throws NOT_FINITE when the sum overflows. */
  add(key: Uint8Array, hash: number, delta: Float32Array, origin: WriteOrigin): void {
    const row = this.bring(key, hash)
    if (row < 0) this.create(key, hash, delta, origin)
    else if ((this.rows.stateOf(row) & STATE_LIVE) === 0) this.overwrite(row, delta, origin)
    else this.overwrite(row, this.sumWith(row, delta), origin)
  }

  private sumWith(row: number, delta: Float32Array): Float32Array {
    const floats = this.rows.arena.floats
    const from = this.rows.floatsOf(row)
    const sum = this.sum
    for (let i = 0; i < sum.length; i++) sum[i] = floats[from + i]! + delta[i]!
    checkFinite(sum)
    return sum
  }

  /** The row's number with the key, brought into memory if it was spilled; -1 if there is none. */
  bring(key: Uint8Array, hash: number): number {
    const row = this.rows.find(key, hash)
    if (row >= 0) {
      if (this.spill !== undefined)
        this.rows.arena.words[this.rows.headerOf(row) + ROW_REFERENCE] = 1
      return row
    }
    return this.spill === undefined ? -1 : this.spill.load(key, hash)
  }

  private create(key: Uint8Array, hash: number, vector: Float32Array, origin: WriteOrigin): void {
    const row = this.take(KIND_ROWS)
    const epoch = this.context.epochs.current
    this.mean?.begin()
    this.rows.beginWrite(row)
    this.rows.writeKey(row, key, key.length, hash, STATE_LIVE)
    const { words } = this.rows.arena
    const meta = this.rows.metaOf(row)
    words[meta + META_WRITE_EPOCH] = epoch
    this.writeFloats(row, vector, false)
    this.writeMeta(row, origin)
    this.rows.endWrite(row)
    this.mean?.end()
    this.enter(row, hash)
    this.changed.note(row)
    this.sweep(SWEEP_PER_WRITE)
  }

  /** Makes a complete row visible. */
  enter(row: number, hash: number): void {
    this.rows.count(CONTROL_LIVE_ROWS, 1)
    this.rows.index.insert(hash, row)
  }

  private overwrite(row: number, vector: Float32Array, origin: WriteOrigin): void {
    const image = this.prepareWrite(row)
    const words = this.rows.arena.words
    const header = this.rows.headerOf(row)
    const wasLive = (words[header + ROW_STATE]! & STATE_LIVE) !== 0
    this.mean?.begin()
    this.rows.beginWrite(row)
    words[header + ROW_STATE] =
      (words[header + ROW_STATE]! & (STATE_KEY_LENGTH | STATE_STORED)) | STATE_LIVE
    this.linkImage(row, image)
    if (!wasLive) words[this.rows.metaOf(row) + META_UPDATE_COUNT] = 0
    this.writeFloats(row, vector, wasLive)
    this.writeMeta(row, origin)
    this.rows.endWrite(row)
    this.mean?.end()
    if (!wasLive) this.rows.count(CONTROL_LIVE_ROWS, 1)
    this.sweep(SWEEP_PER_WRITE)
  }

  private writeFloats(row: number, vector: Float32Array, wasLive: boolean): void {
    const to = this.rows.floatsOf(row)
    if (this.mean === undefined) {
      const { floats } = this.rows.arena
      for (let i = 0; i < vector.length; i++) floats[to + i] = vector[i]!
    } else if (wasLive) this.mean.overwrite(to, vector)
    else this.mean.write(to, vector)
  }

  private writeMeta(row: number, origin: WriteOrigin): void {
    const { words, doubles } = this.rows.arena
    const meta = this.rows.metaOf(row)
    words[meta + META_UPDATE_COUNT]! += 1
    words[meta + META_PARTITION] = origin.partition
    doubles[(meta + META_OFFSET) >> 1] = origin.offset
    doubles[(meta + META_EVENT_TIME) >> 1] = origin.eventTime
  }

  /**
   * Before a row changes: a running snapshot that needs it copies it out, it joins the list of
   * changed rows, and what it was at the last barrier is saved. The link to that image, or -1.
   */
  private prepareWrite(row: number): number {
    const epoch = this.context.epochs.current
    const meta = this.rows.metaOf(row)
    this.context.snapshot()?.beforeWrite(this, row)
    const words = this.rows.arena.words
    this.changed.note(row)
    if (!this.context.keepImages || words[meta + META_WRITE_EPOCH]! >= epoch) return -1
    this.pinned = row
    const image = this.images.save(row)
    this.pinned = -1
    return image
  }

  private linkImage(row: number, image: number): void {
    const words = this.rows.arena.words
    const meta = this.rows.metaOf(row)
    if (image >= 0) words[meta + META_IMAGE] = image
    words[meta + META_WRITE_EPOCH] = this.context.epochs.current
  }

  /** A copy of the row, or undefined. */
  get(key: Uint8Array, hash: number): VectorRow | undefined {
    const row = this.bring(key, hash)
    if (row < 0 || (this.rows.stateOf(row) & STATE_LIVE) === 0) return undefined
    const { words, doubles, floats } = this.rows.arena
    const meta = this.rows.metaOf(row)
    const from = this.rows.floatsOf(row)
    const vector = new Float32Array(this.context.layout.dimension)
    for (let i = 0; i < vector.length; i++) vector[i] = floats[from + i]!
    return {
      vector,
      updateCount: words[meta + META_UPDATE_COUNT]!,
      partition: words[meta + META_PARTITION]!,
      offset: doubles[(meta + META_OFFSET) >> 1]!,
      eventTime: doubles[(meta + META_EVENT_TIME) >> 1]!,
    }
  }

  /** Copies the row, [dimension], and its update count; false when there is none. */
  readInto(key: Uint8Array, hash: number, target: VectorRowTarget): boolean {
    const row = this.bring(key, hash)
    if (row < 0 || (this.rows.stateOf(row) & STATE_LIVE) === 0) return false
    const { words, floats } = this.rows.arena
    const from = this.rows.floatsOf(row)
    const { vector } = target
    for (let i = 0; i < vector.length; i++) vector[i] = floats[from + i]!
    target.updateCount = words[this.rows.metaOf(row) + META_UPDATE_COUNT]!
    return true
  }

  /**
   * Deletes a row. It stays as a ghost, absent for live readers, until the deletion is in a completed
   * checkpoint: the next segment needs its tombstone and checkpoint readers its images.
   */
  remove(key: Uint8Array, hash: number): boolean {
    const row = this.bring(key, hash)
    if (row < 0 || (this.rows.stateOf(row) & STATE_LIVE) === 0) return false
    const image = this.prepareWrite(row)
    const words = this.rows.arena.words
    const header = this.rows.headerOf(row)
    this.mean?.begin()
    this.mean?.subtract(this.rows.floatsOf(row))
    this.mean?.end()
    this.rows.beginWrite(row)
    words[header + ROW_STATE] =
      (words[header + ROW_STATE]! & (STATE_KEY_LENGTH | STATE_STORED)) | STATE_DELETED
    this.linkImage(row, image)
    const floats = this.rows.floatsOf(row)
    this.rows.arena.floats.fill(0, floats, floats + this.context.layout.stride)
    this.rows.endWrite(row)
    this.rows.count(CONTROL_LIVE_ROWS, -1)
    if (this.context.needsTombstones()) this.ghosts.push(row)
    else this.dropGhost(row)
    this.sweep(SWEEP_PER_WRITE)
    return true
  }

  /** Notes a deleted row that came back from the store. */
  addGhost(row: number): void {
    this.ghosts.push(row)
  }

  private dropGhost(row: number): void {
    if ((this.rows.stateOf(row) & STATE_STORED) !== 0) {
      this.context.snapshot()?.beforeEviction(this, row)
      this.spill?.forget(row)
    }
    this.release(row)
  }

  /** Takes a row out of the index and frees it with its images. */
  release(row: number): void {
    this.rows.index.remove(this.rows.hashOf(row), row)
    this.images.freeChain(row)
    this.rows.free(row)
  }

  /** Frees what no checkpoint needs any more, `limit` looks at most; true when nothing is left. */
  sweep(limit: number): boolean {
    const imagesDone = this.images.sweep(limit)
    const completed = this.context.epochs.completed
    for (let n = 0; n < limit && this.ghosts.length > 0; n++) {
      const row = this.ghosts.peek()
      const isGhost = (this.rows.stateOf(row) & STATE_DELETED) !== 0
      const epoch = this.rows.arena.words[this.rows.metaOf(row) + META_WRITE_EPOCH]!
      if (isGhost && epoch >= completed) return imagesDone
      this.ghosts.shift()
      if (isGhost && !this.rows.isImage(row)) this.dropGhost(row)
    }
    return imagesDone && this.ghosts.length === 0
  }

  /** A free row: from the free list, by growth, or by eviction. Throws OUT_OF_ROW_MEMORY. */
  take(kind: typeof KIND_ROWS | typeof KIND_IMAGES): number {
    const free = this.rows.takeFree(kind)
    if (free >= 0) return free
    const bytes = this.context.layout.segmentWords * 4
    if (this.spill === undefined) return this.rows.grow(kind)
    if (this.context.allows(this, bytes) && this.rows.canGrow()) return this.rows.grow(kind)
    const other = kind === KIND_IMAGES ? this.rows.takeFree(KIND_ROWS) : -1
    if (other >= 0) return other
    if (!this.spill.evict()) return this.rows.grow(kind)
    return this.rows.takeFree(KIND_ROWS)
  }

  /** A barrier passed: the changed rows so far belong to its snapshot. */
  takeChanged(): RowList {
    return this.changed.take()
  }

  /** Tells readers epoch and readable checkpoints. */
  publishEpochs(): void {
    const words = this.rows.arena.words
    const { epochs } = this.context
    Atomics.store(words, CONTROL_EPOCH, epochs.current)
    const retained = epochs.retained
    for (let i = 0; i < RETAINED_CHECKPOINTS; i++) {
      Atomics.store(words, CONTROL_RETAINED + i, retained[i] ?? 0)
    }
  }

  setRestoring(restoring: boolean): void {
    if (!restoring) this.rows.index.bumpEpoch()
    Atomics.store(this.rows.arena.words, CONTROL_RESTORING, restoring ? 1 : 0)
  }

  /** Gives a row's change to a sink: its value, or a tombstone if it is deleted. */
  emit(row: number, sink: ChangeSink): void {
    const key = this.scratch.keyOf(row)
    const group = keyGroupOfHash(this.rows.hashOf(row) >>> 0, this.context.maxParallelism)
    const live = (this.rows.stateOf(row) & STATE_LIVE) !== 0
    sink.append(group, this.stateName, key, live ? this.scratch.encode(row) : undefined)
  }

  /** Whether memory has the key, deleted or not. */
  isInMemory(key: Uint8Array): boolean {
    return this.rows.find(key, murmur3(key) | 0) >= 0
  }
}

/** Throws NOT_FINITE if an element is NaN or infinite. */
export function checkFinite(vector: Float32Array): void {
  // Four sums, so that one addition need not wait for the one before.
  let a = 0
  let b = 0
  let c = 0
  let d = 0
  let i = 0
  for (; i + 3 < vector.length; i += 4) {
    a += vector[i]! * 0
    b += vector[i + 1]! * 0
    c += vector[i + 2]! * 0
    d += vector[i + 3]! * 0
  }
  for (; i < vector.length; i++) a += vector[i]! * 0
  if (a + b + c + d === 0) return
  throw new WeirError(
    'NOT_FINITE',
    'a vector with a NaN or infinite element cannot be stored; check the learning rate or the input',
  )
}
