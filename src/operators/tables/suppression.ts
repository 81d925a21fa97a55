import { int53Serializer } from '../../core/serializer.ts'
import { MAX_TIMESTAMP } from '../../core/time.ts'
import { type ValueStateDescriptor, valueState } from '../../state/port/descriptors.ts'
import type { ValueState } from '../../state/port/handles.ts'
import type { RowChange } from '../joins/table-join.ts'
import type {
  Collector,
  KeyedFunctionContext,
  KeyedProcessContext,
  KeyedProcessFunction,
  OnTimerContext,
} from '../process/function.ts'

/** Which changes of a table are held back; `untilTime` makes it. */
export interface Suppression {
  /** From the first change of a row that is held to the one that is sent, ms of the wall clock. */
  readonly ms: number
  /** Most rows that a subtask holds. */
  readonly maxRows: number
}

/** When the held change of a row is sent, ms of the wall clock. */
const DUE = valueState('due', { serializer: int53Serializer })

/**
 * Holds the changes of each row for a time, and then sends the last one (Kafka Streams' `suppress` with `untilTimeLimit`).
 * The end of input sends all. A subtask that holds its most rows sends changes of further rows at once. Rows that a restore brought back are beyond
 * that number: their time is over first.
 */
export class SuppressionFunction<K, V>
  implements KeyedProcessFunction<K, RowChange<K, V>, RowChange<K, V>>
{
  readonly sideOutputs = []
  private readonly suppression: Suppression
  private readonly descriptor: ValueStateDescriptor<V>
  private held!: ValueState<V>
  private due!: ValueState<number>
  /** Rows of this attempt that are held. */
  private rows = 0
  /** Rows that are due before it came from a restore. */
  private firstDue: number | undefined

  constructor(suppression: Suppression, descriptor: ValueStateDescriptor<V>) {
    this.suppression = suppression
    this.descriptor = descriptor
  }

  open(context: KeyedFunctionContext): void {
    this.held = context.getState(this.descriptor)
    this.due = context.getState(DUE)
  }

  processElement(
    change: RowChange<K, V>,
    { timerService }: KeyedProcessContext<K>,
    out: Collector<RowChange<K, V>>,
  ): void {
    const { ms, maxRows } = this.suppression
    const due = timerService.currentProcessingTime + ms
    this.firstDue ??= due
    if (this.due.value() === undefined) {
      if (this.rows >= maxRows) {
        out.collect(change)
        return
      }
      this.rows += 1
      this.due.update(due)
      timerService.registerProcessingTimeTimer(due)
      // The wall clock stops at the end of input.
      timerService.registerEventTimeTimer(MAX_TIMESTAMP)
    }
    if (change.value === null) this.held.clear()
    else this.held.update(change.value)
  }

  onTimer(_time: number, context: OnTimerContext<K>, out: Collector<RowChange<K, V>>): void {
    const due = this.due.value()
    if (due === undefined) return
    context.timerService.deleteProcessingTimeTimer(due)
    context.timerService.deleteEventTimeTimer(MAX_TIMESTAMP)
    const value = this.held.value() ?? null
    this.held.clear()
    this.due.clear()
    if (this.firstDue !== undefined && due >= this.firstDue) {
      this.rows = Math.max(0, this.rows - 1)
    }
    out.collect({ key: context.currentKey, value })
  }
}
