import { murmur3 } from '../core/murmur3.ts'
import { type KeyedEntry, LIVE, MAYBE_STORED, PERSISTED, STORED } from './keyed-entry.ts'
import { latin1Of } from './latin1.ts'
import type { ChangeSink, StateSnapshot } from './state-change.ts'
import type { StateTable } from './state-table.ts'
import { readStoreKey, TypedStateMemory } from './typed-state-memory.ts'

/** Entries copied between two looks at the clock. */
const STRIDE = 32

/**
 * Typed state as it stood at a barrier, being copied out in steps.
 *
 * Nothing is copied when it is made: the entries that were dirty then are still marked with the
 * interval that ended. Whoever wants to change or evict one of them calls `beforeChange`, which
 * writes it to the sink first (copy on write). A full snapshot first scans the store as it stood,
 * leaving out what memory overrode, then walks the entries in memory from the last to the first, so
 * that an entry moved into a gap by a removal is still met.
 */
export class TypedStateSnapshot implements StateSnapshot {
  entries = 0
  private readonly memory: TypedStateMemory
  private readonly sink: ChangeSink
  private readonly epoch: number
  private readonly full: boolean
  private readonly nowMs: number
  /** Marks of a full snapshot: written already, or not part of memory at the barrier. */
  private readonly done: number
  private readonly foreign: number
  private readonly work: { readonly table: StateTable; readonly dirty: readonly KeyedEntry[] }[] =
    []
  private table = 0
  private position = -1
  private storeScan: Iterator<readonly [Uint8Array, Uint8Array]> | undefined
  /** Store keys whose value at the barrier was in memory and has left it since. */
  private readonly gone = new Set<string>()
  private finished = false

  /** Fixes the cut; the caller then begins the next interval. */
  constructor(memory: TypedStateMemory, sink: ChangeSink, full: boolean) {
    this.memory = memory
    this.sink = sink
    this.full = full
    this.epoch = memory.epoch
    this.nowMs = memory.clock.nowMs()
    this.done = memory.fullSnapshots * 2
    this.foreign = this.done + 1
    for (const table of memory.tablesById) {
      this.work.push({ table, dirty: table.dirty })
      table.dirty = []
    }
    if (full && memory.store !== undefined) {
      this.storeScan = memory.store.scan(new Uint8Array(0), STORE_END)
    }
  }

  step(budgetMs: number): boolean {
    if (this.finished) return true
    const deadline = this.memory.clock.monotonicMs() + budgetMs
    for (let n = 1; this.copyNext(); n++) {
      if (n % STRIDE === 0 && this.memory.clock.monotonicMs() >= deadline) return false
    }
    this.finished = true
    this.memory.snapshot = undefined
    this.memory.settle()
    return true
  }

  /** An entry came into memory after the barrier. */
  born(entry: KeyedEntry): void {
    if (this.full) entry.mark = this.foreign
  }

  /** Writes the entry now if the cut holds it and it was not written yet. */
  beforeChange(table: StateTable, entry: KeyedEntry): void {
    if (this.isPending(entry)) this.write(table, entry)
  }

  /** An entry is about to leave memory, `beforeChange` done. */
  unlinking(table: StateTable, entry: KeyedEntry): void {
    if (this.storeScan === undefined || entry.mark === this.foreign) return
    if ((entry.flags & (STORED | MAYBE_STORED)) === 0) return
    const key = this.memory.storeKeyOf(table, entry)
    this.gone.add(latin1Of(key))
  }

  private isPending(entry: KeyedEntry): boolean {
    if (this.full) return entry.mark !== this.done && entry.mark !== this.foreign
    return entry.epoch === this.epoch
  }

  private write(table: StateTable, entry: KeyedEntry): void {
    if (this.full) entry.mark = this.done
    if (entry.epoch === this.epoch) entry.epoch = 0
    const exists = (entry.flags & LIVE) !== 0 && !table.isExpired(entry, this.nowMs)
    // Deletions are told in full snapshots too: the entry may have been spilled into this segment.
    if (!exists && (entry.flags & PERSISTED) === 0) return
    this.memory.appendTo(this.sink, table, entry, this.nowMs)
    this.entries += 1
  }

  /** Copies one entry; false when nothing is left. */
  private copyNext(): boolean {
    if (this.storeScan !== undefined) {
      this.copyStored(this.storeScan)
      return true
    }
    while (this.table < this.work.length) {
      const { table, dirty } = this.work[this.table]!
      const source = this.full ? table.entries : dirty
      if (this.position < 0 || this.position > source.length) this.position = source.length
      if (this.position === 0) {
        this.table += 1
        this.position = -1
        continue
      }
      this.position -= 1
      this.copy(table, source[this.position]!)
      return true
    }
    return false
  }

  private copy(table: StateTable, entry: KeyedEntry): void {
    if (!this.isPending(entry)) return
    this.write(table, entry)
    const isSpentTombstone = (entry.flags & LIVE) === 0 && entry.epoch === 0 && entry.index >= 0
    if (isSpentTombstone && !this.memory.restoring) this.memory.forget(table, entry)
  }

  private copyStored(scan: Iterator<readonly [Uint8Array, Uint8Array]>): void {
    const next = scan.next()
    if (next.done === true) {
      this.storeScan = undefined
      this.gone.clear()
      return
    }
    const [storeKey, stored] = next.value
    const value = TypedStateMemory.valueOfStored(stored)
    if (value === undefined || this.gone.has(latin1Of(storeKey))) return
    const { tableId, keyGroup, composite } = readStoreKey(storeKey)
    const table = this.memory.tablesById[tableId]!
    const hash = murmur3(composite) | 0
    const inMemory = table.findInMemory(keyGroup, composite, composite.length, hash)
    if (inMemory !== undefined && inMemory.mark !== this.foreign) return
    this.sink.append(keyGroup, table.name, composite, value)
    this.entries += 1
  }
}

/** Above every key of typed state; row tables have the rest. */
const STORE_END = Uint8Array.of(0x80)
