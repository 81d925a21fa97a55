import { type KeyedEntry, LIVE, PERSISTED } from '../entries/keyed-entry.ts'
import { entryHash } from '../port/entry-hash.ts'
import type { StoreChange } from '../store/state-store.ts'
import { observeValue } from './former-types.ts'
import { isChunkKey } from './list-chunks.ts'
import { storeKeyOf } from './store-keys.ts'
import type { StateTable } from './table.ts'
import type { Evolution, TableContext } from './table-context.ts'

/** A deleted entry. */
interface Tombstone {
  readonly table: StateTable
  readonly entry: KeyedEntry
}

/** Deleted entries that are forgotten in one step. */
const FORGOTTEN_IN_A_STEP = 512

/** Fills tables with restored entries, newest segment first: the first one of a key wins. */
export class TypedRestore {
  /** What brings the entries of a table into its declared form, where they have another one. */
  readonly evolutions = new Map<StateTable, Evolution>()
  private readonly context: TableContext<StateTable>
  /** Deleted entries, which keep older entries of their keys out until the end. */
  private tombstones: Tombstone[] = []

  constructor(context: TableContext<StateTable>) {
    this.context = context
  }

  /** Takes one entry, its value undefined if it is a deletion. */
  take(table: StateTable, keyGroup: number, key: Uint8Array, stored: Uint8Array | undefined): void {
    const hash = entryHash(table.kind, key)
    if (table.kind === 'list' && isChunkKey(key)) table.hasChunks = true
    if (table.index.find(keyGroup, key, key.length, hash) !== undefined) return
    if (table.index.hasSpilled(keyGroup)) {
      if (this.context.store!.get(storeKeyOf(table.id, keyGroup, key)) !== undefined) return
    }
    const value = stored && this.evolved(table, key, stored)
    const entry = table.create(keyGroup, key, key.length, hash)
    entry.flags |= PERSISTED
    if (value !== undefined) {
      observeValue(table, value)
      table.adopt(entry, value === stored ? value.slice() : value)
      table.holdsRestored = true
    }
    if (value === undefined || table.isExpired(entry, this.context.clock.nowMs())) {
      entry.flags &= ~LIVE
      this.tombstones.push({ table, entry })
    }
    this.context.settle()
  }

  private evolved(table: StateTable, key: Uint8Array, value: Uint8Array): Uint8Array | undefined {
    const evolution = this.evolutions.get(table)
    return evolution === undefined ? value : evolution(key, value, this.context.clock.nowMs())
  }

  /** All entries have come: forgets the tombstones, some in each step. */
  *end(): Generator<void, void> {
    const { tombstones } = this
    this.tombstones = []
    this.evolutions.clear()
    for (let at = 0; at < tombstones.length; at += FORGOTTEN_IN_A_STEP) {
      if (at > 0) yield
      this.forget(tombstones.slice(at, at + FORGOTTEN_IN_A_STEP))
    }
  }

  private forget(tombstones: readonly Tombstone[]): void {
    const deletions: StoreChange[] = []
    for (const { table, entry } of tombstones) {
      const isUnchanged = entry.index >= 0 && entry.epoch === 0 && (entry.flags & LIVE) === 0
      if (isUnchanged) table.forget(entry, deletions)
    }
    if (deletions.length > 0) this.context.store!.apply(deletions)
  }
}
