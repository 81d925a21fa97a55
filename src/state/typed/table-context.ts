import type { Clock } from '../../core/clock.ts'
import type { KeyGroupRange } from '../../core/key-group.ts'
import type { KeyedEntry } from '../entries/keyed-entry.ts'
import type { ChangeSink } from '../port/change.ts'
import type { StateStore } from '../store/state-store.ts'

/** State that the tables of one subtask share; `TypedStates` implements it. `Table` is `StateTable`, which this file cannot import. */
export interface TableContext<Table> {
  readonly keyGroups: KeyGroupRange
  readonly clock: Clock
  /** Receives entries that memory has no room for; without it memory holds everything. */
  readonly store: StateStore | undefined
  /** Estimated heap bytes of all entries in memory; tables keep it up to date. */
  bytes: number
  /** Number of the checkpoint interval, counted from 1; a snapshot begins the next one. */
  readonly epoch: number
  /** Timers of a table that may stay in memory when the budget is exceeded. */
  readonly timersInMemory: number
  /** Whether entries of a checkpoint are still coming in. */
  readonly restoring: boolean
  /** The snapshot being copied out. */
  readonly snapshot: TableSnapshot<Table> | undefined
  /** Evicts entries if memory is above its budget; ends every operation that may have grown it. */
  settle(): void
}

/** The events of entries that a snapshot must see while it is copied out. */
export interface TableSnapshot<Table> {
  /** An entry came into memory after the barrier. */
  onCreated(entry: KeyedEntry): void
  /** Writes the entry now if the snapshot holds it and has not written it yet. */
  beforeChange(table: Table, entry: KeyedEntry): void
  /** An entry is about to leave memory, after `beforeChange`. */
  beforeLeaving(table: Table, entry: KeyedEntry): void
}

/** The timers of a table's entries, as a snapshot needs them. */
export interface TimersOfEntries {
  /** Writes what has changed of an entry's timer since it was written; with `full`, the timer in any case. */
  write(sink: ChangeSink, entry: KeyedEntry, full: boolean): void
}

/** The bytes of a restored entry in the declared form; undefined for one that has expired. */
export type Evolution = (
  key: Uint8Array,
  value: Uint8Array,
  nowMs: number,
) => Uint8Array | undefined

/** When entries of a table expire. */
export interface TableTtl {
  readonly ttlMs: number
  readonly renewOnRead: boolean
}
