import { bytesOfLatin1, latin1Of } from '../../core/text/latin1.ts'
import { VECTOR_IMAGE_PREFIX_BYTES, VECTOR_ROW_DELETED, vectorRowBytes } from '../rows/codec.ts'
import {
  CONTROL_LIVE_ROWS,
  CONTROL_STORE_ROWS,
  KIND_IMAGES,
  KIND_ROWS,
  META_LISTED,
  META_THROUGH,
  META_WRITE_EPOCH,
  ROW_REFERENCE,
  ROW_STATE,
  STATE_CLEAN,
  STATE_DELETED,
  STATE_IMAGE,
  STATE_KEY_LENGTH,
  STATE_LIVE,
  STATE_STORED,
} from '../rows/layout.ts'
import { Leftovers, prefixEnd } from '../store/leftovers.ts'
import type { StateStore, StoreChange } from '../store/state-store.ts'
import { VectorSpillEntries } from './spill-entries.ts'
import { SpillFilter } from './spill-filter.ts'
import { SpillTouches } from './spill-touches.ts'
import { VectorStoreKeys } from './store-keys.ts'
import type { RowEvictor, VersionMemory } from './version-memory.ts'

/** Rows evicted together, so that the store takes one batch. */
const EVICTION_BATCH = 64

/**
 * The rows of one version that are not in memory, in the slot's store. Rows leave memory by CLOCK
 * (second chance) on their reference bits. They come back when the slot works with them, or when
 * readers ask for them twice. The store then keeps its entry, so that a row that was only read leaves
 * again without a write. An entry holds the row and its images. A changed row that leaves memory also
 * goes to the spill sink, because the next snapshot will not meet it in memory.
 */
export class VectorSpill implements RowEvictor {
  private readonly memory: VersionMemory
  private readonly store: StateStore
  private readonly prefix: Uint8Array
  private readonly keys: VectorStoreKeys
  private readonly leaving: VectorSpillEntries
  private readonly filter = new SpillFilter()
  /** Deleted rows in the store by key (latin1), with the epoch of their deletion. */
  private readonly tombstones = new Map<string, number>()
  private touches: SpillTouches | undefined
  private storeRows = 0
  /** Whether the store ever had an entry of the version. */
  private hasStored = false
  private hand = 0

  constructor(memory: VersionMemory, store: StateStore, prefix: Uint8Array) {
    this.memory = memory
    this.store = store
    this.prefix = prefix
    this.keys = new VectorStoreKeys(prefix, memory.rows.layout.maxKeyBytes)
    this.leaving = new VectorSpillEntries(memory, this.keys)
  }

  /** Whether the store has no row that memory lacks. */
  get isEmpty(): boolean {
    return this.storeRows === 0
  }

  /** Rows that only the store has, deleted ones aside. */
  get liveRows(): number {
    return this.storeRows - this.tombstones.size
  }

  /** What to delete from the store when the version is dropped; it does not refer to the table. */
  get leftovers(): Leftovers | undefined {
    return this.hasStored ? new Leftovers(this.store, this.prefix) : undefined
  }

  get bytes(): number {
    return this.filter.bytes + (this.touches?.bytes ?? 0)
  }

  /** The store's key of a row's key. */
  keyOf(key: Uint8Array): Uint8Array {
    return this.keys.own(key)
  }

  /** Whether only the store has the key; for keys that are not in memory. */
  has(key: Uint8Array, hash: number): boolean {
    return this.fetch(key, hash) !== undefined
  }

  private fetch(key: Uint8Array, hash: number): Uint8Array | undefined {
    if (this.storeRows === 0 || !this.filter.mayHave(hash)) return undefined
    return this.store.get(this.keys.at(0, key))
  }

  /** Brings a spilled row into memory; its number, or -1 if the store has none. */
  load(key: Uint8Array, hash: number): number {
    const value = this.fetch(key, hash)
    return value === undefined ? -1 : this.admit(key, hash, value)
  }

  /** Entries of the keys that only the store has, with one store read; undefined if none is needed. */
  fetchMissing(
    keys: readonly Uint8Array[],
    hashes: Int32Array,
  ): (Uint8Array | undefined)[] | undefined {
    if (this.storeRows === 0) return undefined
    const wanted: number[] = []
    for (let i = 0; i < keys.length; i++) {
      const missing = this.memory.rows.find(keys[i]!, hashes[i]!) < 0
      if (missing && this.filter.mayHave(hashes[i]!)) wanted.push(i)
    }
    if (wanted.length === 0) return undefined
    const values = this.store.getMany(wanted.map((i, n) => this.keys.at(n, keys[i]!)))
    const entries = new Array<Uint8Array | undefined>(keys.length).fill(undefined)
    for (let n = 0; n < wanted.length; n++) entries[wanted[n]!] = values[n]
    return entries
  }

  /** Brings in the fetched entries that were asked for before, or all of them. */
  admitAsked(
    keys: readonly Uint8Array[],
    hashes: Int32Array,
    entries: readonly (Uint8Array | undefined)[],
    all: boolean,
  ): void {
    this.touches ??= SpillTouches.forTable(this.memory.rows.rowLimit)
    for (let i = 0; i < keys.length; i++) {
      const value = entries[i]
      if (value === undefined) continue
      if (!all && !this.touches.again(hashes[i]!)) continue
      // A key that was asked for twice in one request is in memory by now.
      if (this.memory.rows.find(keys[i]!, hashes[i]!) < 0) this.admit(keys[i]!, hashes[i]!, value)
    }
  }

  private admit(key: Uint8Array, hash: number, value: Uint8Array): number {
    const { rows } = this.memory
    const row = this.memory.take(KIND_ROWS)
    const deleted = (value[1]! & VECTOR_ROW_DELETED) !== 0
    rows.beginWrite(row)
    const flags = (deleted ? STATE_DELETED : STATE_LIVE) | STATE_STORED | STATE_CLEAN
    rows.writeKey(row, key, key.length, hash, flags)
    this.memory.scratch.decodeInto(value, 0, row)
    rows.arena.words[rows.headerOf(row) + ROW_REFERENCE] = 1
    this.admitImages(row, value)
    rows.endWrite(row)
    rows.index.insert(hash, row)
    rows.index.bumpEpoch()
    rows.count(CONTROL_STORE_ROWS, -1)
    this.storeRows--
    if (deleted) {
      this.tombstones.delete(latin1Of(key))
      this.memory.tombstoned.push(row)
    } else {
      rows.count(CONTROL_LIVE_ROWS, 1)
    }
    return row
  }

  private admitImages(row: number, value: Uint8Array): void {
    const images = value[2]! | (value[3]! << 8)
    if (images === 0) return
    const { rows } = this.memory
    const size = vectorRowBytes(rows.layout.dimension)
    const pinned = this.memory.pinned
    this.memory.pinned = row
    for (let n = 0, at = size; n < images; n++, at += VECTOR_IMAGE_PREFIX_BYTES + size) {
      const through =
        value[at]! | (value[at + 1]! << 8) | (value[at + 2]! << 16) | (value[at + 3]! << 24)
      if (through < this.memory.context.epochs.completed) break
      this.admitImage(row, value, at + VECTOR_IMAGE_PREFIX_BYTES, through)
    }
    this.memory.pinned = pinned
  }

  private admitImage(row: number, value: Uint8Array, at: number, through: number): void {
    const { rows } = this.memory
    const image = this.memory.take(KIND_IMAGES)
    rows.beginWrite(image)
    this.memory.images.copyKey(row, image)
    this.memory.scratch.decodeInto(value, at, image)
    const { words } = rows.arena
    const length = words[rows.headerOf(row) + ROW_STATE]! & STATE_KEY_LENGTH
    const deleted = (value[at + 1]! & VECTOR_ROW_DELETED) === 0 ? 0 : STATE_DELETED
    words[rows.headerOf(image) + ROW_STATE] = length | STATE_IMAGE | deleted
    words[rows.metaOf(image) + META_THROUGH] = through
    rows.endWrite(image)
    this.memory.images.adopt(row, image)
  }

  /** Drops the store's entry of a row in memory that is about to be freed. */
  forget(row: number): void {
    const key = this.keyOf(this.memory.scratch.keyOf(row))
    this.store.apply([{ key, value: undefined }])
  }

  /** Moves a batch of cold rows to the store; false when every row is pinned. */
  evict(): boolean {
    const victims = this.chooseVictims()
    if (victims.length === 0) return false
    const changes: StoreChange[] = []
    for (const row of victims) {
      const isClean = (this.memory.rows.stateOf(row) & STATE_CLEAN) !== 0
      if (!isClean) changes.push(this.leaving.at(changes.length, row))
    }
    if (changes.length > 0) {
      this.store.apply(changes)
      this.hasStored = true
    }
    for (const row of victims) this.leave(row)
    return true
  }

  /** CLOCK: a referenced row gets a second chance. */
  private chooseVictims(): number[] {
    const { rows } = this.memory
    const limit = rows.rowLimit
    const victims: number[] = []
    const batch = Math.max(1, Math.min(EVICTION_BATCH, limit >> 3))
    for (let looked = 0; looked < 2 * limit && victims.length < batch; looked++) {
      this.hand = this.hand + 1 < limit ? this.hand + 1 : 0
      const row = this.hand
      const header = rows.headerOf(row)
      const words = rows.arena.words
      const state = words[header + ROW_STATE]!
      if ((state & (STATE_LIVE | STATE_DELETED)) === 0 || (state & STATE_IMAGE) !== 0) continue
      if (row === this.memory.pinned) continue
      const chosen = words[header + ROW_REFERENCE] === 0
      if (chosen) victims.push(row)
      // A victim is marked as referenced, so that the second round does not choose it again.
      words[header + ROW_REFERENCE] = chosen ? 1 : 0
    }
    return victims
  }

  /** Order matters: at every moment readers see the row in memory or `store rows` > 0. */
  private leave(row: number): void {
    const { rows, context } = this.memory
    context.snapshot?.beforeChange(this.memory, row)
    context.snapshot?.beforeLeaving(this.memory, row)
    const words = rows.arena.words
    const meta = rows.metaOf(row)
    if (words[meta + META_LISTED] === context.epochs.current + 1) {
      this.memory.emit(row, context.spillSink())
    }
    const hash = rows.hashOf(row)
    const live = (rows.stateOf(row) & STATE_LIVE) !== 0
    if (!live) {
      this.tombstones.set(latin1Of(this.memory.scratch.keyOf(row)), words[meta + META_WRITE_EPOCH]!)
    }
    this.filter.add(hash)
    rows.count(CONTROL_STORE_ROWS, 1)
    this.storeRows++
    if (live) rows.count(CONTROL_LIVE_ROWS, -1)
    this.memory.release(row)
  }

  /** Drops deleted rows whose deletion is in the completed checkpoint. */
  sweepTombstones(): void {
    const changes: StoreChange[] = []
    for (const [text, epoch] of this.tombstones) {
      if (epoch >= this.memory.context.epochs.completed) continue
      changes.push({ key: this.keyOf(bytesOfLatin1(text)), value: undefined })
      this.tombstones.delete(text)
    }
    if (changes.length === 0) return
    this.store.apply(changes)
    this.memory.rows.count(CONTROL_STORE_ROWS, -changes.length)
    this.storeRows -= changes.length
  }

  /** All entries from a key on, in key order, as they are now: the iteration begins with the call. */
  entries(from: Uint8Array): IterableIterator<readonly [key: Uint8Array, value: Uint8Array]> {
    const entries = this.store.scan(this.keyOf(from), prefixEnd(this.prefix))
    const first = entries.next()
    return first.done ? [].values() : this.withoutPrefix(first.value, entries)
  }

  private *withoutPrefix(
    first: readonly [Uint8Array, Uint8Array],
    rest: IterableIterator<readonly [Uint8Array, Uint8Array]>,
  ): IterableIterator<readonly [Uint8Array, Uint8Array]> {
    const skip = this.prefix.length
    try {
      yield [first[0].subarray(skip), first[1]]
      for (const [key, value] of rest) yield [key.subarray(skip), value]
    } finally {
      // Also when the iteration ends before the loop begins.
      rest.return?.()
    }
  }
}
