import { ByteWriter } from '../../core/byte-writer.ts'
import { writeLatin1 } from '../../core/text/latin1.ts'
import {
  ENTRY_OVERHEAD,
  type KeyedEntry,
  LIVE,
  MAYBE_STORED,
  PERSISTED,
  REFERENCED,
  STORED,
} from '../entries/keyed-entry.ts'
import type { ChangeSink } from '../port/change.ts'
import type { StateStore, StoreChange } from '../store/state-store.ts'
import {
  STORE_KEY_HEADER,
  STORED_TOMBSTONE,
  STORED_VALUE,
  writeStoreKeyHeader,
} from './store-keys.ts'
import type { StateTable } from './table.ts'
import type { TableContext } from './table-context.ts'

/** Bytes freed beyond what is needed, so that evictions come in batches of below a millisecond. */
const EVICTION_SLACK = 64 * 1024

/** Share of the budget of memory that timers may take once it is exceeded. */
const TIMER_SHARE = 1 / 4
/** Bytes of a timer's key, about: its time, a short key and no namespace. */
const TIMER_KEY_BYTES = 24
/** Fewer timers always stay in memory. */
const FEWEST_TIMERS = 64

/** Options of `TypedSpill`. */
export interface TypedSpillOptions {
  readonly context: TableContext<StateTable>
  readonly store: StateStore
  /** All tables of the subtask; grows as states are declared. */
  readonly tables: readonly StateTable[]
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
  private readonly context: TableContext<StateTable>
  private readonly store: StateStore
  private readonly tables: readonly StateTable[]
  private readonly leaving = new LeavingEntries()
  /** Changed entries left memory while there was no sink. */
  private changesLost = false
  /** Number of the table that the clock's hand is in. */
  private clockTable = 0

  constructor(options: TypedSpillOptions) {
    this.context = options.context
    this.store = options.store
    this.tables = options.tables
  }

  /** Whether the next snapshot must hold everything; asked once for each snapshot. */
  takeChangesLost(): boolean {
    const lost = this.changesLost
    this.changesLost = false
    return lost
  }

  /**
   * Evicts entries until memory is some way below `limitBytes`. Timers that cannot leave memory take their share from
   * the other entries, but no more than a quarter of all, or nothing else could stay.
   */
  evict(limitBytes: number): void {
    const timerBytes = this.evictTimers()
    const most = Math.max(limitBytes, timerBytes + limitBytes * (1 - TIMER_SHARE))
    this.evictUntil(Math.max(0, most - EVICTION_SLACK))
    this.leaving.apply(this.store)
  }

  /** Evicts late timers where there are too many; returns the bytes of those that stay. */
  private evictTimers(): number {
    let bytes = 0
    for (const table of this.tables) {
      if (table.evictable) continue
      if (shouldGiveUpTimers(table)) {
        const late = table.lateTimers?.(this.context.timersInMemory / 2) ?? []
        for (const timer of late) this.evictEntry(table, timer)
        table.timersLeft = table.entries.length
      }
      bytes += bytesOfTimers(table)
    }
    return bytes
  }

  /** Lets the clock's hand go round, twice at most, until memory is below `target`. */
  private evictUntil(target: number): void {
    const most = 2 * (this.evictableCount() + this.tables.length)
    for (let looked = 0; this.context.bytes > target && looked < most; looked++) {
      const table = this.tables[this.clockTable]!
      if (!table.evictable || table.hand >= table.entries.length) {
        table.hand = 0
        this.clockTable = (this.clockTable + 1) % this.tables.length
        continue
      }
      const entry = table.entries.at(table.hand)
      if ((entry.flags & REFERENCED) !== 0) {
        entry.flags &= ~REFERENCED
        table.hand += 1
      } else if (!this.evictEntry(table, entry)) table.hand += 1
    }
  }

  /** False where the entry must stay. */
  private evictEntry(table: StateTable, entry: KeyedEntry): boolean {
    this.context.snapshot?.beforeChange(table, entry)
    const isLive = (entry.flags & LIVE) !== 0
    const isChanged = entry.epoch !== 0
    // Without a sink the deletion would be lost.
    if (isChanged && !isLive && this.sink === undefined) return false
    // During a restore a tombstone keeps older entries of its key out.
    const isKept = isLive || this.context.restoring
    const isStored = (entry.flags & STORED) !== 0 || (!isKept && (entry.flags & MAYBE_STORED) === 0)
    if (isChanged || !isStored) this.write(table, entry, isKept, { isChanged, isStored })
    table.unlink(entry)
    this.evictions += 1
    return true
  }

  /** Writes an entry that leaves memory into the sink, the store, or both. */
  private write(
    table: StateTable,
    entry: KeyedEntry,
    isKept: boolean,
    { isChanged, isStored }: { readonly isChanged: boolean; readonly isStored: boolean },
  ): void {
    const change = this.leaving.encode(table, entry, isKept)
    if (isChanged && this.sink === undefined) this.changesLost = true
    else if (isChanged) {
      appendLeaving(this.sink!, table, entry, change, this.context.clock.nowMs())
    }
    if (isStored) return
    this.leaving.store(change)
    table.index.markSpilled(entry.keyGroup)
    entry.flags |= MAYBE_STORED
  }

  private evictableCount(): number {
    let count = 0
    for (const table of this.tables) if (table.evictable) count += table.entries.length
    return count
  }
}

/** How many timers of a table may stay in memory under a budget. */
export function timersWithin(limitBytes: number): number {
  const fitting = Math.floor((limitBytes * TIMER_SHARE) / (ENTRY_OVERHEAD + TIMER_KEY_BYTES))
  return Math.max(FEWEST_TIMERS, fitting)
}

/** Bytes that the timers of a table take in memory, about. */
function bytesOfTimers({ entries }: StateTable): number {
  return entries.length * (ENTRY_OVERHEAD + TIMER_KEY_BYTES)
}

/**
 * Whether late timers of a table should leave memory. Timers of one moment stay together, and looking for late ones
 * takes a pass over all: after a look they are left alone until there are a quarter more.
 */
function shouldGiveUpTimers(table: StateTable): boolean {
  const { entries, context } = table
  if (entries.length > context.timersInMemory) return entries.length > table.timersLeft * 1.25
  table.timersLeft = 0
  return false
}

/** Room for the entries of a usual batch. */
const FIRST_BYTES = 256 * 1024

/**
 * The entries of one batch that leaves memory, as the store has them. Each is encoded once, for the store and for the
 * sink, into a buffer that all batches share: it is outside the JavaScript heap, from where an engine would first have
 * to move each small array.
 */
class LeavingEntries {
  private readonly writer = new ByteWriter(FIRST_BYTES)
  private changes: StoreChange[] = []

  /** The entry's change of the store, valid until `apply`; of a deleted one, `kept` leaves a tombstone there. */
  encode(table: StateTable, entry: KeyedEntry, kept: boolean): StoreChange {
    const key = this.key(table, entry)
    if ((entry.flags & LIVE) === 0 && !kept) return { key, value: undefined }
    const { writer } = this
    const from = writer.length
    if ((entry.flags & LIVE) === 0) writer.uint8(STORED_TOMBSTONE)
    else {
      writer.uint8(STORED_VALUE)
      table.encodeEntry(entry, writer)
    }
    return { key, value: writer.bytes.subarray(from, writer.length) }
  }

  /** Notes a change for `apply`. */
  store(change: StoreChange): void {
    this.changes.push(change)
  }

  /** Applies what was noted; what was encoded is void then. */
  apply(store: StateStore): void {
    const { changes } = this
    this.changes = []
    this.writer.reset()
    if (changes.length > 0) store.apply(changes)
  }

  private key(table: StateTable, entry: KeyedEntry): Uint8Array {
    const { writer } = this
    const from = writer.length
    const length = STORE_KEY_HEADER + entry.key.length
    writer.reserve(length)
    writeStoreKeyHeader(writer.bytes, from, table.id, entry.keyGroup)
    writer.length = writeLatin1(entry.key, writer.bytes, from + STORE_KEY_HEADER)
    return writer.bytes.subarray(from, writer.length)
  }
}

/** Writes a changed entry that leaves memory into `sink`; it is a deletion if it expired by `nowMs`. */
function appendLeaving(
  sink: ChangeSink,
  table: StateTable,
  entry: KeyedEntry,
  { key, value }: StoreChange,
  nowMs: number,
): void {
  const exists = (entry.flags & LIVE) !== 0 && !table.isExpired(entry, nowMs)
  const composite = key.subarray(STORE_KEY_HEADER)
  sink.append(entry.keyGroup, table.name, composite, exists ? value!.subarray(1) : undefined)
  entry.flags |= PERSISTED
}
