import type { MapStateDescriptor, ValueStateDescriptor } from '../../state/port/descriptors.ts'
import type { MapState, ValueState } from '../../state/port/handles.ts'
import type { RowChange } from '../joins/table-join.ts'
import type {
  Collector,
  KeyedCoProcessFunction,
  KeyedFunctionContext,
  KeyedProcessContext,
} from '../process/function.ts'
import type { SubscriptionAnswer, SubscriptionChange } from './foreign-key.ts'

/** What an `AnswersFunction` needs. */
export interface Answering<K, B> {
  readonly row: ValueStateDescriptor<B>
  /** By left key: the number of its subscription. */
  readonly subscribers: MapStateDescriptor<K, number>
}

/** Answers each subscription with the right row, once at its begin, at each change of the row, and once at its end. */
export class AnswersFunction<K, FK, B>
  implements
    KeyedCoProcessFunction<
      FK,
      SubscriptionChange<K, FK>,
      RowChange<FK, B>,
      SubscriptionAnswer<K, B>
    >
{
  readonly sideOutputs = []
  private readonly how: Answering<K, B>
  private row!: ValueState<B>
  private subscribers!: MapState<K, number>

  constructor(how: Answering<K, B>) {
    this.how = how
  }

  open(context: KeyedFunctionContext): void {
    this.row = context.getState(this.how.row)
    this.subscribers = context.getMapState(this.how.subscribers)
  }

  processElement1(
    { key, subscription, kind }: SubscriptionChange<K, FK>,
    _context: KeyedProcessContext<FK>,
    out: Collector<SubscriptionAnswer<K, B>>,
  ): void {
    const isLast = kind === 'close'
    if (!isLast) this.subscribers.put(key, subscription)
    else if (this.subscribers.get(key) === subscription) this.subscribers.remove(key)
    out.collect({ key, subscription, row: isLast ? null : (this.row.value() ?? null), isLast })
  }

  processElement2(
    { value: row }: RowChange<FK, B>,
    _context: KeyedProcessContext<FK>,
    out: Collector<SubscriptionAnswer<K, B>>,
  ): void {
    if (row !== null) this.row.update(row)
    else if (this.row.value() === undefined) return
    else this.row.clear()
    for (const [key, subscription] of this.subscribers.entries()) {
      out.collect({ key, subscription, row, isLast: false })
    }
  }
}
