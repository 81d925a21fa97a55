import { murmur3 } from '../../core/hash/murmur3.ts'
import { bytesOfLatin1 } from '../../core/text/latin1.ts'
import { IN_HEAP, type KeyedEntry, LIVE, PERSISTED, STORED } from '../entries/keyed-entry.ts'
import type { EntryTimers } from '../port/entry-timers.ts'
import type { FrequentKey } from '../port/frequent-key.ts'
import type { KeySelection } from '../port/key-selection.ts'
import { PrefixReader } from '../port/prefix-reader.ts'
import { finished } from '../port/scan-part.ts'
import type { Timer, TimerQueue } from '../port/timer-queue.ts'
import { type PrefixEntry, storedRange } from '../typed/prefix-scan.ts'
import { storeKeyOf, valueOfStored } from '../typed/store-keys.ts'
import type { StateTable } from '../typed/table.ts'
import { TableEntryTimers } from './entry-timers.ts'
import { TimerHeap } from './heap.ts'
import { readTimestamp, TIMESTAMP_BYTES, writeTimestamp } from './timestamp.ts'

const NOTHING = new Uint8Array(0)
/** Timers that are put into the heap in one step of a restore. */
const REBUILT_IN_A_STEP = 512
/** Above every composite key of a timer. */
const END = Uint8Array.of(0xff)

/**
 * Timers as entries of a table, keyed by (timestamp, key, namespace), and a heap over those in memory. Deleted timers
 * stay in the heap until they reach its top.
 *
 * Where memory has no room for all, the late ones go to the store: all timers before the horizon are in memory, and
 * later ones are here or there. They come back in order of time, some of each key group, when the horizon is reached.
 */
export class KeyedTimerQueue implements TimerQueue {
  private readonly table: StateTable
  private readonly selection: KeySelection
  private heap: TimerHeap
  private horizon = Number.POSITIVE_INFINITY
  private scratch = new Uint8Array(256)
  private readonly prefix = new PrefixReader()
  private ofEntries: TableEntryTimers | undefined

  constructor(table: StateTable, selection: KeySelection) {
    this.table = table
    this.selection = selection
    this.heap = this.newHeap()
    table.lateTimers = (keep) => this.giveUpLate(keep)
    finished(this.rebuild())
  }

  /** The timers of the entries of a state, of which the queue has one such. See `KeyedState.entryTimers`. */
  timersOf(state: StateTable, namespaceAt?: (timestamp: number) => Uint8Array): EntryTimers {
    this.ofEntries ??= new TableEntryTimers({
      table: state,
      selection: this.selection,
      queue: this.table.name,
      namespaceAt,
      takeOver: (timestamp, namespace) => this.takeOver(timestamp, namespace),
    })
    return this.ofEntries
  }

  register(timestamp: number): void {
    const length = this.locate(timestamp)
    const hash = murmur3(this.scratch, 0, length) | 0
    const keyGroup = this.selection.keyGroup
    const entry = this.table.findOrCreate(keyGroup, this.scratch, length, hash)
    if ((entry.flags & LIVE) !== 0) return
    entry.time = timestamp
    this.table.set(entry, NOTHING, 0)
    if ((entry.flags & IN_HEAP) === 0) this.add(entry, this.selection.frequent)
    this.table.context.settle()
  }

  delete(timestamp: number): void {
    const length = this.locate(timestamp)
    const hash = murmur3(this.scratch, 0, length) | 0
    this.table.removeAt(this.selection.keyGroup, this.scratch, length, hash)
  }

  has(timestamp: number): boolean {
    const length = this.locate(timestamp)
    const { table, scratch, selection } = this
    const hash = murmur3(scratch, 0, length) | 0
    const entry = table.index.find(selection.keyGroup, scratch, length, hash)
    if (entry !== undefined) return (entry.flags & LIVE) !== 0
    if (!table.index.hasSpilled(selection.keyGroup)) return false
    // Read without effect on memory, where a timer is in the heap.
    const key = storeKeyOf(table.id, selection.keyGroup, scratch, length)
    const stored = table.context.store!.get(key)
    return stored !== undefined && valueOfStored(stored) !== undefined
  }

  peek(): number | undefined {
    const own = this.reach(Number.POSITIVE_INFINITY)?.time ?? Number.POSITIVE_INFINITY
    const first = Math.min(own, this.ofEntries?.first ?? Number.POSITIVE_INFINITY)
    return first === Number.POSITIVE_INFINITY ? undefined : first
  }

  poll(upTo: number): Timer | undefined {
    const first = this.reach(upTo)
    const ofEntries = this.ofEntries?.first ?? Number.POSITIVE_INFINITY
    if (ofEntries <= upTo && (first === undefined || ofEntries < first.time)) {
      return this.ofEntries!.poll()
    }
    if (first === undefined || first.time > upTo) return undefined
    const frequent = this.heap.firstKey
    this.take(first)
    this.prefix.read(first.key, TIMESTAMP_BYTES)
    const { key, namespace } = this.prefix
    const timer = { timestamp: first.time, key, keyGroup: first.keyGroup, namespace }
    this.table.remove(first)
    if (frequent?.isOf(key) === true) this.selection.selectFrequent(frequent)
    else this.selection.select(key, first.keyGroup)
    this.selection.selectNamespace(namespace)
    return timer
  }

  /**
   * Registers a timer of the current key, if the queue has or had it in this form: a segment holds one form of a timer. A
   * restore brings such timers, and there are none once these have fired.
   */
  private takeOver(timestamp: number, namespace: Uint8Array): boolean {
    if (this.table.entries.length === 0) return false
    const { selection } = this
    const before = selection.namespace
    selection.selectNamespace(namespace)
    const length = this.locate(timestamp)
    const hash = murmur3(this.scratch, 0, length) | 0
    const isKnown = this.table.index.find(selection.keyGroup, this.scratch, length, hash)
    if (isKnown !== undefined) this.register(timestamp)
    selection.selectNamespace(before)
    return isKnown !== undefined
  }

  /** Builds the heap from the table, after a restore, in steps. */
  *rebuild(): Generator<void, void> {
    this.heap = this.newHeap()
    let added = 0
    for (const entry of this.table.entries) {
      if ((entry.flags & LIVE) === 0) continue
      entry.time = readTimestamp(entry.key)
      this.add(entry)
      added += 1
      if (added % REBUILT_IN_A_STEP === 0) yield
    }
  }

  /** An empty heap. A timer that fires is removed from the index: its neighbours there are read ahead. */
  private newHeap(): TimerHeap {
    const { index } = this.table
    return new TimerHeap((timer) => {
      const head = index.headOf(timer.keyGroup, timer.hash)
      return timer.touch() ^ (head === null ? 0 : head.hash)
    })
  }

  /** The first timer in memory, which is the first of all if that one is due by `upTo`. */
  private reach(upTo: number): KeyedEntry | undefined {
    let first = this.dropDeleted()
    while (this.horizon <= upTo && this.horizon < Number.POSITIVE_INFINITY) {
      if (first !== undefined && first.time < this.horizon) break
      this.advanceHorizon()
      first = this.dropDeleted()
    }
    return first
  }

  /** Brings the next timers of each key group in from the store. */
  private advanceHorizon(): void {
    const { first, last } = this.table.context.keyGroups
    const most = Math.ceil(this.table.context.timersInMemory / 2 / (last - first + 1))
    let next = Number.POSITIVE_INFINITY
    for (let keyGroup = first; keyGroup <= last; keyGroup++) {
      if (this.table.index.hasSpilled(keyGroup)) next = Math.min(next, this.bringIn(keyGroup, most))
    }
    this.horizon = next
  }

  /**
   * Brings in at least `most` timers of a key group and all of the horizon's moment; returns the time of the first one
   * that stays in the store.
   */
  private bringIn(keyGroup: number, most: number): number {
    const from = new Uint8Array(TIMESTAMP_BYTES)
    writeTimestamp(this.horizon, from)
    let count = 0
    for (const stored of storedRange(this.table, keyGroup, from, END)) {
      const time = readTimestamp(stored.key)
      if (count >= most && time > this.horizon) return time
      this.bring(keyGroup, stored, time)
      count += 1
    }
    return Number.POSITIVE_INFINITY
  }

  /** Takes a timer from the store, unless memory has it or its deletion. */
  private bring(keyGroup: number, { key }: PrefixEntry, time: number): void {
    const bytes = bytesOfLatin1(key)
    const hash = murmur3(bytes) | 0
    if (this.table.index.find(keyGroup, bytes, bytes.length, hash) !== undefined) return
    const entry = this.table.create(keyGroup, bytes, bytes.length, hash)
    this.table.adopt(entry, NOTHING)
    entry.flags |= STORED | PERSISTED
    entry.time = time
    this.add(entry)
  }

  /** Gives up the late timers, of which about `keep` stay: the caller stores them. */
  private giveUpLate(keep: number): readonly KeyedEntry[] {
    const late = this.heap.removeLate(keep)
    if (late === undefined) return []
    this.horizon = Math.min(this.horizon, late.from)
    for (const timer of late.timers) timer.flags &= ~IN_HEAP
    return late.timers.filter(({ flags }) => (flags & LIVE) !== 0)
  }

  /** Writes the composite key of a timer of the current key into `scratch`; returns its length. */
  private locate(timestamp: number): number {
    this.selection.encode()
    const { bytes, prefixEnd } = this.selection
    const length = TIMESTAMP_BYTES + prefixEnd
    if (length > this.scratch.length) this.scratch = new Uint8Array(length * 2)
    writeTimestamp(timestamp, this.scratch)
    for (let i = 0; i < prefixEnd; i++) this.scratch[TIMESTAMP_BYTES + i] = bytes[i]!
    return length
  }

  /** Drops deleted timers from the top of the heap; returns the first one that is left. */
  private dropDeleted(): KeyedEntry | undefined {
    let first = this.heap.first
    while (first !== undefined && (first.flags & LIVE) === 0) {
      this.take(first)
      first = this.heap.first
    }
    return first
  }

  /** `frequent`: as `TimerHeap.push`. */
  private add(entry: KeyedEntry, frequent?: FrequentKey): void {
    entry.flags |= IN_HEAP
    this.heap.push(entry, frequent)
  }

  /** Removes the first entry of the heap. */
  private take(first: KeyedEntry): void {
    first.flags &= ~IN_HEAP
    this.heap.pop()
  }
}
