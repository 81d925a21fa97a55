import { WeirError } from '../../core/errors.ts'
import { allFinite } from '../../core/numbers/all-finite.ts'
import { placeOf } from '../../core/position.ts'
import type { VectorRow, VectorRowTarget, WriteOrigin } from '../port/handles.ts'
import {
  CONTROL_LIVE_ROWS,
  KIND_ROWS,
  META_EVENT_TIME,
  META_IMAGE,
  META_OFFSET,
  META_PARTITION,
  META_UPDATE_COUNT,
  META_WRITE_EPOCH,
  ROW_REFERENCE,
  ROW_STATE,
  type RowTableLayout,
  STATE_DELETED,
  STATE_KEY_LENGTH,
  STATE_LIVE,
  STATE_STORED,
} from '../rows/layout.ts'
import type { RowTable } from '../rows/row-table.ts'
import type { VectorChangedRows } from './changed-rows.ts'
import type { VectorImages } from './images.ts'
import type { VectorMean } from './mean.ts'
import { VectorRestore } from './restore.ts'
import { VectorSpill } from './spill.ts'
import { type VersionContext, VersionMemory } from './version-memory.ts'

/** Images and deleted rows looked at with every write. */
const SWEEP_PER_WRITE = 2

/**
 * The rows of one model version on one slot: reads, writes and deletions by key, of rows in memory and
 * in the store. `VersionedRows` says how the parts work together.
 */
export class VersionRows {
  readonly memory: VersionMemory
  readonly spill: VectorSpill | undefined
  readonly restore: VectorRestore
  readonly rows: RowTable
  private readonly context: VersionContext
  private readonly images: VectorImages
  private readonly mean: VectorMean | undefined
  private readonly changed: VectorChangedRows
  private readonly sum: Float32Array

  /** `stateName` is `<state>@<version>`; keys in the store begin with `storePrefix`. */
  constructor(
    context: VersionContext,
    stateName: string,
    layout: RowTableLayout,
    storePrefix: Uint8Array,
  ) {
    const memory = new VersionMemory(context, stateName, layout)
    this.memory = memory
    this.rows = memory.rows
    this.context = context
    this.images = memory.images
    this.mean = memory.mean
    this.changed = memory.changed
    this.sum = new Float32Array(layout.dimension)
    if (context.store !== undefined) {
      this.spill = new VectorSpill(memory, context.store, storePrefix)
      memory.evictor = this.spill
    }
    this.restore = new VectorRestore(memory, this.spill)
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

  /** As `put`, of a row that begins again: its update count is 1. */
  replace(key: Uint8Array, hash: number, vector: Float32Array, origin: WriteOrigin): void {
    const row = this.bring(key, hash)
    if (row < 0) this.create(key, hash, vector, origin)
    else this.overwrite(row, vector, origin, true)
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
    const row = this.memory.take(KIND_ROWS)
    const epoch = this.context.epochs.current
    this.mean?.begin()
    this.rows.beginWrite(row)
    this.rows.writeKey(row, key, key.length, hash, STATE_LIVE)
    const { words } = this.rows.arena
    const meta = this.rows.metaOf(row)
    words[meta + META_WRITE_EPOCH] = epoch
    this.writeFloats(row, vector, false)
    this.writeMeta(row, origin)
    this.rows.countWrite()
    this.rows.endWrite(row)
    this.mean?.end()
    this.memory.enter(row, hash)
    this.changed.record(row)
    this.sweep(SWEEP_PER_WRITE)
  }

  private overwrite(
    row: number,
    vector: Float32Array,
    origin: WriteOrigin,
    beginsAgain = false,
  ): void {
    const image = this.prepareWrite(row)
    const words = this.rows.arena.words
    const header = this.rows.headerOf(row)
    const wasLive = (words[header + ROW_STATE]! & STATE_LIVE) !== 0
    this.mean?.begin()
    this.rows.beginWrite(row)
    words[header + ROW_STATE] =
      (words[header + ROW_STATE]! & (STATE_KEY_LENGTH | STATE_STORED)) | STATE_LIVE
    this.linkImage(row, image)
    if (!wasLive || beginsAgain) words[this.rows.metaOf(row) + META_UPDATE_COUNT] = 0
    this.writeFloats(row, vector, wasLive)
    this.writeMeta(row, origin)
    this.rows.countWrite()
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
    words[meta + META_PARTITION] = placeOf(origin.source ?? 0, origin.partition)
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
    this.context.snapshot?.beforeChange(this.memory, row)
    const words = this.rows.arena.words
    this.changed.record(row)
    if (!this.context.keepImages || words[meta + META_WRITE_EPOCH]! >= epoch) return -1
    this.memory.pinned = row
    const image = this.images.save(row)
    this.memory.pinned = -1
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
    const vector = new Float32Array(this.rows.layout.dimension)
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
   * Deletes a row. It stays as a tombstoned row, absent for live readers, until the deletion is in a
   * completed checkpoint.
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
    this.rows.arena.floats.fill(0, floats, floats + this.rows.layout.stride)
    this.rows.countWrite()
    this.rows.endWrite(row)
    this.rows.count(CONTROL_LIVE_ROWS, -1)
    if (this.context.needsTombstones) this.memory.tombstoned.push(row)
    else this.dropTombstoned(row)
    this.sweep(SWEEP_PER_WRITE)
    return true
  }

  private dropTombstoned(row: number): void {
    if ((this.rows.stateOf(row) & STATE_STORED) !== 0) {
      this.context.snapshot?.beforeLeaving(this.memory, row)
      this.spill?.forget(row)
    }
    this.memory.release(row)
  }

  /** Frees what no checkpoint needs any more, `limit` looks at most; true when nothing is left. */
  sweep(limit: number): boolean {
    const imagesDone = this.images.sweep(limit)
    const completed = this.context.epochs.completed
    const { tombstoned } = this.memory
    for (let n = 0; n < limit && tombstoned.length > 0; n++) {
      const row = tombstoned.peek()
      const isDeleted = (this.rows.stateOf(row) & STATE_DELETED) !== 0
      const epoch = this.rows.arena.words[this.rows.metaOf(row) + META_WRITE_EPOCH]!
      if (isDeleted && epoch >= completed) return imagesDone
      tombstoned.shift()
      if (isDeleted && !this.rows.isImage(row)) this.dropTombstoned(row)
    }
    return imagesDone && tombstoned.length === 0
  }
}

/** Throws NOT_FINITE if an element is NaN or infinite. */
export function checkFinite(vector: Float32Array): void {
  if (allFinite(vector)) return
  throw new WeirError(
    'NOT_FINITE',
    'a vector with a NaN or infinite element cannot be stored; check the learning rate or the input',
  )
}
