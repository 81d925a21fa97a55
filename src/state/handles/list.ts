import { copierOf, type Serializer } from '../../core/serializer.ts'
import type { KeyedEntry } from '../entries/keyed-entry.ts'
import { mapEntryHash } from '../port/entry-hash.ts'
import type { LiveListState } from '../port/handles.ts'
import type { KeySelection } from '../port/key-selection.ts'
import { checkType } from '../typed/former-types.ts'
import { hasEntries } from '../typed/keys.ts'
import { CHUNK_SUFFIX_BYTES, packedOf, writeChunkSuffix } from '../typed/list-chunks.ts'
import type { StateTable } from '../typed/table.ts'
import { bytesOfEncoded, type EntryValue } from '../values/entry.ts'
import { ListValue, MOST_LIVE, valuesOf } from '../values/list.ts'
import { requireValues } from './several-values.ts'
import { UnreadElements } from './unread-elements.ts'

const NO_ELEMENTS = new Uint8Array(0)
/** Heap bytes of a head before its elements become a chunk, where entries may leave memory. */
const LARGEST_HEAD = 16 * 1024
/** The same where all stay: decoded elements are read faster. */
const LARGEST_HEAD_IN_MEMORY = 256 * 1024
/** The same of lists at which their operator looks again and again, and the elements that stay decoded there. */
const LARGEST_LOOKED_AT = 4 * 1024 * 1024
const MOST_LOOKED_AT = 16_384

/**
 * ListState over a table: per key and namespace an entry with the head of the list, and an entry for each chunk of
 * elements before it. A chunk never changes: what is appended to a long list costs checkpoints and stores no more than
 * what is appended to a short one. A list with a time to live, which counts for it as a whole, has no chunks.
 */
export class ListStateHandle<T> implements LiveListState<T> {
  private readonly table: StateTable
  private readonly selection: KeySelection
  private readonly serializer: Serializer<T>
  private largestHead: number
  private mostLive = MOST_LIVE
  /** Whether all lists stay in memory, so that their elements may be there in both forms. */
  private readonly keepsDecoded: boolean
  /** Whether elements are read, where others may be packed at once. */
  private readonly unread: UnreadElements | undefined
  private readonly suffix = new Uint8Array(CHUNK_SUFFIX_BYTES)

  constructor(table: StateTable, selection: KeySelection, serializer: Serializer<T>) {
    this.table = table
    this.selection = selection
    this.serializer = serializer
    this.largestHead = largestHeadOf(table)
    this.keepsDecoded = table.context.store === undefined
    // Lists that expire are dropped elsewhere, and would not give up their room.
    if (this.keepsDecoded && table.ttl === undefined) this.unread = new UnreadElements()
  }

  get shares(): boolean {
    return copierOf(this.serializer)?.shares === true
  }

  hasEntries(): boolean {
    return hasEntries(this.table)
  }

  get(): T[] {
    return this.read(true)
  }

  elements(): readonly T[] {
    return this.read(false)
  }

  private read(copies: boolean): T[] {
    const entry = this.table.current(this.selection)
    if (entry === undefined) return []
    this.table.beforeSharing(entry)
    const list = this.listOf(entry)
    const head = copies ? list.values(this.serializer) : list.elements(this.serializer)
    this.table.hold(entry, list, list.bytes)
    const values = list.chunks === 0 ? head : this.chunkValues(list.chunks).concat(head)
    this.unread?.take(values.length)
    this.table.context.settle()
    return values
  }

  expectLooks(): void {
    if (!this.keepsDecoded || this.table.ttl !== undefined) return
    this.mostLive = MOST_LOOKED_AT
    this.largestHead = LARGEST_LOOKED_AT
  }

  retain(isKept: (element: T) => boolean, known?: readonly T[]): void {
    const entry = this.table.current(this.selection)
    if (entry === undefined) return
    const list = this.listOf(entry)
    if (list.canRetain) {
      // The old elements are saved before the list changes.
      this.table.change(entry)
      list.retain(isKept as (element: unknown) => boolean)
      if (list.count > 0) this.hold(entry, list)
      else this.clear()
      return
    }
    const all = known ?? this.elements()
    const kept = all.filter(isKept)
    if (all.length >= 2 * kept.length) this.update(kept)
  }

  take(): T[] {
    const entry = this.table.current(this.selection)
    if (entry === undefined) return []
    const list = this.listOf(entry)
    if (list.chunks > 0) {
      const values = this.get()
      this.clear()
      return values
    }
    // A snapshot in progress writes the list first, which leaves its elements.
    this.table.remove(entry)
    const values = list.elements(this.serializer)
    this.unread?.take(values.length)
    return values
  }

  keepLast(count: number): T[] {
    const entry = this.table.current(this.selection)
    if (entry === undefined) return []
    const list = this.listOf(entry)
    const decoded = list.chunks > 0 ? undefined : list.lastValues(this.serializer, count)
    const all = decoded ?? this.get()
    if (decoded !== undefined) {
      this.table.beforeSharing(entry)
      this.unread?.take(decoded.length)
    }
    const last = all.length > count ? all.slice(-count) : all
    if ((decoded === undefined ? all.length : list.count) >= 2 * count) this.update(last)
    return last
  }

  foldLast<A>(count: number, add: (value: T, sum: A | undefined) => A): A | undefined {
    const entry = this.table.current(this.selection)
    if (entry === undefined) return undefined
    const list = this.listOf(entry)
    if (!list.isFlat || this.shares) {
      let sum: A | undefined
      for (const value of this.keepLast(count)) sum = add(value, sum)
      return sum
    }
    this.unread?.take(Math.min(count, list.count))
    const sum = list.foldLast(count, add)
    if (list.count >= 2 * count) this.update(list.elements(this.serializer).slice(-count))
    return sum
  }

  add(value: T): void {
    this.append(value)
  }

  append(value: T): boolean {
    const entry = this.table.current(this.selection)
    const list = this.toAppend(entry)
    this.addTo(list, value)
    this.store(entry ?? this.table.currentToWrite(this.selection), list)
    return entry === undefined
  }

  addAll(values: readonly T[]): void {
    requireValues(values, 'addAll')
    if (values.length === 0) return
    const entry = this.table.current(this.selection)
    const list = this.toAppend(entry)
    for (const value of values) this.addTo(list, value)
    this.store(entry ?? this.table.currentToWrite(this.selection), list)
  }

  update(values: readonly T[]): void {
    requireValues(values, 'update')
    if (values.length === 0) {
      this.clear()
      return
    }
    this.removeChunks()
    if (this.table.expectedType !== 0) checkType(this.table, values[0])
    const before = this.before()
    const isShared = before instanceof ListValue && copierOf(this.serializer)?.shares === true
    const list = new ListValue(this.keepsDecoded, this.mostLive)
    list.addAll(this.serializer, values, isShared ? before : undefined)
    this.hold(this.table.currentToWrite(this.selection), list)
    this.dropped(before)
  }

  /** The list that an update replaces. It is not read from a store for that. */
  private before(): EntryValue {
    return this.keepsDecoded ? this.table.current(this.selection)?.value : undefined
  }

  clear(): void {
    this.removeChunks()
    this.dropped(this.table.removeCurrent(this.selection))
  }

  /** Tells a list that it was dropped; not earlier, because a snapshot may write it before. */
  private dropped(value: EntryValue): void {
    if (this.unread === undefined || !(value instanceof ListValue)) return
    this.unread.take(value.count)
    value.drop()
  }

  private addTo(list: ListValue, value: T): void {
    if (this.table.expectedType !== 0) checkType(this.table, value)
    const arena = this.unread?.arenaForNext()
    if (arena !== undefined && list.addEarly(this.serializer as Serializer<unknown>, value, arena))
      return
    list.add(this.serializer, value)
  }

  private toAppend(entry: KeyedEntry | undefined): ListValue {
    if (entry === undefined) return new ListValue(this.keepsDecoded, this.mostLive)
    // The old elements are saved before the list grows.
    this.table.change(entry)
    return this.listOf(entry)
  }

  private store(entry: KeyedEntry, list: ListValue): void {
    if (list.bytesOnce > this.largestHead) this.seal(list)
    this.hold(entry, list)
  }

  /** Makes the elements of a head a chunk. */
  private seal(list: ListValue): void {
    const chunk = this.chunkToWrite(list.chunks)
    const packed = list.seal(this.serializer as Serializer<unknown>)
    this.table.set(chunk, packed, bytesOfEncoded(packed))
    this.table.hasChunks = true
  }

  private hold(entry: KeyedEntry, list: ListValue): void {
    this.table.set(entry, list, list.bytes)
    this.table.context.settle()
  }

  private chunkValues(chunks: number): T[] {
    const values: T[] = []
    for (let number = 0; number < chunks; number++) {
      const length = this.locateChunk(number)
      const { keyGroup, bytes } = this.selection
      const chunk = this.table.find(keyGroup, bytes, length, this.chunkHash())
      const packed = packedOf(this.table, number, chunk?.value)
      for (const value of valuesOf(this.serializer, packed)) values.push(value)
    }
    return values
  }

  /** Deletes the chunks of the current list. Only a table that has chunks need read the head for it. */
  private removeChunks(): void {
    if (!this.table.hasChunks) return
    const entry = this.table.current(this.selection)
    const chunks = entry === undefined ? 0 : this.listOf(entry).chunks
    for (let number = 0; number < chunks; number++) {
      const length = this.locateChunk(number)
      const { keyGroup, bytes } = this.selection
      this.table.removeAt(keyGroup, bytes, length, this.chunkHash())
    }
  }

  private chunkToWrite(number: number): KeyedEntry {
    const length = this.locateChunk(number)
    const { keyGroup, bytes } = this.selection
    return this.table.findOrCreate(keyGroup, bytes, length, this.chunkHash())
  }

  /** Hash of the chunk that `locateChunk` located last. */
  private chunkHash(): number {
    return mapEntryHash(this.selection.hash, this.suffix, CHUNK_SUFFIX_BYTES)
  }

  /** Puts the key of a chunk of the current list into the selection's bytes; returns its length. */
  private locateChunk(number: number): number {
    this.selection.encode()
    writeChunkSuffix(number, this.suffix)
    return this.selection.append(this.suffix, CHUNK_SUFFIX_BYTES)
  }

  private listOf({ value }: KeyedEntry): ListValue {
    if (value instanceof ListValue) return value
    const bytes = value instanceof Uint8Array ? value : NO_ELEMENTS
    return ListValue.of(bytes, this.keepsDecoded, this.mostLive)
  }
}

function largestHeadOf({ ttl, context }: StateTable): number {
  if (ttl !== undefined) return Number.POSITIVE_INFINITY
  return context.store === undefined ? LARGEST_HEAD_IN_MEMORY : LARGEST_HEAD
}
