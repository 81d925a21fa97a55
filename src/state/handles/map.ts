import { ByteReader } from '../../core/byte-reader.ts'
import { ByteWriter } from '../../core/byte-writer.ts'
import type { Serializer } from '../../core/serializer.ts'
import { bytesOfLatin1, latin1Of } from '../../core/text/latin1.ts'
import type { MapStateDescriptor } from '../port/descriptors.ts'
import { entryHash, mapEntryHash } from '../port/entry-hash.ts'
import type { MapState } from '../port/handles.ts'
import type { KeySelection } from '../port/key-selection.ts'
import { checkType } from '../typed/former-types.ts'
import { type PrefixEntry, scanPrefix } from '../typed/prefix-scan.ts'
import type { StateTable } from '../typed/table.ts'
import { EntryForm, fromEntryValue } from '../values/entry.ts'
import { requirePairs } from './several-values.ts'

/** MapState over a table: one entry per key, namespace and map key. */
export class MapStateHandle<K, V> implements MapState<K, V> {
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
    if (entry === undefined) return undefined
    const value = this.table.read(entry, this.serializer)
    this.table.context.settle()
    return value
  }

  put(key: K, value: V): void {
    if (value === undefined) {
      this.remove(key)
      return
    }
    if (this.table.expectedType !== 0) checkType(this.table, value)
    const held = this.form.of(value)
    this.locate(key)
    const { keyGroup, bytes } = this.selection
    const entry = this.table.findOrCreate(keyGroup, bytes, this.length, this.hash)
    this.table.set(entry, held, this.form.bytes)
    this.table.context.settle()
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
