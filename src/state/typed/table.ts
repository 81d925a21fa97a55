import type { ByteWriter } from '../../core/byte-writer.ts'
import { copierOf, type Serializer } from '../../core/serializer.ts'
import { latin1Of } from '../../core/text/latin1.ts'
import { ChunkedList } from '../entries/chunked-list.ts'
import { DirtyEntries } from '../entries/dirty-entries.ts'
import { EntryIndex } from '../entries/entry-index.ts'
import {
  ENTRY_OVERHEAD,
  KeyedEntry,
  LIVE,
  MAYBE_STORED,
  PERSISTED,
  REFERENCED,
  removeFromEntries,
  STORED,
  TIMED,
} from '../entries/keyed-entry.ts'
import type { StateDeclaration } from '../port/change.ts'
import type { QueryView } from '../port/descriptors.ts'
import type { KeySelection } from '../port/key-selection.ts'
import { ShortKey } from '../port/short-key.ts'
import type { StoreChange } from '../store/state-store.ts'
import {
  bytesOfEncoded,
  type EntryValue,
  EXPIRY_BYTES,
  fromEntryValue,
  type PlainObject,
  readExpiry,
  writeEntryValue,
} from '../values/entry.ts'
import { KeyWindows } from './key-windows.ts'
import { PrefixGroups } from './prefix-groups.ts'
import { ReadKey, storeKeyOfEntry, valueOfStored } from './store-keys.ts'
import type { TableContext, TableTtl, TimersOfEntries } from './table-context.ts'

const NOTHING = new Uint8Array(0)
const short = new ShortKey()

/**
 * The entries of one typed state on one subtask: those in memory, hashed by key group, and on demand those in the
 * store. `TypedStates` decides when entries are evicted and snapshots begin. Above 300 lines because the whole life of
 * an entry is in this one class: every record passes through several of its methods.
 */
export class StateTable {
  readonly context: TableContext<StateTable>
  readonly id: number
  readonly name: string
  kind: StateDeclaration['kind']
  format: string
  /** Missing while the state is known from a restore only. */
  serializer: Serializer<unknown> | undefined
  ttl: TableTtl | undefined
  /** Types of the restored values, and the one of the first value to be written; 0 for none. */
  formerTypes = 0
  expectedType = 0
  /** Whether an entry was restored. */
  holdsRestored = false
  /** Of timers: whether an operator has opened their queue. */
  isClaimed = false
  /** Whether a list of the state may have chunks. */
  hasChunks = false
  /** Entries that were read from the store one by one since the last group of records began. */
  storeReads = 0
  /** Timers leave memory by their queue alone, which orders them. */
  evictable = true
  /** Whether callers get the objects of entries themselves. */
  shares = false
  /** What queries get in place of the values. */
  queryView: QueryView<unknown> | undefined
  /** The timers of the entries, where they have some. */
  timers: TimersOfEntries | undefined
  /** Gives up the late timers of a queue, of which about `keep` stay in memory. */
  lateTimers: ((keep: number) => readonly KeyedEntry[]) | undefined
  /** Timers that the last look for late ones left in memory. */
  timersLeft = 0
  readonly entries = new ChunkedList<KeyedEntry>()
  /** The entries by their keys. */
  readonly index: EntryIndex
  readonly dirty = new DirtyEntries()
  /** Position of the eviction clock. */
  hand = 0
  /** Of map state only. */
  readonly groups: PrefixGroups | undefined
  /** Keys in their order, for scans. */
  readonly windows = new KeyWindows()
  /** The entry found for the selection of this version; void when the versions differ. */
  cursor: KeyedEntry | undefined
  cursorVersion = -1
  private readonly readKey = new ReadKey()
  private sweep = 0

  constructor(context: TableContext<StateTable>, id: number, declaration: StateDeclaration) {
    this.context = context
    this.id = id
    this.name = declaration.name
    this.kind = declaration.kind
    this.format = declaration.format
    this.index = new EntryIndex(context.keyGroups)
    if (this.kind === 'map') this.groups = new PrefixGroups(this.index, context.keyGroups)
  }

  /** The live, unexpired entry, brought in from the store if necessary. */
  find(keyGroup: number, key: Uint8Array, length: number, hash: number): KeyedEntry | undefined {
    const entry = this.index.find(keyGroup, key, length, hash)
    if (entry !== undefined) return this.ifLive(entry)
    if (!this.index.hasSpilled(keyGroup)) return undefined
    const loaded = this.load(keyGroup, key, length, hash)
    return loaded === undefined ? undefined : this.ifLive(loaded)
  }

  /** An entry that is used now; undefined for a tombstone and for one that has expired. */
  private ifLive(entry: KeyedEntry): KeyedEntry | undefined {
    entry.flags |= REFERENCED
    if ((entry.flags & LIVE) === 0) return undefined
    return this.ttl === undefined || this.keepAlive(entry, this.ttl) ? entry : undefined
  }

  /** The entry to write, created when memory has none; the store is not asked. */
  findOrCreate(keyGroup: number, key: Uint8Array, length: number, hash: number): KeyedEntry {
    const entry = this.index.find(keyGroup, key, length, hash)
    return entry ?? this.createToWrite(keyGroup, key, length, hash)
  }

  private createToWrite(
    keyGroup: number,
    key: Uint8Array,
    length: number,
    hash: number,
  ): KeyedEntry {
    const created = this.create(keyGroup, key, length, hash)
    if (this.index.hasSpilled(keyGroup)) created.flags |= MAYBE_STORED | PERSISTED
    return created
  }

  /** Reads an entry that is not in memory from the store. */
  private load(
    keyGroup: number,
    key: Uint8Array,
    length: number,
    hash: number,
  ): KeyedEntry | undefined {
    this.storeReads += 1
    const stored = this.context.store!.get(this.readKey.of(this.id, keyGroup, key, length))
    return this.bring(keyGroup, length === key.length ? key : key.subarray(0, length), hash, stored)
  }

  /**
   * The entry of a key that memory does not have, as the store has it. One that is neither live nor stored stands for
   * a key that does not exist, so that the next look needs no read; during a restore, which brings keys, there is none.
   */
  bring(
    keyGroup: number,
    key: Uint8Array,
    hash: number,
    stored: Uint8Array | undefined,
  ): KeyedEntry | undefined {
    const value = stored && valueOfStored(stored)
    if (value === undefined && this.context.restoring) return undefined
    const entry = this.create(keyGroup, key, key.length, hash)
    if (value === undefined) return entry
    this.adopt(entry, value)
    entry.flags |= STORED | PERSISTED
    return entry
  }

  /** Links a new entry that is neither live nor dirty. */
  create(keyGroup: number, key: Uint8Array, length: number, hash: number): KeyedEntry {
    // Elsewhere the hash is of more than the key, so it does not identify a short one.
    if (this.kind === 'map' || this.kind === 'timers') short.clear()
    else short.takeComposite(key, length)
    const entry = new KeyedEntry(hash, latin1Of(key, length), keyGroup, short.form, short.rest)
    this.index.insert(entry)
    entry.index = this.entries.length
    this.entries.push(entry)
    this.context.bytes += ENTRY_OVERHEAD + entry.key.length
    this.context.snapshot?.onCreated(entry)
    this.groups?.add(entry)
    this.windows.add(entry.key)
    return entry
  }

  /** The live entry of the selected key and namespace. */
  current(selection: KeySelection): KeyedEntry | undefined {
    if (this.cursorVersion === selection.version && this.ttl === undefined) return this.cursor
    // Without an entry in memory and in the store the key need not be hashed.
    if (this.entries.length === 0 && this.context.store === undefined) return undefined
    const entry = this.findSelected(selection)
    this.cursor = entry === undefined ? this.loadSelected(selection) : this.ifLive(entry)
    this.cursorVersion = selection.version
    return this.cursor
  }

  /** Makes an entry that the selection has been set to the current one. */
  select(entry: KeyedEntry, selection: KeySelection): void {
    this.cursor = entry
    this.cursorVersion = selection.version
  }

  /** The entry of the selected key and namespace in memory; a frequent key remembers it. */
  private findSelected(selection: KeySelection): KeyedEntry | undefined {
    const { frequent, lasting } = selection
    const remembers =
      frequent !== undefined && (lasting !== undefined || selection.namespace.length === 0)
    if (remembers) {
      const known = frequent.entryIn(this.id, lasting) as KeyedEntry | undefined
      if (known !== undefined) return known
    }
    selection.locate()
    const entry = this.index.findSelected(selection)
    if (remembers) frequent.remember(this.id, lasting, entry)
    return entry
  }

  /** The entry of the selected key and namespace, which is not in memory, from the store. */
  private loadSelected(selection: KeySelection): KeyedEntry | undefined {
    if (!this.index.hasSpilled(selection.keyGroup)) return undefined
    selection.encode()
    const { keyGroup, bytes, prefixEnd, hash } = selection
    const loaded = this.load(keyGroup, bytes, prefixEnd, hash)
    return loaded === undefined ? undefined : this.ifLive(loaded)
  }

  /** The entry of the selected key and namespace, to be written at once. */
  currentToWrite(selection: KeySelection): KeyedEntry {
    if (this.cursorVersion === selection.version && this.cursor !== undefined) return this.cursor
    this.cursor = this.findSelected(selection) ?? this.createSelected(selection)
    this.cursorVersion = selection.version
    return this.cursor
  }

  private createSelected(selection: KeySelection): KeyedEntry {
    selection.encode()
    const { keyGroup, bytes, prefixEnd, hash } = selection
    return this.createToWrite(keyGroup, bytes, prefixEnd, hash)
  }

  /** Deletes the entry of the selected key and namespace without reading it. Returns the value that memory had. */
  removeCurrent(selection: KeySelection): EntryValue {
    if (this.entries.length === 0 && this.context.store === undefined) return undefined
    const isFound = this.cursorVersion === selection.version && this.cursor !== undefined
    let entry = isFound ? this.cursor : this.findSelected(selection)
    entry ??= this.index.hasSpilled(selection.keyGroup) ? this.createSelected(selection) : undefined
    const value = entry?.value
    if (entry !== undefined) this.remove(entry)
    return value
  }

  /** Deletes an entry by key without reading it. */
  removeAt(keyGroup: number, key: Uint8Array, length: number, hash: number): void {
    const entry = this.index.hasSpilled(keyGroup)
      ? this.findOrCreate(keyGroup, key, length, hash)
      : this.index.find(keyGroup, key, length, hash)
    if (entry !== undefined) this.remove(entry)
  }

  /** Stores a value of about `bytes` of heap, and renews the entry's time to live. */
  set(entry: KeyedEntry, value: EntryValue, bytes: number): void {
    this.change(entry)
    if (this.ttl !== undefined) {
      entry.time = this.context.clock.nowMs() + this.ttl.ttlMs
      this.sweepExpired()
    }
    this.hold(entry, value, bytes)
    entry.flags |= LIVE | REFERENCED
  }

  /**
   * The value of an entry; the caller owns it unless the table shares objects. Bytes that came from a checkpoint or the store become an
   * object with the first read, so that the next one need not decode.
   */
  read<T>(entry: KeyedEntry, serializer: Serializer<T>): T {
    this.beforeSharing(entry)
    const { value } = entry
    const decoded = fromEntryValue(serializer, value)
    if (!(value instanceof Uint8Array)) return decoded
    const copier = copierOf(serializer)
    const copy = copier?.copy(decoded)
    if (copy !== undefined) this.hold(entry, copy as PlainObject, copier!.bytes)
    return decoded
  }

  /** Saves a value whose object a caller gets, which may change it before it calls `update`. */
  beforeSharing(entry: KeyedEntry): void {
    if (this.shares) this.context.snapshot?.beforeChange(this, entry)
  }

  /** Replaces the form of an entry's value in memory, which takes about `bytes` of heap; the value stays the same. */
  hold(entry: KeyedEntry, value: EntryValue, bytes: number): void {
    this.context.bytes += bytes - entry.valueBytes
    entry.valueBytes = bytes
    entry.value = value
  }

  /** To be called before any change of an entry's value: saves the old one and marks it dirty. */
  change(entry: KeyedEntry): void {
    if (entry.epoch !== this.context.epoch) {
      this.context.snapshot?.beforeChange(this, entry)
      entry.epoch = this.context.epoch
      this.dirty.add(entry)
    }
    if ((entry.flags & STORED) !== 0) entry.flags = (entry.flags & ~STORED) | MAYBE_STORED
  }

  /** Deletes an entry; a tombstone stays while some segment or the store may hold the key. */
  remove(entry: KeyedEntry): void {
    if ((entry.flags & LIVE) === 0 && entry.epoch === this.context.epoch) return
    this.context.snapshot?.beforeChange(this, entry)
    if ((entry.flags & (PERSISTED | STORED | MAYBE_STORED)) === 0) {
      entry.flags &= ~(LIVE | TIMED)
      this.unlink(entry)
      return
    }
    this.change(entry)
    this.hold(entry, undefined, 0)
    entry.flags &= ~(LIVE | TIMED)
    this.cursorVersion = -1
  }

  /** Drops a tombstone that a snapshot holds; adds to `changes` what deletes it from the store. */
  forget(entry: KeyedEntry, changes: StoreChange[]): void {
    if ((entry.flags & (STORED | MAYBE_STORED)) !== 0) {
      changes.push({ key: storeKeyOfEntry(this.id, entry), value: undefined })
    }
    this.unlink(entry)
  }

  /** Removes an entry from memory; its value, if still needed, was written elsewhere before. */
  unlink(entry: KeyedEntry): void {
    this.context.snapshot?.beforeLeaving(this, entry)
    this.index.remove(entry)
    removeFromEntries(this.entries, entry)
    if (entry.epoch === this.context.epoch) this.dirty.remove(entry)
    entry.epoch = 0
    entry.index = -1
    this.context.bytes -= ENTRY_OVERHEAD + entry.key.length
    this.groups?.remove(entry)
    this.cursorVersion = -1
    // Frequent keys may remember the entry for long.
    this.hold(entry, undefined, 0)
  }

  /** Appends the expiry time, if the table has a time to live, and the value. */
  encodeEntry(entry: KeyedEntry, writer: ByteWriter): void {
    if (this.ttl !== undefined) writer.int53(entry.time)
    this.encodeValue(entry.value, writer)
  }

  /** Appends the value's bytes, without an expiry time. */
  encodeValue(value: EntryValue, writer: ByteWriter): void {
    writeEntryValue(this.serializer, value, writer)
  }

  /** Sets value and expiry from bytes of a segment or of the store; the bytes now belong to the entry. */
  adopt(entry: KeyedEntry, bytes: Uint8Array): void {
    if (this.ttl !== undefined) entry.time = readExpiry(bytes)
    const value = this.ttl === undefined ? bytes : bytes.subarray(EXPIRY_BYTES)
    // A timer has no value: one object serves all.
    this.hold(entry, value.length === 0 ? NOTHING : value, bytesOfEncoded(value))
    entry.flags |= LIVE
  }

  /** The value within bytes of the store, a view; undefined when it expired by `nowMs`. */
  valueIfUnexpired(bytes: Uint8Array, nowMs: number): Uint8Array | undefined {
    if (this.ttl === undefined) return bytes
    return readExpiry(bytes) <= nowMs ? undefined : bytes.subarray(EXPIRY_BYTES)
  }

  /** Whether the entry expired by `nowMs`. */
  isExpired(entry: KeyedEntry, nowMs: number): boolean {
    return this.ttl !== undefined && entry.time <= nowMs
  }

  private keepAlive(entry: KeyedEntry, ttl: TableTtl): boolean {
    const now = this.context.clock.nowMs()
    if (entry.time <= now) {
      this.remove(entry)
      return false
    }
    if (ttl.renewOnRead && entry.time !== now + ttl.ttlMs) {
      this.change(entry)
      entry.time = now + ttl.ttlMs
    }
    return true
  }

  /** Looks at two entries per write, so that entries that are never read again expire too. */
  private sweepExpired(): void {
    const now = this.context.clock.nowMs()
    for (let n = 0; n < 2 && this.entries.length > 0; n++) {
      if (this.sweep >= this.entries.length) this.sweep = 0
      const entry = this.entries.at(this.sweep)
      const isLive = (entry.flags & LIVE) !== 0 && entry.value !== undefined
      if (isLive && entry.time <= now) this.remove(entry)
      this.sweep += 1
    }
  }
}
