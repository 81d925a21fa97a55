import type { Counter } from '../../core/metrics.ts'
import type { MapStateDescriptor, ValueStateDescriptor } from '../../state/port/descriptors.ts'
import type { ValueState } from '../../state/port/handles.ts'
import { refusePromise } from '../port/refuse-promise.ts'
import type {
  BroadcastContext,
  BroadcastProcessFunction,
  BroadcastReadAccess,
  Collector,
  FunctionContext,
  KeyedCoProcessFunction,
  KeyedFunctionContext,
  KeyedProcessContext,
  ProcessContext,
} from '../process/function.ts'

/** A change of a row: its new value, or null when it is gone. */
export interface RowChange<K, V> {
  readonly key: K
  readonly value: V | null
}

/** How records meet rows. */
export interface TableJoin<T, K, V, OUT> {
  readonly keyOf: (value: T) => K
  readonly join: (value: T, row: V) => OUT
  /** Whether a record without a row has a result. */
  readonly isLeft: boolean
}

/** Makes the results of records and counts those without a row. */
export class Joining<T, K, V, OUT> {
  private readonly how: TableJoin<T, K, V, OUT>
  private readonly unmatched: Counter

  constructor(how: TableJoin<T, K, V, OUT>, { metrics }: FunctionContext) {
    this.how = how
    this.unmatched = metrics.counter('numRecordsWithoutRow')
  }

  /** `timestamp`: that of the result, which is that of the call without it. */
  emit(value: T, row: V | undefined, out: Collector<OUT>, timestamp?: number): void {
    if (row === undefined) {
      this.unmatched.increment()
      if (!this.how.isLeft) return
    }
    const result = this.how.join(value, row as V)
    if (result instanceof Promise) refusePromise(result, 'the function of joinTable')
    out.collect(result, timestamp)
  }
}

/** A join of a stream with a table by their common key; the rows are keyed state. */
export class KeyedTableJoin<T, K, V, OUT>
  implements KeyedCoProcessFunction<K, T, RowChange<K, V>, OUT>
{
  private readonly how: TableJoin<T, K, V, OUT>
  private readonly descriptor: ValueStateDescriptor<V>
  private row!: ValueState<V>
  private joining!: Joining<T, K, V, OUT>

  constructor(how: TableJoin<T, K, V, OUT>, descriptor: ValueStateDescriptor<V>) {
    this.how = how
    this.descriptor = descriptor
  }

  open(context: KeyedFunctionContext): void {
    this.row = context.getState(this.descriptor)
    this.joining = new Joining(this.how, context)
  }

  processElement1(value: T, _context: KeyedProcessContext<K>, out: Collector<OUT>): void {
    this.joining.emit(value, this.row.value(), out)
  }

  processElement2({ value }: RowChange<K, V>): void {
    if (value === null) this.row.clear()
    else this.row.update(value)
  }
}

/** A join of a stream with a table that each subtask has whole; the rows are broadcast state. */
export class GlobalTableJoin<T, K, V, OUT>
  implements BroadcastProcessFunction<T, RowChange<K, V>, OUT>
{
  private readonly how: TableJoin<T, K, V, OUT>
  private readonly descriptor: MapStateDescriptor<K, V>
  private joining!: Joining<T, K, V, OUT>

  constructor(how: TableJoin<T, K, V, OUT>, descriptor: MapStateDescriptor<K, V>) {
    this.how = how
    this.descriptor = descriptor
  }

  open(context: FunctionContext): void {
    this.joining = new Joining(this.how, context)
  }

  processElement(
    value: T,
    context: ProcessContext & BroadcastReadAccess,
    out: Collector<OUT>,
  ): void {
    const rows = context.getBroadcastState(this.descriptor)
    this.joining.emit(value, rows.get(this.how.keyOf(value)), out)
  }

  processBroadcastElement({ key, value }: RowChange<K, V>, context: BroadcastContext): void {
    const rows = context.getBroadcastState(this.descriptor)
    if (value === null) rows.remove(key)
    else rows.put(key, value)
  }
}
