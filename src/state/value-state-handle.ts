import { ByteWriter } from '../core/byte-writer.ts'
import type { Serializer } from '../core/serializer.ts'
import { fromEntryValue, toEntryValue } from './entry-value.ts'
import type { ValueState } from './handles.ts'
import type { KeySelection } from './key-selection.ts'
import type { StateTable } from './state-table.ts'

/** ValueState over a table: one entry per key and namespace. */
export class ValueStateHandle<T> implements ValueState<T> {
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
    const value = fromEntryValue(this.serializer, entry.value)
    this.table.memory.settle()
    return value
  }

  update(value: T): void {
    if (value === undefined) {
      this.clear()
      return
    }
    const held = toEntryValue(this.serializer, value, this.writer)
    this.table.set(this.table.currentToWrite(this.selection), held)
    this.table.memory.settle()
  }

  clear(): void {
    this.table.removeCurrent(this.selection)
  }
}
