import type { ValueStateDescriptor } from '../../state/port/descriptors.ts'
import type { ValueState } from '../../state/port/handles.ts'
import type { RowChange } from '../joins/table-join.ts'
import type { KeyedFunctionContext, KeyedProcessFunction } from '../process/function.ts'

/** The rows of a table, for clients. It emits nothing. */
export class TableStore<K, V> implements KeyedProcessFunction<K, RowChange<K, V>, never> {
  private readonly descriptor: ValueStateDescriptor<V>
  private row!: ValueState<V>

  constructor(descriptor: ValueStateDescriptor<V>) {
    this.descriptor = descriptor
  }

  open(context: KeyedFunctionContext): void {
    this.row = context.getState(this.descriptor)
  }

  processElement({ value }: RowChange<K, V>): void {
    if (value === null) this.row.clear()
    else this.row.update(value)
  }
}
