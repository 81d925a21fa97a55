import { int53Serializer } from '../../core/serializer.ts'
import { listState, type ValueStateDescriptor } from '../../state/port/descriptors.ts'
import type { ListState, ValueState } from '../../state/port/handles.ts'
import type { RowChange } from '../joins/table-join.ts'
import type { OutputTag } from '../port/output-tag.ts'
import { refusePromise } from '../port/refuse-promise.ts'
import type {
  Collector,
  KeyedFunctionContext,
  KeyedProcessContext,
  KeyedProcessFunction,
} from '../process/function.ts'
import type { FunctionInitializationContext } from '../process/function-life.ts'
import { type LeftRow, NO_SUBSCRIPTION, type SubscriptionChange } from './foreign-key.ts'

/** The subscription of a left row. */
export interface Subscription<FK> {
  readonly subscription: number
  /** Null where the row has none. */
  readonly foreignKey: FK | null
}

/** What a `SubscriptionsFunction` needs. */
export interface Subscribing<K, A, FK> {
  readonly foreignKeyOf: (value: A, key: K) => FK | null | undefined
  /** Whether two foreign keys are the same one. */
  readonly isSame: (a: FK, b: FK) => boolean
  readonly current: ValueStateDescriptor<Subscription<FK>>
  readonly changes: OutputTag<SubscriptionChange<K, FK>>
}

/** Largest number that a subtask has given; each subtask goes on from the largest one of all. */
const LAST = listState('last-subscription', { serializer: int53Serializer })

/** Subscribes each left row to the right row of its foreign key; the side output has the changes of subscriptions. */
export class SubscriptionsFunction<K, A, FK>
  implements KeyedProcessFunction<K, RowChange<K, A>, LeftRow<K, A>>
{
  readonly sideOutputs: readonly OutputTag<unknown>[]
  private readonly how: Subscribing<K, A, FK>
  private current!: ValueState<Subscription<FK>>
  private stored!: ListState<number>
  private last = NO_SUBSCRIPTION

  constructor(how: Subscribing<K, A, FK>) {
    this.how = how
    this.sideOutputs = [how.changes as OutputTag<unknown>]
  }

  initializeState(context: FunctionInitializationContext): void {
    this.stored = context.getUnionListState(LAST)
    this.last = this.stored.get().reduce((a, b) => Math.max(a, b), NO_SUBSCRIPTION)
  }

  open(context: KeyedFunctionContext): void {
    this.current = context.getState(this.how.current)
  }

  snapshotState(): void {
    this.stored.update([this.last])
  }

  processElement(
    { key, value }: RowChange<K, A>,
    context: KeyedProcessContext<K>,
    out: Collector<LeftRow<K, A>>,
  ): void {
    const old = this.current.value()
    if (value === null) {
      if (old === undefined) return
      this.current.clear()
      this.endOf(key, old, context)
      out.collect({ key, value, subscription: old.subscription })
      return
    }
    const foreignKey = this.how.foreignKeyOf(value, key) ?? null
    refusePromise(foreignKey, 'the foreign key of a join of tables')
    const subscription =
      old !== undefined && this.isSame(old.foreignKey, foreignKey)
        ? old.subscription
        : this.move(key, foreignKey, { old, context })
    out.collect({ key, value, subscription })
  }

  private isSame(a: FK | null, b: FK | null): boolean {
    if (a === null || b === null) return a === b
    return this.how.isSame(a, b)
  }

  private move(
    key: K,
    foreignKey: FK | null,
    {
      old,
      context,
    }: {
      readonly old: Subscription<FK> | undefined
      readonly context: KeyedProcessContext<K>
    },
  ): number {
    if (old !== undefined) this.endOf(key, old, context)
    if (foreignKey !== null) this.last += 1
    const subscription = foreignKey === null ? NO_SUBSCRIPTION : this.last
    this.current.update({ subscription, foreignKey })
    if (foreignKey !== null) {
      context.output(this.how.changes, { foreignKey, key, subscription, kind: 'open' })
    }
    return subscription
  }

  private endOf(
    key: K,
    { foreignKey, subscription }: Subscription<FK>,
    context: KeyedProcessContext<K>,
  ): void {
    if (foreignKey === null) return
    context.output(this.how.changes, { foreignKey, key, subscription, kind: 'close' })
  }
}
