import type { ChangeSink } from '../port/change.ts'
import type { StateStore, StoreChange } from '../store/state-store.ts'
import type { EntryEncoder } from './entry-encoder.ts'
import { type KeyedEntry, LIVE, MAYBE_STORED, REFERENCED, STORED } from './keyed-entry.ts'
import { storeKeyOfEntry } from './store-keys.ts'
import type { StateTable, TableContext } from './table.ts'

/** Bytes freed beyond what is needed, so that evictions come in batches of below a millisecond. */
const EVICTION_SLACK = 64 * 1024

/** Options of `TypedSpill`. */
export interface TypedSpillOptions {
  readonly context: TableContext
  readonly store: StateStore
  /** All tables of the subtask; grows as states are declared. */
  readonly tables: readonly StateTable[]
  readonly encoder: EntryEncoder
}

/**
 * Moves entries of typed state from memory to the store: CLOCK (second chance) over all tables. A
 * changed entry that leaves memory also goes to the spill sink, because the next snapshot will not
 * meet it in memory.
 */
export class TypedSpill {
  /** Entries moved to the store. */
  evictions = 0
  /** Receives changed entries that leave memory before a snapshot. */
  sink: ChangeSink | undefined
  private readonly context: TableContext
  private readonly store: StateStore
  private readonly tables: readonly StateTable[]
  private readonly encoder: EntryEncoder
  /** Changed entries left memory while there was no sink. */
  private changesLost = false
  /** Number of the table that the clock's hand is in. */
  private clockTable = 0

  constructor(options: TypedSpillOptions) {
    this.context = options.context
    this.store = options.store
    this.tables = options.tables
    this.encoder = options.encoder
  }

  /** Whether the next snapshot must hold everything; asked once for each snapshot. */
  takeChangesLost(): boolean {
    const lost = this.changesLost
    this.changesLost = false
    return lost
  }

  /** Evicts entries until memory is some way below `limitBytes`, if it can. */
  evict(limitBytes: number): void {
    const target = Math.max(0, limitBytes - EVICTION_SLACK)
    const changes: StoreChange[] = []
    const most = 2 * this.entryCount() + this.tables.length
    for (let looked = 0; this.context.bytes > target && looked < most; looked++) {
      const table = this.tables[this.clockTable]!
      if (!table.evictable || table.hand >= table.entries.length) {
        table.hand = 0
        this.clockTable = (this.clockTable + 1) % this.tables.length
        continue
      }
      const entry = table.entries[table.hand]!
      if ((entry.flags & REFERENCED) !== 0) {
        entry.flags &= ~REFERENCED
        table.hand += 1
      } else this.evictEntry(table, entry, changes)
    }
    if (changes.length > 0) this.store.apply(changes)
  }

  private evictEntry(table: StateTable, entry: KeyedEntry, changes: StoreChange[]): void {
    this.context.snapshot?.beforeChange(table, entry)
    if (entry.epoch !== 0) {
      if (this.sink === undefined && (entry.flags & LIVE) === 0) {
        // Without a sink the deletion would be lost.
        table.hand += 1
        return
      }
      if (this.sink === undefined) this.changesLost = true
      else this.encoder.appendTo(this.sink, table, entry, this.context.clock.nowMs())
    }
    this.collectStoreChange(table, entry, changes)
    table.unlink(entry)
    this.evictions += 1
  }

  private collectStoreChange(table: StateTable, entry: KeyedEntry, changes: StoreChange[]): void {
    if ((entry.flags & STORED) !== 0) return
    // During a restore a tombstone keeps older entries of its key out.
    const isKept = (entry.flags & LIVE) !== 0 || this.context.restoring
    if (!isKept && (entry.flags & MAYBE_STORED) === 0) return
    const value = isKept ? this.encoder.storedValue(table, entry) : undefined
    changes.push({ key: storeKeyOfEntry(table.id, entry), value })
    table.index.markSpilled(entry.keyGroup)
    entry.flags |= MAYBE_STORED
  }

  private entryCount(): number {
    let count = 0
    for (const table of this.tables) count += table.entries.length
    return count
  }
}
