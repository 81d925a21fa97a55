import { ByteReader } from '../../core/byte-reader.ts'
import { ByteWriter } from '../../core/byte-writer.ts'
import type { Serializer } from '../../core/serializer.ts'
import type { ListState } from '../port/handles.ts'
import type { KeySelection } from '../port/key-selection.ts'
import { type EntryValue, GrowingBytes, type KeyedEntry } from './keyed-entry.ts'
import type { StateTable } from './table.ts'

/**
 * ListState over a table: one entry per key and namespace that holds the elements one after the
 * other, each preceded by its length. Appending copies nothing; a time to live counts for the list
 * as a whole.
 */
export class ListStateHandle<T> implements ListState<T> {
  private readonly table: StateTable
  private readonly selection: KeySelection
  private readonly serializer: Serializer<T>
  private readonly element = new ByteWriter(256)
  private readonly encoded = new ByteWriter(256)

  constructor(table: StateTable, selection: KeySelection, serializer: Serializer<T>) {
    this.table = table
    this.selection = selection
    this.serializer = serializer
  }

  get(): T[] {
    const entry = this.table.current(this.selection)
    if (entry === undefined) return []
    const values: T[] = []
    const reader = readerOf(entry.value)
    while (reader.remaining > 0) values.push(this.serializer.read(new ByteReader(reader.sized())))
    this.table.context.settle()
    return values
  }

  add(value: T): void {
    this.addAll([value])
  }

  addAll(values: readonly T[]): void {
    if (values.length === 0) return
    this.encode(values)
    const existing = this.table.current(this.selection)
    if (existing === undefined) this.replace()
    else this.append(existing)
    this.table.context.settle()
  }

  update(values: readonly T[]): void {
    if (values.length === 0) {
      this.clear()
      return
    }
    this.encode(values)
    this.replace()
    this.table.context.settle()
  }

  clear(): void {
    this.table.removeCurrent(this.selection)
  }

  private encode(values: readonly T[]): void {
    this.encoded.reset()
    for (const value of values) {
      this.element.reset()
      this.serializer.write(value, this.element)
      this.encoded.varuint(this.element.length)
      this.encoded.raw(this.element.bytes.subarray(0, this.element.length))
    }
  }

  private replace(): void {
    const list = new GrowingBytes(this.encoded.toBytes())
    this.table.set(this.table.currentToWrite(this.selection), list)
  }

  private append(entry: KeyedEntry): void {
    // The old value is saved before the shared buffer grows.
    this.table.change(entry)
    const list = entry.value instanceof GrowingBytes ? entry.value : growingOf(entry.value)
    const before = list.bytes.length
    list.append(this.encoded.bytes, this.encoded.length)
    if (entry.value === list) this.table.context.bytes += list.bytes.length - before
    this.table.set(entry, list)
  }
}

function growingOf(value: EntryValue): GrowingBytes {
  return new GrowingBytes(value instanceof Uint8Array ? value : new Uint8Array(0))
}

function readerOf(value: EntryValue): ByteReader {
  if (value instanceof GrowingBytes) return new ByteReader(value.bytes, 0, value.length)
  return new ByteReader(value instanceof Uint8Array ? value : new Uint8Array(0))
}
