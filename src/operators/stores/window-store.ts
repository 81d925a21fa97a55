import type { PlainKey } from '../../core/formats/plain-key.ts'
import { MAX_TIMESTAMP } from '../../core/time.ts'
import type { ValueStateDescriptor } from '../../state/port/descriptors.ts'
import type { ValueState } from '../../state/port/handles.ts'
import type { OutputTag } from '../port/output-tag.ts'
import type {
  Collector,
  KeyedFunctionContext,
  KeyedProcessContext,
  KeyedProcessFunction,
  OnTimerContext,
  TimeDomain,
} from '../process/function.ts'
import type { ProcessWindowFunction, WindowContext } from '../windows/function.ts'
import type { WindowResult } from './window-result.ts'

/** The window function that emits each result and sends it to the stores of its windows, too. */
export class StoredResults<K, R> implements ProcessWindowFunction<K, R, R> {
  private readonly stores: OutputTag<WindowResult<unknown, unknown>>

  /** `stores`: the side output that stores read. */
  constructor(stores: OutputTag<WindowResult<unknown, unknown>>) {
    this.stores = stores
  }

  process(key: K, context: WindowContext, elements: readonly R[], out: Collector<R>): void {
    const { start, end } = context.window
    for (const result of elements) {
      out.collect(result)
      context.output(this.stores, { key, start, end, result })
    }
  }
}

/** How a store keeps results. */
export interface WindowStoreTerms<R> {
  readonly descriptor: ValueStateDescriptor<R>
  /** The time of the windows, which is that of the retention. */
  readonly timeDomain: TimeDomain
  /** Milliseconds from the end of a window until its result goes. */
  readonly retainMs: number
}

/**
 * The results of windows, by key and start of the window. A result is gone when its retention is over. When event time
 * ends with the input, what is there stays: nothing would be left to read.
 */
export class WindowStore<K, R>
  implements KeyedProcessFunction<PlainKey, WindowResult<K, R>, never>
{
  private readonly terms: WindowStoreTerms<R>
  private result!: ValueState<R>

  constructor(terms: WindowStoreTerms<R>) {
    this.terms = terms
  }

  open(context: KeyedFunctionContext): void {
    this.result = context.getState(this.terms.descriptor)
  }

  processElement(
    { end, result }: WindowResult<K, R>,
    { timerService }: KeyedProcessContext<PlainKey>,
  ): void {
    const { timeDomain, retainMs } = this.terms
    // A window ends before its `end`, and the retention with the same millisecond.
    const goesAt = Math.min(end - 1 + retainMs, MAX_TIMESTAMP)
    if (timeDomain === 'processing-time') {
      this.result.update(result)
      timerService.registerProcessingTimeTimer(goesAt)
      return
    }
    const { currentWatermark } = timerService
    const isAtEnd = currentWatermark === MAX_TIMESTAMP
    // A late record may fire a window whose retention is over.
    if (goesAt <= currentWatermark && !isAtEnd) return
    this.result.update(result)
    if (!isAtEnd) timerService.registerEventTimeTimer(goesAt)
  }

  onTimer(_timestamp: number, { timeDomain, timerService }: OnTimerContext<PlainKey>): void {
    if (timeDomain === 'event-time' && timerService.currentWatermark === MAX_TIMESTAMP) return
    this.result.clear()
  }
}
