import type { Serializer } from '../../core/serializer.ts'
import { listState, valueState } from '../../state/port/descriptors.ts'
import type { ListState, ValueState } from '../../state/port/handles.ts'
import { ALL_TIME, type CountWindows, type WindowAssigner } from './assigner.ts'
import { NO_NAMESPACE } from './namespace.ts'
import { WindowOperator, type WindowOptions } from './operator.ts'

/**
 * The operator of count windows. A window fires after each `slide` records of a key, with the last `size` of
 * them. A result has the timestamp of the record that made the window fire.
 */
export class CountWindowOperator<K, IN> extends WindowOperator<K, IN> {
  private readonly windows: CountWindows
  /** Records since the window fired last. */
  private count!: ValueState<number>
  /** The last `size` records and up to `slide` before them; only where windows overlap or have gaps. */
  private records!: ListState<IN>

  private readonly serializer: Serializer<IN>

  /** `serializer` encodes the records in state. */
  constructor(
    windows: CountWindows,
    options: Omit<WindowOptions<K, IN>, 'timeDomain'>,
    serializer: Serializer<IN>,
  ) {
    super({ ...options, timeDomain: windows.timeDomain })
    this.windows = windows
    this.serializer = serializer
  }

  processElement(_input: number, value: unknown, timestamp: number): void {
    const { size, slide } = this.windows
    this.selectContents()
    const count = (this.count.value() ?? 0) + 1
    if (size === slide) this.contents.add(value as IN)
    else this.records.add(value as IN)
    if (count < slide) {
      this.count.update(count)
      return
    }
    this.count.clear()
    if (size !== slide) this.fill(size)
    this.fire(ALL_TIME, timestamp)
    this.contents.clear()
  }

  protected windowKind(): WindowAssigner['kind'] {
    return 'count'
  }

  protected override openState(): void {
    this.count = this.keyedState.value(valueState<number>('window-count'))
    this.records = this.keyedState.list(
      listState<IN>('window-records', { serializer: this.serializer }),
    )
  }

  protected override selectContents(): void {
    this.keyedState.setCurrentNamespace(NO_NAMESPACE)
  }

  /** Puts the last `size` records into the contents, and forgets those before them. */
  private fill(size: number): void {
    const last = this.records.get().slice(-size)
    this.records.update(last)
    for (const record of last) this.contents.add(record)
  }
}
