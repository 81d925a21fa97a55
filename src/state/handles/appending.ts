import { isKeptDecoded, type Serializer } from '../../core/serializer.ts'
import type { KeyedEntry } from '../entries/keyed-entry.ts'
import type {
  AggregateFunction,
  AggregatingStateDescriptor,
  ReducingStateDescriptor,
} from '../port/descriptors.ts'
import type { AppendingState } from '../port/handles.ts'
import type { KeySelection } from '../port/key-selection.ts'
import { checkType } from '../typed/former-types.ts'
import type { StateTable } from '../typed/table.ts'
import { EntryForm, fromEntryValue, LiveAccumulator } from '../values/entry.ts'

/** Bytes of an accumulator where no budget counts them. */
const ACCUMULATOR_BYTES = 120

/** ReducingState over a table: what was added so far, reduced to one value. */
export class ReducingStateHandle<T> implements AppendingState<T, T> {
  private readonly table: StateTable
  private readonly selection: KeySelection
  private readonly serializer: Serializer<T>
  private readonly reduce: (a: T, b: T) => T
  private readonly form: EntryForm<T>

  constructor(
    table: StateTable,
    selection: KeySelection,
    { serializer, reduce }: ReducingStateDescriptor<T>,
  ) {
    this.table = table
    this.selection = selection
    this.serializer = serializer
    this.reduce = reduce
    this.form = new EntryForm(serializer)
  }

  get(): T | undefined {
    const entry = this.table.current(this.selection)
    if (entry === undefined) return undefined
    const value = this.table.read(entry, this.serializer)
    this.table.context.settle()
    return value
  }

  add(value: T): void {
    const entry = this.table.current(this.selection)
    const reduced =
      entry === undefined ? value : this.reduce(this.table.read(entry, this.serializer), value)
    if (this.table.expectedType !== 0) checkType(this.table, reduced)
    const held = this.form.of(reduced)
    this.table.set(entry ?? this.table.currentToWrite(this.selection), held, this.form.bytes)
    this.table.context.settle()
  }

  clear(): void {
    this.table.removeCurrent(this.selection)
  }
}

/**
 * AggregatingState over a table. Where entries never leave memory the accumulator stays a decoded
 * object that only this handle touches; results that are objects are made from a fresh copy.
 */
export class AggregatingStateHandle<IN, ACC, OUT> implements AppendingState<IN, OUT> {
  private readonly table: StateTable
  private readonly selection: KeySelection
  private readonly serializer: Serializer<ACC>
  private readonly aggregate: AggregateFunction<IN, ACC, OUT>
  private readonly form: EntryForm<ACC>

  constructor(
    table: StateTable,
    selection: KeySelection,
    { serializer, aggregate }: AggregatingStateDescriptor<IN, ACC, OUT>,
  ) {
    this.table = table
    this.selection = selection
    this.serializer = serializer
    this.aggregate = aggregate
    this.form = new EntryForm(serializer)
  }

  get(): OUT | undefined {
    const entry = this.table.current(this.selection)
    if (entry === undefined) return undefined
    const result = this.aggregate.getResult(this.copyOf(entry))
    this.table.context.settle()
    return result
  }

  add(value: IN): void {
    const entry = this.table.current(this.selection)
    if (entry !== undefined) {
      // Saved before the function may change the accumulator in place.
      this.table.change(entry)
      const accumulator = this.aggregate.add(value, this.accumulatorOf(entry))
      this.store(entry, accumulator)
    } else {
      const accumulator = this.aggregate.add(value, this.aggregate.createAccumulator())
      this.store(this.table.currentToWrite(this.selection), accumulator)
    }
    this.table.context.settle()
  }

  clear(): void {
    this.table.removeCurrent(this.selection)
  }

  private store(entry: KeyedEntry, accumulator: ACC): void {
    if (this.table.expectedType !== 0) checkType(this.table, accumulator)
    const held = entry.value
    if (this.table.context.store !== undefined || isKeptDecoded(this.serializer.id, accumulator)) {
      const form = this.form.of(accumulator)
      this.table.set(entry, form, this.form.bytes)
    } else if (held instanceof LiveAccumulator) {
      held.object = accumulator
      this.table.set(entry, held, ACCUMULATOR_BYTES)
    } else this.table.set(entry, new LiveAccumulator(accumulator), ACCUMULATOR_BYTES)
  }

  private accumulatorOf(entry: KeyedEntry): ACC {
    if (entry.value instanceof LiveAccumulator) return entry.value.object as ACC
    return fromEntryValue(this.serializer, entry.value)
  }

  private copyOf(entry: KeyedEntry): ACC {
    return fromEntryValue(this.serializer, entry.value)
  }
}
