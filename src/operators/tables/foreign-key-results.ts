import type { ValueStateDescriptor } from '../../state/port/descriptors.ts'
import type { ValueState } from '../../state/port/handles.ts'
import type { RowChange } from '../joins/table-join.ts'
import type {
  Collector,
  KeyedCoProcessFunction,
  KeyedFunctionContext,
  KeyedProcessContext,
} from '../process/function.ts'
import { type LeftRow, NO_SUBSCRIPTION, type SubscriptionAnswer } from './foreign-key.ts'
import { requireRow } from './rows.ts'

/** What the result of a left row stands on. */
export interface ResultStatus {
  /** Number of the row's subscription. */
  readonly subscription: number
  /** Whether that subscription was answered, so that the right row, or that there is none, is known. */
  readonly isAnswered: boolean
  /** Whether the last result was a row. */
  readonly isShown: boolean
}

/** How the left rows of a join by a foreign key meet their right rows. */
export interface ForeignKeyResults<A, B, OUT> {
  readonly isLeft: boolean
  readonly join: (left: A, right: B | undefined) => OUT | null
  readonly left: ValueStateDescriptor<A>
  readonly right: ValueStateDescriptor<B>
  readonly status: ValueStateDescriptor<ResultStatus>
  /** An answer that came before the left row of its subscription: its number, and its row. */
  readonly early: ValueStateDescriptor<number>
  readonly earlyRow: ValueStateDescriptor<B>
}

/**
 * Makes the results of a join by a foreign key. A row whose subscription was not answered yet keeps the result that it had.
 * An answer with a number below that of the row is late and counts for nothing; one above it waits for its row, until the
 * last answer of its subscription removes it.
 */
export class ForeignKeyResultsFunction<K, A, B, OUT>
  implements KeyedCoProcessFunction<K, LeftRow<K, A>, SubscriptionAnswer<K, B>, RowChange<K, OUT>>
{
  readonly sideOutputs = []
  private readonly how: ForeignKeyResults<A, B, OUT>
  private left!: ValueState<A>
  private right!: ValueState<B>
  private status!: ValueState<ResultStatus>
  private early!: ValueState<number>
  private earlyRow!: ValueState<B>

  constructor(how: ForeignKeyResults<A, B, OUT>) {
    this.how = how
  }

  open(context: KeyedFunctionContext): void {
    this.left = context.getState(this.how.left)
    this.right = context.getState(this.how.right)
    this.status = context.getState(this.how.status)
    this.early = context.getState(this.how.early)
    this.earlyRow = context.getState(this.how.earlyRow)
  }

  processElement1(
    { key, value, subscription }: LeftRow<K, A>,
    _context: KeyedProcessContext<K>,
    out: Collector<RowChange<K, OUT>>,
  ): void {
    const status = this.status.value()
    if (value === null) {
      this.left.clear()
      this.right.clear()
      this.status.clear()
      if (status?.isShown === true) out.collect({ key, value: null })
      return
    }
    this.left.update(value)
    const next =
      status?.subscription === subscription
        ? status
        : { ...this.begin(subscription), isShown: status?.isShown === true }
    this.show(key, value, { status: next, out })
  }

  processElement2(
    { key, subscription, row, isLast }: SubscriptionAnswer<K, B>,
    _context: KeyedProcessContext<K>,
    out: Collector<RowChange<K, OUT>>,
  ): void {
    const status = this.status.value()
    if (status?.subscription !== subscription) {
      this.keepEarly({ key, subscription, row, isLast }, status?.subscription ?? 0)
      return
    }
    // The row has moved or is gone, which its own change says.
    if (isLast) return
    setRow(this.right, row)
    this.show(key, this.left.value() as A, { status: { ...status, isAnswered: true }, out })
  }

  /** The status of a row that has a subscription with another number. */
  private begin(subscription: number): Omit<ResultStatus, 'isShown'> {
    const early = this.early.value()
    const isEarly = early === subscription
    setRow(this.right, isEarly ? (this.earlyRow.value() ?? null) : null)
    if (early !== undefined && early <= subscription) this.forgetEarly()
    return { subscription, isAnswered: isEarly || subscription === NO_SUBSCRIPTION }
  }

  private keepEarly(
    { subscription, row, isLast }: SubscriptionAnswer<K, B>,
    current: number,
  ): void {
    const early = this.early.value()
    if (isLast) {
      if (early === subscription) this.forgetEarly()
      return
    }
    if (subscription < Math.max(current, early ?? 0)) return
    this.early.update(subscription)
    setRow(this.earlyRow, row)
  }

  private forgetEarly(): void {
    this.early.clear()
    this.earlyRow.clear()
  }

  private show(
    key: K,
    left: A,
    { status, out }: { readonly status: ResultStatus; readonly out: Collector<RowChange<K, OUT>> },
  ): void {
    // Before the function of the user: where it throws, the answers to come still find their row.
    this.status.update(status)
    if (!status.isAnswered) return
    const right = this.right.value()
    const hasResult = this.how.isLeft || right !== undefined
    const value = hasResult ? requireRow(this.how.join(left, right), JOIN_FUNCTION) : null
    const isShown = value !== null
    if (isShown !== status.isShown) this.status.update({ ...status, isShown })
    if (value !== null || status.isShown) out.collect({ key, value })
  }
}

const JOIN_FUNCTION = 'the function of a join of tables by a foreign key'

function setRow<V>(state: ValueState<V>, row: V | null): void {
  if (row === null) state.clear()
  else state.update(row)
}
