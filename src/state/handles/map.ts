import { ByteReader } from '../../core/byte-reader.ts'
import { ByteWriter } from '../../core/byte-writer.ts'
import type { Serializer } from '../../core/serializer.ts'
import { bytesOfLatin1, latin1Of } from '../../core/text/latin1.ts'
import { type KeyedEntry, LIVE, REFERENCED } from '../entries/keyed-entry.ts'
import type { MapStateDescriptor } from '../port/descriptors.ts'
import { entryHash, mapEntryHash } from '../port/entry-hash.ts'
import type { PlacedMapState } from '../port/handles.ts'
import type { KeySelection } from '../port/key-selection.ts'
import { checkType } from '../typed/former-types.ts'
import { type PrefixEntry, scanPrefix } from '../typed/prefix-scan.ts'
import type { StateTable } from '../typed/table.ts'
import { EntryForm, fromEntryValue } from '../values/entry.ts'
import { requirePairs } from './several-values.ts'

/** MapState over a table: one entry per key, namespace and map key. */
export class MapStateHandle<K, V> implements PlacedMapState<K, V> {
  private readonly table: StateTable
  private readonly selection: KeySelection
  private readonly keySerializer: Serializer<K>
  private readonly serializer: Serializer<V>
  private readonly mapKey = new ByteWriter(64)
  private readonly form: EntryForm<V>
  private length = 0
  private hash = 0

  constructor(
    table: StateTable,
    selection: KeySelection,
    { keySerializer, serializer }: MapStateDescriptor<K, V>,
  ) {
    this.table = table
    this.selection = selection
    this.keySerializer = keySerializer
    this.serializer = serializer
    this.form = new EntryForm(serializer)
  }

  get(key: K): V | undefined {
    this.locate(key)
    const { keyGroup, bytes } = this.selection
    const entry = this.table.find(keyGroup, bytes, this.length, this.hash)
    return entry === undefined ? undefined : this.valueOf(entry)
  }

  getAt(key: K, place: object | undefined): V | undefined {
    const entry = inMemory(place)
    return entry === undefined ? this.get(key) : this.valueOf(entry)
  }

  put(key: K, value: V): void {
    if (value === undefined) this.remove(key)
    else this.place(key, value)
  }

  place(key: K, value: V): object | undefined {
    if (this.table.expectedType !== 0) checkType(this.table, value)
    const held = this.form.of(value)
    this.locate(key)
    const { keyGroup, bytes } = this.selection
    const entry = this.table.findOrCreate(keyGroup, bytes, this.length, this.hash)
    this.table.set(entry, held, this.form.bytes)
    this.table.context.settle()
    // An entry that leaves for the store would stay in memory for the sake of its place; one that expires is looked for.
    const hasPlace = this.table.ttl === undefined && !this.table.index.hasSpilled(keyGroup)
    return hasPlace ? entry : undefined
  }

  putAll(entries: Iterable<readonly [K, V]>): void {
    requirePairs(entries, 'putAll')
    for (const [key, value] of entries) this.put(key, value)
  }

  remove(key: K): void {
    this.locate(key)
    const { keyGroup, bytes } = this.selection
    this.table.removeAt(keyGroup, bytes, this.length, this.hash)
  }

  removeAt(key: K, place: object | undefined): void {
    const entry = inMemory(place)
    if (entry === undefined) this.remove(key)
    else this.table.remove(entry)
  }

  has(key: K): boolean {
    this.locate(key)
    const { keyGroup, bytes } = this.selection
    return this.table.find(keyGroup, bytes, this.length, this.hash) !== undefined
  }

  *entries(): IterableIterator<[K, V]> {
    const prefixLength = this.prefix().length
    for (const { key, value } of this.scan()) {
      yield [this.mapKeyOf(key, prefixLength), fromEntryValue(this.serializer, value)]
    }
  }

  *keys(): IterableIterator<K> {
    const prefixLength = this.prefix().length
    for (const { key } of this.scan()) yield this.mapKeyOf(key, prefixLength)
  }

  *values(): IterableIterator<V> {
    for (const { value } of this.scan()) yield fromEntryValue(this.serializer, value)
  }

  isEmpty(): boolean {
    return this.scan().next().done === true
  }

  clear(): void {
    for (const { key } of [...this.scan()]) {
      const bytes = bytesOfLatin1(key)
      this.table.removeAt(this.selection.keyGroup, bytes, bytes.length, entryHash('map', bytes))
      this.table.context.settle()
    }
  }

  private valueOf(entry: KeyedEntry): V {
    const value = this.table.read(entry, this.serializer)
    this.table.context.settle()
    return value
  }

  private mapKeyOf(composite: string, prefixLength: number): K {
    return this.keySerializer.read(new ByteReader(bytesOfLatin1(composite.slice(prefixLength))))
  }

  private prefix(): string {
    this.selection.encode()
    return latin1Of(this.selection.bytes, this.selection.prefixEnd)
  }

  private scan(): IterableIterator<PrefixEntry> {
    return scanPrefix(this.table, this.selection.keyGroup, this.prefix())
  }

  private locate(key: K): void {
    this.selection.encode()
    this.mapKey.reset()
    this.keySerializer.write(key, this.mapKey)
    this.length = this.selection.append(this.mapKey.bytes, this.mapKey.length)
    this.hash = mapEntryHash(this.selection.hash, this.mapKey.bytes, this.mapKey.length)
  }
}

/** The entry that is at a place, as long as it is live and in memory. */
function inMemory(place: object | undefined): KeyedEntry | undefined {
  const entry = place as KeyedEntry | undefined
  if (entry === undefined || entry.index < 0 || (entry.flags & LIVE) === 0) return undefined
  entry.flags |= REFERENCED
  return entry
}
