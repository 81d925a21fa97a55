import { ByteWriter } from '../core/byte-writer.ts'
import type { Clock } from '../core/clock.ts'
import { WeirError } from '../core/errors.ts'
import type { KeyGroupRange } from '../core/key-group.ts'
import { murmur3 } from '../core/murmur3.ts'
import {
  type KeyedEntry,
  LIVE,
  MAYBE_STORED,
  PERSISTED,
  REFERENCED,
  STORED,
} from './keyed-entry.ts'
import { writeLatin1 } from './latin1.ts'
import { PrefixViews } from './prefix-views.ts'
import type { ChangeSink, StateDeclaration } from './state-change.ts'
import type { StateStore, StoreChange } from './state-store.ts'
import { StateTable } from './state-table.ts'
import { TypedStateSnapshot } from './typed-state-snapshot.ts'

/**
 * A key in the store: table id and key group, two bytes each, big-endian, then the composite key.
 * A value in the store: one byte that says whether the key exists, then the entry's bytes.
 */
export const STORE_KEY_HEADER = 4
const STORED_TOMBSTONE = 0
const STORED_VALUE = 1

/** Bytes freed beyond what is needed, so that evictions come in batches of below a millisecond. */
const EVICTION_SLACK = 64 * 1024

/** Fewer changed entries are never a reason for a full snapshot. */
const FEWEST_FOR_FULL = 4096
/** Bytes of heap that all entries may take for each changed one in a full snapshot made by choice. */
const LARGEST_FOR_FULL = 1024

/** What a memory layer is made of. */
export interface TypedStateMemoryOptions {
  readonly keyGroups: KeyGroupRange
  readonly clock: Clock
  /** Where entries go that memory has no room for; without it memory holds everything. */
  readonly store: StateStore | undefined
  /** Bytes of entries kept in memory; counts only with a store. */
  readonly budgetBytes: number
}

/**
 * The memory layer of typed state: write buffer and row cache of all tables of one subtask above one
 * store. It counts bytes, evicts by second chance (CLOCK) when the budget is exceeded, and knows
 * which entries changed since the last snapshot.
 */
export class TypedStateMemory {
  readonly keyGroups: KeyGroupRange
  readonly clock: Clock
  readonly tables = new Map<string, StateTable>()
  readonly tablesById: StateTable[] = []
  /** Estimated heap bytes of all entries in memory. */
  bytes = 0
  /** Number of the checkpoint interval, counted from 1; a snapshot begins the next one. */
  epoch = 1
  /** The snapshot being copied out. */
  snapshot: TypedStateSnapshot | undefined
  /** Full snapshots begun; marks entries that one has dealt with. */
  fullSnapshots = 0
  restoring = false
  evictions = 0
  readonly store: StateStore | undefined
  /** Bytes to keep below; infinite without a store. */
  private limitBytes: number
  private readonly writer = new ByteWriter(4096)
  private scratch = new Uint8Array(512)
  private readonly keys = new PrefixViews()
  private readonly values = new PrefixViews()
  private spillSink: ChangeSink | undefined
  /** Dirty entries left memory while nobody collected them: the next snapshot must hold all. */
  private spilledUnseen = false
  private clockTable = 0
  private restoredTombstones: { table: StateTable; entry: KeyedEntry }[] = []

  constructor(options: TypedStateMemoryOptions) {
    this.keyGroups = options.keyGroups
    this.clock = options.clock
    this.store = options.store
    this.limitBytes = options.store === undefined ? Number.POSITIVE_INFINITY : options.budgetBytes
  }

  /** Changes the budget; without a store there is none. */
  setBudget(bytes: number): void {
    if (this.store !== undefined) this.limitBytes = bytes
    this.settle()
  }

  /** Whether entries may leave memory. */
  get spills(): boolean {
    return this.store !== undefined
  }

  /** The table of a state, created when it is new. */
  table(declaration: StateDeclaration): StateTable {
    const existing = this.tables.get(declaration.name)
    if (existing !== undefined) return existing
    const table = new StateTable(this, this.tablesById.length, declaration)
    this.tables.set(declaration.name, table)
    this.tablesById.push(table)
    return table
  }

  setSpillSink(sink: ChangeSink): void {
    this.spillSink = sink
  }

  /**
   * Whether most entries changed since the last snapshot and all are small and in memory: copying
   * everything then takes hardly more than copying the changes, and spares merging segments later.
   */
  prefersFull(): boolean {
    if (this.evictions > 0 || this.restoring) return false
    let dirty = 0
    for (const table of this.tablesById) dirty += table.dirty.length
    if (dirty < FEWEST_FOR_FULL || dirty * 2 < this.entryCount()) return false
    return this.bytes <= dirty * LARGEST_FOR_FULL
  }

  /** Begins the next interval; a snapshot still in progress is completed first. */
  beginSnapshot(sink: ChangeSink, full: boolean): TypedStateSnapshot {
    this.completeSnapshot()
    const everything = full || this.spilledUnseen
    this.spilledUnseen = false
    if (everything) this.fullSnapshots += 1
    this.snapshot = new TypedStateSnapshot(this, sink, everything)
    this.epoch += 1
    return this.snapshot
  }

  private completeSnapshot(): void {
    try {
      this.snapshot?.step(Number.POSITIVE_INFINITY)
    } catch {
      // Its sink failed, so nobody has these changes: the next snapshot must hold everything.
      this.spilledUnseen = true
    }
    this.snapshot = undefined
  }

  /** Called at the end of every operation that may have grown memory. */
  settle(): void {
    if (this.bytes > this.limitBytes) this.evict(Math.max(0, this.limitBytes - EVICTION_SLACK))
  }

  /** Writes one entry into `sink` as it stands. */
  appendTo(sink: ChangeSink, table: StateTable, entry: KeyedEntry, nowMs: number): void {
    const key = this.keyBytes(entry, 0)
    if ((entry.flags & LIVE) === 0 || table.isExpired(entry, nowMs)) {
      sink.append(entry.keyGroup, table.name, key, undefined)
    } else {
      this.writer.reset()
      table.encode(entry, this.writer)
      const value = this.values.of(this.writer.bytes, this.writer.length)
      sink.append(entry.keyGroup, table.name, key, value)
    }
    entry.flags |= PERSISTED
  }

  /** Reads an entry that is not in memory from the store; the entry may be a tombstone. */
  load(
    table: StateTable,
    keyGroup: number,
    key: Uint8Array,
    length: number,
    hash: number,
  ): KeyedEntry | undefined {
    const stored = this.store!.get(this.storeKey(table.id, keyGroup, key, length))
    if (stored === undefined || stored[0] === STORED_TOMBSTONE) return undefined
    const entry = table.create(keyGroup, key, length, hash)
    table.adopt(entry, stored.subarray(1))
    entry.flags |= STORED | PERSISTED
    return entry
  }

  /** Takes one entry of a segment, unless a newer one of the key was taken before. */
  restore(
    table: StateTable,
    keyGroup: number,
    key: Uint8Array,
    value: Uint8Array | undefined,
  ): void {
    const hash = murmur3(key) | 0
    if (table.findInMemory(keyGroup, key, key.length, hash) !== undefined) return
    if (table.hasSpilled(keyGroup)) {
      const storeKey = this.storeKey(table.id, keyGroup, key, key.length)
      if (this.store!.get(storeKey) !== undefined) return
    }
    const entry = table.create(keyGroup, key, key.length, hash)
    entry.flags |= PERSISTED
    if (value !== undefined) table.adopt(entry, value.slice())
    if (value === undefined || table.isExpired(entry, this.clock.nowMs())) {
      entry.flags &= ~LIVE
      this.restoredTombstones.push({ table, entry })
    }
    this.settle()
  }

  /** Forgets the tombstones that held back older entries during the restore. */
  endRestore(): void {
    this.restoring = false
    for (const { table, entry } of this.restoredTombstones) {
      if (entry.index >= 0 && entry.epoch === 0 && (entry.flags & LIVE) === 0)
        this.forget(table, entry)
    }
    this.restoredTombstones = []
  }

  /** Drops a tombstone that a snapshot holds, from the store too. */
  forget(table: StateTable, entry: KeyedEntry): void {
    if ((entry.flags & (STORED | MAYBE_STORED)) !== 0) {
      this.store!.apply([{ key: this.storeKeyOf(table, entry), value: undefined }])
    }
    table.unlink(entry)
  }

  /** The store's key of an entry, a copy. */
  storeKeyOf(table: StateTable, entry: KeyedEntry): Uint8Array {
    const key = this.keyBytes(entry, STORE_KEY_HEADER)
    writeStoreHeader(key, table.id, entry.keyGroup)
    return key.slice()
  }

  /** What the store's value says: the entry's bytes, or undefined for a tombstone. */
  static valueOfStored(stored: Uint8Array): Uint8Array | undefined {
    return stored[0] === STORED_TOMBSTONE ? undefined : stored.subarray(1)
  }

  /** Releases the store; idempotent. */
  close(): void {
    this.store?.close()
  }

  private evict(target: number): void {
    const changes: StoreChange[] = []
    let looked = 0
    const limit = 2 * this.entryCount() + this.tablesById.length
    while (this.bytes > target && looked < limit) {
      const table = this.tablesById[this.clockTable]!
      if (!table.evictable || table.hand >= table.entries.length) {
        table.hand = 0
        this.clockTable = (this.clockTable + 1) % this.tablesById.length
        looked += 1
        continue
      }
      looked += 1
      const entry = table.entries[table.hand]!
      if ((entry.flags & REFERENCED) !== 0) {
        entry.flags &= ~REFERENCED
        table.hand += 1
      } else this.evictEntry(table, entry, changes)
    }
    if (changes.length > 0) this.store!.apply(changes)
  }

  private evictEntry(table: StateTable, entry: KeyedEntry, changes: StoreChange[]): void {
    this.snapshot?.beforeChange(table, entry)
    if (entry.epoch !== 0) {
      if (this.spillSink === undefined && (entry.flags & LIVE) === 0) {
        // Nobody would ever hear of the deletion.
        table.hand += 1
        return
      }
      if (this.spillSink === undefined) this.spilledUnseen = true
      else this.appendTo(this.spillSink, table, entry, this.clock.nowMs())
    }
    this.collectStoreChange(table, entry, changes)
    table.unlink(entry)
    this.evictions += 1
  }

  private collectStoreChange(table: StateTable, entry: KeyedEntry, changes: StoreChange[]): void {
    if ((entry.flags & STORED) !== 0) return
    const isLive = (entry.flags & LIVE) !== 0
    const mustStand = isLive || this.restoring
    if (!mustStand && (entry.flags & MAYBE_STORED) === 0) return
    this.writer.reset()
    this.writer.uint8(isLive ? STORED_VALUE : STORED_TOMBSTONE)
    if (isLive) table.encode(entry, this.writer)
    const value = mustStand ? this.writer.toBytes() : undefined
    changes.push({ key: this.storeKeyOf(table, entry), value })
    table.noteSpilled(entry.keyGroup)
    entry.flags |= MAYBE_STORED
  }

  private entryCount(): number {
    let count = 0
    for (const table of this.tablesById) count += table.entries.length
    return count
  }

  /** The entry's key from `at` of the scratch buffer on; valid until the next call. */
  private keyBytes(entry: KeyedEntry, at: number): Uint8Array {
    const end = at + entry.key.length
    if (end > this.scratch.length) this.scratch = new Uint8Array(end * 2)
    writeLatin1(entry.key, this.scratch, at)
    return this.keys.of(this.scratch, end)
  }

  private storeKey(tableId: number, keyGroup: number, key: Uint8Array, length: number): Uint8Array {
    const bytes = new Uint8Array(STORE_KEY_HEADER + length)
    writeStoreHeader(bytes, tableId, keyGroup)
    bytes.set(length === key.length ? key : key.subarray(0, length), STORE_KEY_HEADER)
    return bytes
  }
}

/** Writes table id and key group in front of a store key. */
export function writeStoreHeader(target: Uint8Array, tableId: number, keyGroup: number): void {
  target[0] = tableId >>> 8
  target[1] = tableId
  target[2] = keyGroup >>> 8
  target[3] = keyGroup
}

/** Splits a store key; the composite key is a view. Throws MALFORMED_DATA when it is too short. */
export function readStoreKey(key: Uint8Array): {
  readonly tableId: number
  readonly keyGroup: number
  readonly composite: Uint8Array
} {
  if (key.length < STORE_KEY_HEADER) {
    throw new WeirError('MALFORMED_DATA', `a store key of ${key.length} bytes has no header`)
  }
  return {
    tableId: (key[0]! << 8) | key[1]!,
    keyGroup: (key[2]! << 8) | key[3]!,
    composite: key.subarray(STORE_KEY_HEADER),
  }
}
