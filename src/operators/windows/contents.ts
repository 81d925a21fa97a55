import type { Serializer } from '../../core/serializer.ts'
import {
  type ListStateDescriptor,
  listState,
  type TypedStateDescriptor,
  type ValueStateDescriptor,
  valueState,
} from '../../state/port/descriptors.ts'
import type { LiveListState, LiveValueState, ValueState } from '../../state/port/handles.ts'
import type { KeyedState } from '../../state/port/keyed-state.ts'
import { addTo, type Fold } from '../folds/fold.ts'
import type { FoldedPart } from '../port/folded-part.ts'
import type { SlicedWindows, TimeWindow } from './assigner.ts'

/** The contents of a selected window of the current key, as far as every window operator needs them. */
export interface FiringContents {
  /** The lists of single windows; undefined where windows keep no records. */
  readonly ofWindows?: ListedContents<unknown>
  /** The windows whose records are in slices; undefined where none are. */
  readonly sliced?: SlicedWindows
  open(keyedState: KeyedState): void
  /** The records, or their one folded result; undefined when the window is empty. */
  read(): readonly unknown[] | undefined
  /** As `read`, and clears them: nothing needs a copy. */
  take(): readonly unknown[] | undefined
  clear(): void
}

/** The contents of a window, under the current key and namespace of keyed state. */
export interface WindowContents<IN> extends FiringContents {
  /** The state that has an entry for each window with records. */
  readonly descriptor: TypedStateDescriptor
  /** Adds a record, or a part of records. Returns true when the window was empty before. */
  add(value: IN | FoldedPart): boolean
  /** Moves the contents of the namespaces `from` to those of `into`, which may have contents already. */
  merge(into: Uint8Array, from: readonly Uint8Array[]): void
}

/** What a record did to the slices of its key. */
export type Slicing = 'first-slice' | 'later-slice' | 'known-slice'

/** The contents of sliding windows that have them in slices as long as the slide, which overlapping windows share. */
export interface SliceContents<IN> extends FiringContents {
  /** The state, with one entry for all slices of a key. */
  readonly descriptor: TypedStateDescriptor
  /**
   * Selects the window of `read`, `clear` and `nextSlice`, between which nothing else may use the state, and after which the
   * namespace of the slices is selected.
   */
  select(window: TimeWindow, namespace: Uint8Array): void
  /** Adds a record, or a part of records, to the slice that starts there; a window has `sizeMs`. */
  add(start: number, value: IN | FoldedPart, sizeMs: number): Slicing
  /** Start of the first slice after the first one of the window. */
  nextSlice(): number | undefined
}

/** Window contents that are one accumulator per window. */
export class FoldedContents<IN, ACC> implements WindowContents<IN> {
  private readonly fold: Fold<IN, ACC>
  readonly descriptor: ValueStateDescriptor<ACC>
  private keyedState!: KeyedState
  private state!: LiveValueState<ACC>

  constructor(fold: Fold<IN, ACC>, serializer: Serializer<ACC>) {
    this.fold = fold
    this.descriptor = valueState<ACC>('window-contents', { serializer })
  }

  open(keyedState: KeyedState): void {
    this.keyedState = keyedState
    this.state = keyedState.liveValue(this.descriptor)
  }

  add(value: IN | FoldedPart): boolean {
    const before = this.state.valueToChange()
    this.state.update(addTo(this.fold, value, before))
    return before === undefined
  }

  read(): readonly unknown[] | undefined {
    const accumulator = this.state.value()
    return accumulator === undefined ? undefined : [this.fold.result(accumulator)]
  }

  take(): readonly unknown[] | undefined {
    const accumulator = this.state.valueToChange()
    if (accumulator === undefined) return undefined
    this.state.clear()
    return [this.fold.result(accumulator)]
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
  readonly descriptor: ListStateDescriptor<IN>
  readonly ofWindows = this as ListedContents<unknown>
  private keyedState!: KeyedState
  private list!: LiveListState<IN>
  /** Older savepoints have an entry here for each window with records. */
  private filled!: ValueState<number>

  constructor(serializer: Serializer<IN>) {
    this.descriptor = listState<IN>('window-contents', { serializer })
  }

  open(keyedState: KeyedState): void {
    this.keyedState = keyedState
    this.list = keyedState.liveList(this.descriptor)
    this.filled = keyedState.value(valueState<number>('window-filled'))
  }

  /** Whether some window may have records. */
  get hasEntries(): boolean {
    return this.list.hasEntries()
  }

  add(value: IN): boolean {
    return this.list.append(value)
  }

  /** Adds records in their order. */
  addAll(values: readonly IN[]): void {
    this.list.addAll(values)
  }

  read(): readonly unknown[] | undefined {
    const values = this.list.get()
    return values.length === 0 ? undefined : values
  }

  take(): readonly unknown[] | undefined {
    const values = this.list.take()
    this.filled.clear()
    return values.length === 0 ? undefined : values
  }

  merge(into: Uint8Array, from: readonly Uint8Array[]): void {
    const moved: IN[] = []
    for (const namespace of from) {
      this.keyedState.setCurrentNamespace(namespace)
      for (const value of this.list.get()) moved.push(value)
      this.clear()
    }
    this.keyedState.setCurrentNamespace(into)
    this.list.addAll(moved)
  }

  clear(): void {
    this.list.clear()
    this.filled.clear()
  }
}
