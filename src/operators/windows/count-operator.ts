import type { Serializer } from '../../core/serializer.ts'
import { listState, valueState } from '../../state/port/descriptors.ts'
import type { LiveListState, LiveValueState } from '../../state/port/handles.ts'
import type { Fold } from '../folds/fold.ts'
import { ALL_TIME, type CountWindows, type WindowAssigner } from './assigner.ts'
import { NO_NAMESPACE } from './namespace.ts'
import { WindowOperator, type WindowOptions } from './operator.ts'

/** The records of windows that overlap or have gaps. */
interface KeptRecords<IN> {
  /** Encodes the records in state. */
  readonly serializer: Serializer<IN>
  /** What a window makes of its records; undefined where it has them all. */
  readonly fold: Fold<IN, unknown> | undefined
}

/**
 * The operator of count windows. A window fires after each `slide` records of a key, with the last `size` of
 * them. A result has the timestamp of the record that made the window fire.
 */
export class CountWindowOperator<K, IN> extends WindowOperator<K, IN> {
  private readonly windows: CountWindows
  /** Records since the window fired last. */
  private count!: LiveValueState<number>
  /** The last `size` records and some before them; only where windows overlap or have gaps. */
  private records!: LiveListState<IN>
  private readonly kept: KeptRecords<IN>

  constructor(
    windows: CountWindows,
    options: Omit<WindowOptions<K, IN>, 'timeDomain'>,
    kept: KeptRecords<IN>,
  ) {
    super({ ...options, timeDomain: windows.timeDomain })
    this.windows = windows
    this.kept = kept
  }

  processElement(_input: number, value: unknown, timestamp: number): void {
    const { size, slide } = this.windows
    this.selectContents()
    if (size === slide) this.contents.add(value as IN)
    else this.records.append(value as IN)
    if (this.waits(slide)) return
    if (size !== slide) {
      this.emit(ALL_TIME, timestamp, this.lastOf(size))
      return
    }
    this.fire(ALL_TIME, timestamp)
    this.contents.clear()
  }

  /** Counts a record; whether the window has more to wait for. */
  private waits(slide: number): boolean {
    // Counts of another slide may be there.
    if (slide === 1 && !this.count.hasEntries()) return false
    const count = (this.count.value() ?? 0) + 1
    if (count < slide) this.count.update(count)
    else this.count.clear()
    return count < slide
  }

  protected windowKind(): WindowAssigner['kind'] {
    return 'count'
  }

  protected override openState(): void {
    this.count = this.keyedState.liveValue(valueState<number>('window-count'))
    this.records = this.keyedState.liveList(
      listState<IN>('window-records', { serializer: this.kept.serializer }),
    )
  }

  protected override selectContents(): void {
    this.keyedState.setCurrentNamespace(NO_NAMESPACE)
  }

  /**
   * The last `size` records, or what they are folded to. Those before them leave state when they are as many: the list is
   * written once for `size` windows.
   */
  private lastOf(size: number): readonly unknown[] {
    const { fold } = this.kept
    if (fold === undefined) return this.records.keepLast(size)
    const sum = this.records.foldLast(size, fold.add)
    return sum === undefined ? [] : [fold.result(sum)]
  }
}
