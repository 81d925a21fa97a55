import type { ChunkedList } from '../entries/chunked-list.ts'
import { type KeyedEntry, LIVE, MAYBE_STORED, PERSISTED, STORED } from '../entries/keyed-entry.ts'
import type { ChangeSink, StateSnapshot } from '../port/change.ts'
import { entryHash } from '../port/entry-hash.ts'
import { type SnapshotPart, SnapshotRun } from '../snapshot/run.ts'
import { StoredScan } from '../snapshot/stored-scan.ts'
import type { StoreChange } from '../store/state-store.ts'
import type { EntryEncoder } from './entry-encoder.ts'
import { readStoreKey, STORE_END, storeKeyOfEntry, valueOfStored } from './store-keys.ts'
import type { StateTable } from './table.ts'
import type { TableContext, TableSnapshot } from './table-context.ts'

/** Entries that are read into the processor's cache together. */
const AHEAD = 16

/** Options of `TypedStateSnapshot`. */
export interface TypedStateSnapshotOptions {
  readonly context: TableContext<StateTable>
  readonly tables: readonly StateTable[]
  readonly sink: ChangeSink
  readonly encoder: EntryEncoder
  /** Number of this full snapshot, counted from 1; undefined for the changes alone. */
  readonly fullNumber: number | undefined
  /** Called once, when everything is copied. */
  readonly onFinished: () => void
}

/**
 * Typed state as it was at a barrier, copied out in steps.
 *
 * Nothing is copied when it is created: the entries that were dirty then still have the number of the
 * interval that ended. Before one of them changes or leaves memory, `beforeChange` writes it to the
 * sink (copy on write). A full snapshot first scans the store as it was, without the keys that
 * memory overrides, then walks the entries in memory from the last to the first, so that it still
 * meets an entry that a removal moved into a gap.
 */
export class TypedStateSnapshot implements StateSnapshot, TableSnapshot<StateTable> {
  entries = 0
  /** Depends on what was read ahead, so that the compiler does not remove the reads. */
  seen = 0
  private readonly context: TableContext<StateTable>
  private readonly tables: readonly StateTable[]
  private readonly sink: ChangeSink
  private readonly encoder: EntryEncoder
  private readonly onFinished: () => void
  private readonly epoch: number
  private readonly full: boolean
  private readonly nowMs: number
  /** Marks of a full snapshot: written already, or not part of memory at the barrier. */
  private readonly done: number
  private readonly foreign: number
  private readonly stored: StoredScan | undefined
  private readonly run: SnapshotRun
  /** Deletions for the store, applied at the end of a step: one write each would cost more than all else here. */
  private deletions: StoreChange[] = []
  private finished = false

  /** Fixes the cut; the caller then begins the next interval. */
  constructor(options: TypedStateSnapshotOptions) {
    const { context, tables, fullNumber } = options
    this.context = context
    this.tables = [...tables]
    this.sink = options.sink
    this.encoder = options.encoder
    this.onFinished = options.onFinished
    this.full = fullNumber !== undefined
    this.epoch = context.epoch
    this.nowMs = context.clock.nowMs()
    this.done = (fullNumber ?? 0) * 2
    this.foreign = this.done + 1
    if (this.full && context.store !== undefined) {
      this.stored = new StoredScan(context.store.scan(new Uint8Array(0), STORE_END))
    }
    const parts = this.tables.map((table) => this.partOf(table))
    this.run = new SnapshotRun([this.storePart(), ...parts], context.clock)
  }

  step(budgetMs: number): boolean {
    if (this.finished) return true
    if (!this.runFor(budgetMs)) return false
    this.finished = true
    this.onFinished()
    return true
  }

  private runFor(budgetMs: number): boolean {
    try {
      return this.run.step(budgetMs)
    } finally {
      if (this.deletions.length > 0) this.context.store!.apply(this.deletions)
      this.deletions = []
    }
  }

  onCreated(entry: KeyedEntry): void {
    if (this.full) entry.mark = this.foreign
  }

  beforeChange(table: StateTable, entry: KeyedEntry): void {
    if (this.isPending(entry)) this.write(table, entry)
  }

  beforeLeaving(table: StateTable, entry: KeyedEntry): void {
    if (this.stored === undefined || !this.stored.isOpen || entry.mark === this.foreign) return
    if ((entry.flags & (STORED | MAYBE_STORED)) === 0) return
    this.stored.override(storeKeyOfEntry(table.id, entry))
  }

  private isPending(entry: KeyedEntry): boolean {
    if (this.full) return entry.mark !== this.done && entry.mark !== this.foreign
    return entry.epoch === this.epoch
  }

  private write(table: StateTable, entry: KeyedEntry): void {
    if (this.full) entry.mark = this.done
    if (entry.epoch === this.epoch) entry.epoch = 0
    const exists = (entry.flags & LIVE) !== 0 && !table.isExpired(entry, this.nowMs)
    // A full snapshot holds deletions too: the entry may have been spilled into this segment.
    if (!exists && (entry.flags & PERSISTED) === 0) return
    this.encoder.appendTo(this.sink, table, entry, this.nowMs)
    table.timers?.write(this.sink, entry, this.full)
    this.entries += 1
  }

  /** The store's entries of all tables, which are in one key range. */
  private storePart(): SnapshotPart {
    return {
      stored: this.stored,
      copyStored: (key, value) => this.copyStored(key, value),
      copyNext: () => false,
    }
  }

  /** The entries of one table in memory; its list of dirty entries begins again. */
  private partOf(table: StateTable): SnapshotPart {
    const dirty = table.dirty.take()
    const source = this.full ? table.entries : dirty
    if (this.full) table.dirty.reuse(dirty)
    let position = -1
    return {
      stored: undefined,
      copyStored: () => {},
      copyNext: () => {
        if (position < 0 || position > source.length) position = source.length
        if (position === 0) {
          if (!this.full) table.dirty.reuse(dirty)
          return false
        }
        if (position % AHEAD === 0) this.readAhead(source, position)
        position -= 1
        this.copy(table, source.at(position))
        return true
      },
    }
  }

  /**
   * Loads the entries before `end` into the processor's cache, then their keys and values: one entry after the other
   * would wait for memory three times each.
   */
  private readAhead(source: ChunkedList<KeyedEntry>, end: number): void {
    let seen = 0
    for (let at = end - AHEAD; at < end; at++) seen ^= source.at(at).epoch
    for (let at = end - AHEAD; at < end; at++) {
      const { key, value } = source.at(at)
      seen += typeof value === 'object' ? key.length : 1
    }
    this.seen = seen
  }

  private copy(table: StateTable, entry: KeyedEntry): void {
    if (!this.isPending(entry)) return
    this.write(table, entry)
    const isSpentTombstone = (entry.flags & LIVE) === 0 && entry.epoch === 0 && entry.index >= 0
    if (isSpentTombstone && !this.context.restoring) table.forget(entry, this.deletions)
  }

  private copyStored(storeKey: Uint8Array, stored: Uint8Array): void {
    const value = valueOfStored(stored)
    if (value === undefined) return
    const { tableId, keyGroup, composite } = readStoreKey(storeKey)
    const table = this.tables[tableId]!
    const hash = entryHash(table.kind, composite)
    const inMemory = table.index.find(keyGroup, composite, composite.length, hash)
    if (inMemory !== undefined && inMemory.mark !== this.foreign) return
    this.sink.append(keyGroup, table.name, composite, value)
    this.entries += 1
  }
}
