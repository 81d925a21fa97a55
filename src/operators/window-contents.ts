import type { Serializer } from '../core/serializer.ts'
import { type AggregateFunction, listState, valueState } from '../state/descriptors.ts'
import type { ListState, ValueState } from '../state/handles.ts'
import type { KeyedStateBackend } from '../state/keyed-state-backend.ts'

/** What a window holds, in the current key and namespace of the keyed state. */
export interface WindowContents<IN> {
  open(keyedState: KeyedStateBackend): void
  /** Adds a record; true when the window was empty before. */
  add(value: IN): boolean
  /** The records, or the one result of folding them; undefined when the window is empty. */
  read(): readonly unknown[] | undefined
  /** Moves the contents of the namespaces `from` into `into`, which may hold some already. */
  merge(into: Uint8Array, from: readonly Uint8Array[]): void
  clear(): void
}

/** Folds records as they come: a reduction has no empty accumulator, an aggregation has one. */
export interface Fold<IN, ACC> {
  add(value: IN, accumulator: ACC | undefined): ACC
  merge(a: ACC, b: ACC): ACC
  result(accumulator: ACC): unknown
}

/** The fold of `reduce(...)`. */
export function reduceFold<T>(reduce: (a: T, b: T) => T): Fold<T, T> {
  return {
    add: (value, sum) => (sum === undefined ? value : reduce(sum, value)),
    merge: reduce,
    result: (sum) => sum,
  }
}

/** The fold of `aggregate(...)`. */
export function aggregateFold<IN, ACC, OUT>(
  aggregate: AggregateFunction<IN, ACC, OUT>,
): Fold<IN, ACC> {
  return {
    add: (value, sum) => aggregate.add(value, sum ?? aggregate.createAccumulator()),
    merge: (a, b) => aggregate.merge(a, b),
    result: (sum) => aggregate.getResult(sum),
  }
}

/** Keeps one accumulator per window. */
export class FoldedContents<IN, ACC> implements WindowContents<IN> {
  private readonly fold: Fold<IN, ACC>
  private readonly serializer: Serializer<ACC>
  private keyedState!: KeyedStateBackend
  private state!: ValueState<ACC>

  constructor(fold: Fold<IN, ACC>, serializer: Serializer<ACC>) {
    this.fold = fold
    this.serializer = serializer
  }

  open(keyedState: KeyedStateBackend): void {
    this.keyedState = keyedState
    this.state = keyedState.value(
      valueState<ACC>('window-contents', { serializer: this.serializer }),
    )
  }

  add(value: IN): boolean {
    const before = this.state.value()
    this.state.update(this.fold.add(value, before))
    return before === undefined
  }

  read(): readonly unknown[] | undefined {
    const accumulator = this.state.value()
    return accumulator === undefined ? undefined : [this.fold.result(accumulator)]
  }

  merge(into: Uint8Array, from: readonly Uint8Array[]): void {
    this.keyedState.setCurrentNamespace(into)
    let sum = this.state.value()
    for (const namespace of from) {
      this.keyedState.setCurrentNamespace(namespace)
      const part = this.state.value()
      if (part === undefined) continue
      sum = sum === undefined ? part : this.fold.merge(sum, part)
      this.state.clear()
    }
    this.keyedState.setCurrentNamespace(into)
    if (sum !== undefined) this.state.update(sum)
  }

  clear(): void {
    this.state.clear()
  }
}

/** Keeps every record of a window, in the order in which they came. */
export class ListedContents<IN> implements WindowContents<IN> {
  private readonly serializer: Serializer<IN>
  private keyedState!: KeyedStateBackend
  private list!: ListState<IN>
  private filled!: ValueState<number>

  constructor(serializer: Serializer<IN>) {
    this.serializer = serializer
  }

  open(keyedState: KeyedStateBackend): void {
    this.keyedState = keyedState
    this.list = keyedState.list(listState<IN>('window-contents', { serializer: this.serializer }))
    this.filled = keyedState.value(valueState<number>('window-filled'))
  }

  add(value: IN): boolean {
    const first = this.filled.value() === undefined
    if (first) this.filled.update(1)
    this.list.add(value)
    return first
  }

  read(): readonly unknown[] | undefined {
    return this.filled.value() === undefined ? undefined : this.list.get()
  }

  merge(into: Uint8Array, from: readonly Uint8Array[]): void {
    const moved: IN[] = []
    for (const namespace of from) {
      this.keyedState.setCurrentNamespace(namespace)
      for (const value of this.list.get()) moved.push(value)
      this.clear()
    }
    this.keyedState.setCurrentNamespace(into)
    if (moved.length === 0) return
    this.filled.update(1)
    this.list.addAll(moved)
  }

  clear(): void {
    this.list.clear()
    this.filled.clear()
  }
}
