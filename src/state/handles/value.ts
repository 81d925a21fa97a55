import { ByteReader } from '../../core/byte-reader.ts'
import { copierOf, type Serializer } from '../../core/serializer.ts'
import type { KeyedEntry } from '../entries/keyed-entry.ts'
import type { LiveValueState } from '../port/handles.ts'
import type { KeySelection } from '../port/key-selection.ts'
import { checkType } from '../typed/former-types.ts'
import { hasEntries } from '../typed/keys.ts'
import type { StateTable } from '../typed/table.ts'
import { EntryForm, type PlainObject } from '../values/entry.ts'

/** ValueState over a table: one entry per key and namespace. */
export class ValueStateHandle<T> implements LiveValueState<T> {
  private readonly table: StateTable
  private readonly selection: KeySelection
  private readonly serializer: Serializer<T>
  private readonly form: EntryForm<T>

  constructor(table: StateTable, selection: KeySelection, serializer: Serializer<T>) {
    this.table = table
    this.selection = selection
    this.serializer = serializer
    this.form = new EntryForm(serializer)
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
    if (typeof value !== 'object') return value as T
    // Saved before the caller may change the object in place.
    this.table.change(entry)
    return value instanceof Uint8Array ? this.decodeToChange(entry, value) : (value as T)
  }

  hasEntries(): boolean {
    return hasEntries(this.table)
  }

  private decodeToChange(entry: KeyedEntry, bytes: Uint8Array): T {
    const object = this.serializer.read(new ByteReader(bytes))
    // Only an object that can be measured stays decoded: its bytes count in the budget of memory.
    const copier = copierOf(this.serializer)
    if (copier?.copy(object) !== undefined) {
      this.table.hold(entry, object as PlainObject, copier.bytes)
    }
    return object
  }

  update(value: T): void {
    if (value === undefined) {
      this.clear()
      return
    }
    if (this.table.expectedType !== 0) checkType(this.table, value)
    const entry = this.table.currentToWrite(this.selection)
    if (typeof value === 'object' && value !== null && entry.value === value) {
      this.table.set(entry, value, this.measure(value, entry))
    } else {
      const held = this.form.of(value)
      this.table.set(entry, held, this.form.bytes)
    }
    this.table.context.settle()
  }

  clear(): void {
    this.table.removeCurrent(this.selection)
  }

  /** The bytes of heap of an object that the entry holds already; as before where no budget counts them, without a store. */
  private measure(value: T, entry: KeyedEntry): number {
    if (this.table.context.store === undefined) return entry.valueBytes
    return copierOf(this.serializer)!.measure(value)
  }
}
