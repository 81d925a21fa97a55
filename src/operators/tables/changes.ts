import type { ValueStateDescriptor } from '../../state/port/descriptors.ts'
import type { ValueState } from '../../state/port/handles.ts'
import type { RowChange } from '../joins/table-join.ts'
import type {
  Collector,
  KeyedFunctionContext,
  KeyedProcessContext,
  KeyedProcessFunction,
} from '../process/function.ts'

/**
 * A change of a row, with Flink's kinds: `+I` a new row, `-U` the value before an update, `+U` the one after it, `-D` the
 * last value of a row that is gone.
 */
export interface TableChange<K, V> {
  readonly kind: '+I' | '-U' | '+U' | '-D'
  readonly key: K
  readonly value: V
}

/** Makes the changelog of a table from its changes; the rows are keyed state. A tombstone without a row is no change. */
export class ChangelogFunction<K, V>
  implements KeyedProcessFunction<K, RowChange<K, V>, TableChange<K, V>>
{
  readonly sideOutputs = []
  private readonly descriptor: ValueStateDescriptor<V>
  private row!: ValueState<V>

  constructor(descriptor: ValueStateDescriptor<V>) {
    this.descriptor = descriptor
  }

  open(context: KeyedFunctionContext): void {
    this.row = context.getState(this.descriptor)
  }

  processElement(
    { key, value }: RowChange<K, V>,
    _context: KeyedProcessContext<K>,
    out: Collector<TableChange<K, V>>,
  ): void {
    const old = this.row.value()
    if (value === null) {
      if (old === undefined) return
      this.row.clear()
      out.collect({ kind: '-D', key, value: old })
      return
    }
    this.row.update(value)
    if (old === undefined) {
      out.collect({ kind: '+I', key, value })
      return
    }
    out.collect({ kind: '-U', key, value: old })
    out.collect({ kind: '+U', key, value })
  }
}
