import type { ByteWriter } from '../core/byte-writer.ts'
import type { Serializer } from '../core/serializer.ts'
import { prefixLength } from './composite-key.ts'
import type { KeySelection } from './key-selection.ts'
import {
  ENTRY_OVERHEAD,
  type EntryValue,
  GrowingBytes,
  KeyedEntry,
  LIVE,
  LiveObject,
  MAYBE_STORED,
  PERSISTED,
  REFERENCED,
  STORED,
  sizeOfValue,
} from './keyed-entry.ts'
import { bytesOfLatin1, equalsLatin1, latin1Of } from './latin1.ts'
import type { StateDeclaration } from './state-change.ts'
import type { TypedStateMemory } from './typed-state-memory.ts'

/** Hash buckets of one key group: small tables of their own, so that growing one never stalls. */
class Buckets {
  heads: (KeyedEntry | null)[] = [null, null, null, null]
  size = 0
  /** Entries of the group were moved to the store at some time. */
  spilled = false

  insert(entry: KeyedEntry): void {
    if (this.size >= this.heads.length) this.grow()
    const at = entry.hash & (this.heads.length - 1)
    entry.next = this.heads[at]!
    this.heads[at] = entry
    this.size += 1
  }

  remove(entry: KeyedEntry): void {
    const at = entry.hash & (this.heads.length - 1)
    let current = this.heads[at]!
    if (current === entry) this.heads[at] = entry.next
    else {
      while (current.next !== entry) current = current.next!
      current.next = entry.next
    }
    entry.next = null
    this.size -= 1
  }

  private grow(): void {
    const old = this.heads
    const mask = old.length * 2 - 1
    const heads = new Array<KeyedEntry | null>(mask + 1).fill(null)
    for (let head of old) {
      while (head !== null) {
        const next: KeyedEntry | null = head.next
        head.next = heads[head.hash & mask]!
        heads[head.hash & mask] = head
        head = next
      }
    }
    this.heads = heads
  }
}

/** When entries of a table expire. */
export interface TableTtl {
  readonly ttlMs: number
  readonly renewOnRead: boolean
}

/**
 * All entries of one typed state on one subtask: what memory holds, hashed by key group, and the
 * rule by which values become bytes. `TypedStateMemory` decides what leaves for the store and what
 * a snapshot copies.
 */
export class StateTable {
  readonly memory: TypedStateMemory
  readonly id: number
  readonly name: string
  kind: StateDeclaration['kind']
  format: string
  /** Missing while the state is known from a restore only. */
  serializer: Serializer<unknown> | undefined
  ttl: TableTtl | undefined
  /** Timers stay in memory, where their queue orders them. */
  evictable = true
  readonly entries: KeyedEntry[] = []
  dirty: KeyedEntry[] = []
  /** Position of the eviction clock. */
  hand = 0
  /** Entries in memory by composite prefix, kept for map state. */
  readonly groups: Map<string, Set<KeyedEntry>> | undefined
  /** The entry found for the selection of this version; void when the versions differ. */
  cursor: KeyedEntry | undefined
  cursorVersion = -1
  private readonly buckets: (Buckets | undefined)[]
  private readonly firstKeyGroup: number
  private sweep = 0

  constructor(memory: TypedStateMemory, id: number, declaration: StateDeclaration) {
    this.memory = memory
    this.id = id
    this.name = declaration.name
    this.kind = declaration.kind
    this.format = declaration.format
    this.firstKeyGroup = memory.keyGroups.first
    const width = Math.max(0, memory.keyGroups.last - memory.keyGroups.first + 1)
    this.buckets = new Array<Buckets | undefined>(width).fill(undefined)
    this.groups = declaration.kind === 'map' ? new Map() : undefined
  }

  /** The entry in memory, live or not. */
  findInMemory(
    keyGroup: number,
    key: Uint8Array,
    length: number,
    hash: number,
  ): KeyedEntry | undefined {
    const buckets = this.buckets[keyGroup - this.firstKeyGroup]
    if (buckets === undefined) return undefined
    let entry = buckets.heads[hash & (buckets.heads.length - 1)]!
    while (entry !== null) {
      if (entry.hash === hash && equalsLatin1(entry.key, key, length)) return entry
      entry = entry.next!
    }
    return undefined
  }

  /** The first entry of the hash's bucket. */
  headOf(keyGroup: number, hash: number): KeyedEntry | null {
    const heads = this.buckets[keyGroup - this.firstKeyGroup]?.heads
    return heads === undefined ? null : heads[hash & (heads.length - 1)]!
  }

  /** The live, unexpired entry, brought in from the store if need be. */
  find(keyGroup: number, key: Uint8Array, length: number, hash: number): KeyedEntry | undefined {
    let entry = this.findInMemory(keyGroup, key, length, hash)
    if (entry === undefined) {
      if (!this.hasSpilled(keyGroup)) return undefined
      entry = this.memory.load(this, keyGroup, key, length, hash)
      if (entry === undefined) return undefined
    }
    entry.flags |= REFERENCED
    if ((entry.flags & LIVE) === 0) return undefined
    if (this.ttl !== undefined && !this.keepAlive(entry, this.ttl)) return undefined
    return entry
  }

  /** The entry to write, created when memory has none; the store is not asked. */
  findOrCreate(keyGroup: number, key: Uint8Array, length: number, hash: number): KeyedEntry {
    const entry = this.findInMemory(keyGroup, key, length, hash)
    if (entry !== undefined) return entry
    const created = this.create(keyGroup, key, length, hash)
    if (this.hasSpilled(keyGroup)) created.flags |= MAYBE_STORED | PERSISTED
    return created
  }

  /** Links a new entry that is neither live nor dirty. */
  create(keyGroup: number, key: Uint8Array, length: number, hash: number): KeyedEntry {
    const entry = new KeyedEntry(hash, latin1Of(key, length), keyGroup)
    this.bucketsOf(keyGroup).insert(entry)
    entry.index = this.entries.length
    this.entries.push(entry)
    this.memory.bytes += ENTRY_OVERHEAD + entry.key.length
    this.memory.snapshot?.born(entry)
    if (this.groups !== undefined) this.joinGroup(entry, key, length)
    return entry
  }

  /** The live entry of the selected key and namespace. */
  current(selection: KeySelection): KeyedEntry | undefined {
    if (this.cursorVersion === selection.version && this.ttl === undefined) return this.cursor
    selection.encode()
    this.cursor = this.find(
      selection.keyGroup,
      selection.bytes,
      selection.prefixEnd,
      selection.hash,
    )
    this.cursorVersion = selection.version
    return this.cursor
  }

  /** The entry of the selected key and namespace, to be written at once. */
  currentToWrite(selection: KeySelection): KeyedEntry {
    if (this.cursorVersion === selection.version && this.cursor !== undefined) return this.cursor
    selection.encode()
    const { keyGroup, bytes, prefixEnd, hash } = selection
    this.cursor = this.findOrCreate(keyGroup, bytes, prefixEnd, hash)
    this.cursorVersion = selection.version
    return this.cursor
  }

  /** Deletes the entry of the selected key and namespace without reading it. */
  removeCurrent(selection: KeySelection): void {
    selection.encode()
    this.removeAt(selection.keyGroup, selection.bytes, selection.prefixEnd, selection.hash)
  }

  /** Deletes an entry by key without reading it. */
  removeAt(keyGroup: number, key: Uint8Array, length: number, hash: number): void {
    const entry = this.hasSpilled(keyGroup)
      ? this.findOrCreate(keyGroup, key, length, hash)
      : this.findInMemory(keyGroup, key, length, hash)
    if (entry !== undefined) this.remove(entry)
  }

  /** Stores a value and renews the entry's time to live. */
  set(entry: KeyedEntry, value: EntryValue): void {
    this.change(entry)
    if (this.ttl !== undefined) {
      entry.time = this.memory.clock.nowMs() + this.ttl.ttlMs
      this.sweepExpired()
    }
    this.memory.bytes += sizeOfValue(value) - sizeOfValue(entry.value)
    entry.value = value
    entry.flags |= LIVE | REFERENCED
  }

  /** Must precede any change of an entry's value: saves the old one and marks it dirty. */
  change(entry: KeyedEntry): void {
    if (entry.epoch !== this.memory.epoch) {
      this.memory.snapshot?.beforeChange(this, entry)
      entry.epoch = this.memory.epoch
      entry.dirtyIndex = this.dirty.length
      this.dirty.push(entry)
    }
    if ((entry.flags & STORED) !== 0) entry.flags = (entry.flags & ~STORED) | MAYBE_STORED
  }

  /** Deletes an entry; a tombstone stays while some segment or the store may hold the key. */
  remove(entry: KeyedEntry): void {
    if ((entry.flags & LIVE) === 0 && entry.epoch === this.memory.epoch) return
    this.memory.snapshot?.beforeChange(this, entry)
    if ((entry.flags & (PERSISTED | STORED | MAYBE_STORED)) === 0) {
      entry.flags &= ~LIVE
      this.unlink(entry)
      return
    }
    this.change(entry)
    this.memory.bytes -= sizeOfValue(entry.value)
    entry.value = undefined
    entry.flags &= ~LIVE
    this.cursorVersion = -1
  }

  /** Takes an entry out of memory; whatever must be kept of it was written elsewhere before. */
  unlink(entry: KeyedEntry): void {
    this.memory.snapshot?.unlinking(this, entry)
    this.buckets[entry.keyGroup - this.firstKeyGroup]!.remove(entry)
    swapRemove(this.entries, entry.index, setIndex)
    if (entry.epoch === this.memory.epoch) {
      swapRemove(this.dirty, entry.dirtyIndex, setDirtyIndex)
    }
    entry.epoch = 0
    entry.index = -1
    this.memory.bytes -= ENTRY_OVERHEAD + entry.key.length + sizeOfValue(entry.value)
    if (this.groups !== undefined) this.leaveGroup(entry)
    this.cursorVersion = -1
  }

  /** Whether entries of a key group may lie in the store. */
  hasSpilled(keyGroup: number): boolean {
    return this.buckets[keyGroup - this.firstKeyGroup]?.spilled === true
  }

  /** Notes that an entry of the key group went to the store. */
  noteSpilled(keyGroup: number): void {
    this.bucketsOf(keyGroup).spilled = true
  }

  /** Appends the value as segments and the store hold it: expiry time if there is a TTL, bytes. */
  encode(entry: KeyedEntry, writer: ByteWriter): void {
    if (this.ttl !== undefined) writer.int53(entry.time)
    this.encodeValue(entry.value, writer)
  }

  /** Appends the value's bytes alone. */
  encodeValue(value: EntryValue, writer: ByteWriter): void {
    if (value instanceof Uint8Array) writer.raw(value)
    else if (value instanceof GrowingBytes) writer.raw(value.bytes.subarray(0, value.length))
    else if (value instanceof LiveObject) this.serializer!.write(value.object, writer)
    else if (value !== undefined) this.serializer!.write(value, writer)
  }

  /** Sets value and expiry from bytes that `encode` wrote; the bytes now belong to the entry. */
  adopt(entry: KeyedEntry, bytes: Uint8Array): void {
    let value = bytes
    if (this.ttl !== undefined) {
      entry.time = readExpiry(bytes)
      value = bytes.subarray(8)
    }
    entry.value = value
    entry.flags |= LIVE
    this.memory.bytes += sizeOfValue(value)
  }

  /** The value within bytes that `encode` wrote, a view; undefined when it expired by `nowMs`. */
  valueIfUnexpired(bytes: Uint8Array, nowMs: number): Uint8Array | undefined {
    if (this.ttl === undefined) return bytes
    return readExpiry(bytes) <= nowMs ? undefined : bytes.subarray(8)
  }

  /** Whether the entry has outlived its time at `nowMs`. */
  isExpired(entry: KeyedEntry, nowMs: number): boolean {
    return this.ttl !== undefined && entry.time <= nowMs
  }

  private keepAlive(entry: KeyedEntry, ttl: TableTtl): boolean {
    const now = this.memory.clock.nowMs()
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

  /** Looks at two entries per write, so that what nobody reads any more goes too. */
  private sweepExpired(): void {
    const now = this.memory.clock.nowMs()
    for (let n = 0; n < 2 && this.entries.length > 0; n++) {
      if (this.sweep >= this.entries.length) this.sweep = 0
      const entry = this.entries[this.sweep]!
      if ((entry.flags & LIVE) !== 0 && entry.time <= now && entry.value !== undefined) {
        this.remove(entry)
      }
      this.sweep += 1
    }
  }

  private bucketsOf(keyGroup: number): Buckets {
    const at = keyGroup - this.firstKeyGroup
    let buckets = this.buckets[at]
    if (buckets === undefined) {
      buckets = new Buckets()
      this.buckets[at] = buckets
    }
    return buckets
  }

  private joinGroup(entry: KeyedEntry, key: Uint8Array, length: number): void {
    const prefix = entry.key.slice(0, prefixLength(key.subarray(0, length)))
    const group = this.groups!.get(prefix)
    if (group !== undefined) group.add(entry)
    else this.groups!.set(prefix, new Set([entry]))
  }

  private leaveGroup(entry: KeyedEntry): void {
    const prefix = entry.key.slice(0, prefixLength(bytesOfLatin1(entry.key)))
    const group = this.groups!.get(prefix)!
    group.delete(entry)
    if (group.size === 0) this.groups!.delete(prefix)
  }
}

/** The expiry time in front of a TTL state's value. */
function readExpiry(bytes: Uint8Array): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return view.getInt32(4, true) * 4294967296 + view.getUint32(0, true)
}

function setIndex(entry: KeyedEntry, index: number): void {
  entry.index = index
}

function setDirtyIndex(entry: KeyedEntry, index: number): void {
  entry.dirtyIndex = index
}

function swapRemove(
  entries: KeyedEntry[],
  index: number,
  note: (entry: KeyedEntry, index: number) => void,
): void {
  const last = entries.pop()!
  if (index < entries.length) {
    entries[index] = last
    note(last, index)
  }
}
