import type {
  Collector,
  KeyedFunctionContext,
  KeyedProcessContext,
  KeyedProcessFunction,
  ValueState,
} from '@weirjs/weir'
import { valueState } from '@weirjs/weir'

/** Counts the visits of a page in keyed state, which clients query as VISITS. */
export class CountVisits implements KeyedProcessFunction<string, string, number> {
  private count!: ValueState<number>

  open(context: KeyedFunctionContext): void {
    this.count = context.getState(valueState<number>('count', { queryableName: 'VISITS' }))
  }

  processElement(_: string, _context: KeyedProcessContext<string>, out: Collector<number>): void {
    const count = (this.count.value() ?? 0) + 1
    this.count.update(count)
    out.collect(count)
  }
}
