import type { Serializer } from '../../core/serializer.ts'
import type { LiveListState } from '../port/handles.ts'
import type { KeySelection } from '../port/key-selection.ts'
import { ListValue } from '../values/list.ts'
import type { KeyedEntry } from './keyed-entry.ts'
import type { StateTable } from './table.ts'

const NO_ELEMENTS = new Uint8Array(0)

/**
 * ListState over a table: one entry per key and namespace that holds the elements. Appending touches the new
 * elements alone; a time to live counts for the list as a whole.
 */
export class ListStateHandle<T> implements LiveListState<T> {
  private readonly table: StateTable
  private readonly selection: KeySelection
  private readonly serializer: Serializer<T>

  constructor(table: StateTable, selection: KeySelection, serializer: Serializer<T>) {
    this.table = table
    this.selection = selection
    this.serializer = serializer
  }

  get(): T[] {
    const entry = this.table.current(this.selection)
    if (entry === undefined) return []
    this.table.beforeSharing(entry)
    const list = listOf(entry)
    const values = list.values(this.serializer)
    this.count(entry, list)
    this.table.hold(entry, list)
    this.table.context.settle()
    return values
  }

  add(value: T): void {
    this.append(value)
  }

  append(value: T): boolean {
    const entry = this.table.current(this.selection)
    const list = this.toAppend(entry)
    list.add(this.serializer, value)
    this.store(entry ?? this.table.currentToWrite(this.selection), list)
    return entry === undefined
  }

  addAll(values: readonly T[]): void {
    if (values.length === 0) return
    const entry = this.table.current(this.selection)
    const list = this.toAppend(entry)
    for (const value of values) list.add(this.serializer, value)
    this.store(entry ?? this.table.currentToWrite(this.selection), list)
  }

  update(values: readonly T[]): void {
    if (values.length === 0) {
      this.clear()
      return
    }
    const list = new ListValue()
    for (const value of values) list.add(this.serializer, value)
    this.store(this.table.currentToWrite(this.selection), list)
  }

  clear(): void {
    this.table.removeCurrent(this.selection)
  }

  private toAppend(entry: KeyedEntry | undefined): ListValue {
    if (entry === undefined) return new ListValue()
    // The old elements are saved before the list grows.
    this.table.change(entry)
    return listOf(entry)
  }

  private store(entry: KeyedEntry, list: ListValue): void {
    this.count(entry, list)
    this.table.set(entry, list)
    this.table.context.settle()
  }

  /** Counts the bytes of a list that has changed its size, so that they can be taken away again. */
  private count(entry: KeyedEntry, list: ListValue): void {
    const { bytes } = list
    if (entry.value === list) this.table.context.bytes += bytes - list.counted
    list.counted = bytes
  }
}

function listOf({ value }: KeyedEntry): ListValue {
  if (value instanceof ListValue) return value
  return ListValue.of(value instanceof Uint8Array ? value : NO_ELEMENTS)
}
