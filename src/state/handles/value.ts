import { ByteReader } from '../../core/byte-reader.ts'
import { ByteWriter } from '../../core/byte-writer.ts'
import { copierOf, type Serializer } from '../../core/serializer.ts'
import type { LiveValueState } from '../port/handles.ts'
import type { KeySelection } from '../port/key-selection.ts'
import type { KeyedEntry } from '../typed/keyed-entry.ts'
import type { StateTable } from '../typed/table.ts'
import { type EntryValue, LiveObject, toEntryValue } from '../values/entry.ts'

/** ValueState over a table: one entry per key and namespace. */
export class ValueStateHandle<T> implements LiveValueState<T> {
  private readonly table: StateTable
  private readonly selection: KeySelection
  private readonly serializer: Serializer<T>
  private readonly writer = new ByteWriter(256)

  constructor(table: StateTable, selection: KeySelection, serializer: Serializer<T>) {
    this.table = table
    this.selection = selection
    this.serializer = serializer
  }

  value(): T | undefined {
    const entry = this.table.current(this.selection)
    if (entry === undefined) return undefined
    const value = this.table.read(entry, this.serializer)
    this.table.context.settle()
    return value
  }

  valueToChange(): T | undefined {
    const entry = this.table.current(this.selection)
    if (entry === undefined) return undefined
    const { value } = entry
    if (!(value instanceof LiveObject || value instanceof Uint8Array)) return value as T
    // Saved before the caller may change the object in place.
    this.table.change(entry)
    if (value instanceof LiveObject) return value.object as T
    return this.decodeToChange(entry, value)
  }

  hasEntries(): boolean {
    const { entries, context } = this.table
    return entries.length > 0 || context.store !== undefined
  }

  private decodeToChange(entry: KeyedEntry, bytes: Uint8Array): T {
    const object = this.serializer.read(new ByteReader(bytes))
    // Only an object that can be measured stays decoded: its bytes count in the budget of memory.
    const copier = copierOf(this.serializer)
    if (copier?.copy(object) !== undefined) {
      this.table.hold(entry, new LiveObject(object, copier.bytes))
    }
    return object
  }

  update(value: T): void {
    if (value === undefined) {
      this.clear()
      return
    }
    const entry = this.table.currentToWrite(this.selection)
    this.table.set(entry, this.held(value, entry.value))
    this.table.context.settle()
  }

  clear(): void {
    this.table.removeCurrent(this.selection)
  }

  /** The form of a value in memory: the object itself if it is the one that is held. */
  private held(value: T, before: EntryValue): EntryValue {
    if (!(before instanceof LiveObject) || before.object !== value) {
      return toEntryValue(this.serializer, value, this.writer)
    }
    // Without a store, no budget counts the bytes.
    if (this.table.context.store === undefined) return before
    return new LiveObject(value, copierOf(this.serializer)!.measure(value))
  }
}
