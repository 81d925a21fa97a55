import type { Serializer } from '../../core/serializer.ts'
import { type ValueStateDescriptor, valueState } from '../../state/port/descriptors.ts'
import type { LiveValueState } from '../../state/port/handles.ts'
import type { KeyedState } from '../../state/port/keyed-state.ts'
import { FoldCheck } from '../folds/check.ts'
import { copyInMemory, copyValue } from '../folds/copy-value.ts'
import { addTo, type Fold } from '../folds/fold.ts'
import { FoldedPart } from '../port/folded-part.ts'
import type { TimeWindow } from './assigner.ts'
import type { SliceContents, Slicing } from './contents.ts'
import { NO_NAMESPACE } from './namespace.ts'
import { positionOf, type Slices, slicesSerializer } from './slices.ts'

/**
 * Contents of sliding windows in slices (Carbone et al., "Cutty", CIKM 2016): a record is folded into the one
 * slice of its time, and a window that fires merges its slices. All slices of a key are one entry of state.
 *
 * Savepoints from before there were slices hold an accumulator for each window. It is merged into its window.
 */
export class SlicedContents<IN, ACC> implements SliceContents<IN> {
  private readonly fold: Fold<IN, ACC>
  private readonly serializer: Serializer<ACC>
  /** The state of all slices of a key. */
  readonly descriptor: ValueStateDescriptor<Slices>
  private keyedState!: KeyedState
  private slices!: LiveValueState<Slices>
  private wholeWindow!: LiveValueState<ACC>
  private window: TimeWindow = { start: 0, end: 0 }
  private namespace: Uint8Array = NO_NAMESPACE
  /** The slices of the selected window's key, where `read` or `clear` looked them up. */
  private loaded: Slices | undefined
  /** Whether `read` found that the window has no accumulator of its own. */
  private hasNoWhole = false
  /** The check of what a user declared; undefined for a fold of Weir's own. */
  private readonly check: FoldCheck<IN, ACC> | undefined

  /** `serializer` encodes the accumulators, `records` the records. */
  constructor(fold: Fold<IN, ACC>, serializer: Serializer<ACC>, records: Serializer<IN>) {
    this.fold = fold
    this.check = fold.declared === undefined ? undefined : new FoldCheck(fold, records, true)
    this.serializer = serializer
    this.descriptor = valueState<Slices>('window-slices', {
      serializer: slicesSerializer(serializer as Serializer<unknown>),
    })
  }

  open(keyedState: KeyedState): void {
    this.keyedState = keyedState
    this.slices = keyedState.liveValue(this.descriptor)
    this.wholeWindow = keyedState.liveValue(
      valueState<ACC>('window-contents', { serializer: this.serializer }),
    )
  }

  select(window: TimeWindow, namespace: Uint8Array): void {
    this.window = window
    this.namespace = namespace
    this.hasNoWhole = false
    this.loaded = undefined
  }

  /**
   * Folds a record, or a part of records, into the slice that starts there; a window has `sizeMs`. Throws NOT_ASSOCIATIVE
   * when what a user declared is not so.
   */
  add(start: number, value: IN | FoldedPart, sizeMs: number): Slicing {
    if (!(value instanceof FoldedPart)) {
      this.check?.see(this.keyedState.currentKey(), value, start, sizeMs)
    }
    const slices = this.load() ?? []
    const at = positionOf(slices, start)
    const known = slices[at] === start
    const before = known ? (slices[at + 1] as ACC) : undefined
    const after = addTo(this.fold, value, before)
    if (known && after === before) this.slices.update(slices)
    else this.put(slices, at, start, known, after)
    if (known) return 'known-slice'
    return at === 0 ? 'first-slice' : 'later-slice'
  }

  read(): readonly unknown[] | undefined {
    const { start, end } = this.window
    this.check?.close(end)
    let sum = this.readWhole()
    const slices = this.loadOnce()
    for (let at = positionOf(slices, start); at < slices.length; at += 2) {
      if ((slices[at] as number) >= end) break
      const part = copyValue(this.serializer, slices[at + 1] as ACC)
      sum = sum === undefined ? part : this.fold.merge(sum, part)
    }
    return sum === undefined ? undefined : [this.fold.result(sum)]
  }

  take(): readonly unknown[] | undefined {
    const elements = this.read()
    this.clear()
    return elements
  }

  nextSlice(): number | undefined {
    const slices = this.loadOnce()
    return slices[positionOf(slices, this.window.start + 1)] as number | undefined
  }

  /** Drops what no later window needs. */
  clear(): void {
    if (!this.hasNoWhole) this.clearWhole()
    const slices = this.loadOnce()
    const past = positionOf(slices, this.window.start + 1)
    if (past === 0) return
    slices.splice(0, past)
    if (slices.length === 0) this.slices.clear()
    else this.slices.update(slices)
  }

  private loadOnce(): Slices {
    this.loaded ??= this.load() ?? []
    return this.loaded
  }

  private load(): Slices | undefined {
    this.keyedState.setCurrentNamespace(NO_NAMESPACE)
    return this.slices.valueToChange()
  }

  private readWhole(): ACC | undefined {
    this.hasNoWhole = !this.wholeWindow.hasEntries()
    if (this.hasNoWhole) return undefined
    this.keyedState.setCurrentNamespace(this.namespace)
    const sum = this.wholeWindow.value()
    this.hasNoWhole = sum === undefined
    return sum
  }

  private clearWhole(): void {
    this.loaded = undefined
    this.keyedState.setCurrentNamespace(this.namespace)
    this.wholeWindow.clear()
  }

  /** Stores a new accumulator, or a copy of it: the caller may hold a part of it. */
  private put(slices: Slices, at: number, start: number, known: boolean, sum: ACC): void {
    const copy = copyInMemory(this.serializer, sum)
    if (known) slices[at + 1] = copy ?? sum
    else slices.splice(at, 0, start, copy ?? sum)
    // Another array is encoded: it has an accumulator of which only the serializer knows what it reads back.
    this.slices.update(copy === undefined ? [...slices] : slices)
  }
}
