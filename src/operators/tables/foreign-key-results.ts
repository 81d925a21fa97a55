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

/** A left row with what its result stands on. */
export interface JoinedRow<A, B> {
  readonly left: A
  /** Null where there is none, or where it is not known yet. */
  readonly right: B | null
  /** Number of the row's subscription. */
  readonly subscription: number
  /** Whether that subscription was answered, so that the right row, or that there is none, is known. */
  readonly isAnswered: boolean
  /** Whether the last result was a row. */
  readonly isShown: boolean
}

/** An answer that came before the left row of its subscription. */
export interface EarlyAnswer<B> {
  readonly subscription: number
  readonly row: B | null
}

/** How the left rows of a join by a foreign key meet their right rows. */
export interface ForeignKeyResults<A, B, OUT> {
  readonly isLeft: boolean
  readonly join: (left: A, right: B | undefined) => OUT | null
  readonly row: ValueStateDescriptor<JoinedRow<A, B>>
  readonly early: ValueStateDescriptor<EarlyAnswer<B>>
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
  private row!: ValueState<JoinedRow<A, B>>
  private early!: ValueState<EarlyAnswer<B>>

  constructor(how: ForeignKeyResults<A, B, OUT>) {
    this.how = how
  }

  open(context: KeyedFunctionContext): void {
    this.row = context.getState(this.how.row)
    this.early = context.getState(this.how.early)
  }

  processElement1(
    { key, value, subscription }: LeftRow<K, A>,
    _context: KeyedProcessContext<K>,
    out: Collector<RowChange<K, OUT>>,
  ): void {
    const row = this.row.value()
    const isShown = row?.isShown === true
    if (value === null) {
      this.row.clear()
      if (isShown) out.collect({ key, value: null })
      return
    }
    const next =
      row?.subscription === subscription
        ? { ...row, left: value }
        : { ...this.begin(subscription), left: value, isShown }
    this.show(key, next, out)
  }

  processElement2(
    answer: SubscriptionAnswer<K, B>,
    _context: KeyedProcessContext<K>,
    out: Collector<RowChange<K, OUT>>,
  ): void {
    const row = this.row.value()
    if (row?.subscription !== answer.subscription) {
      this.keepEarly(answer, row?.subscription ?? 0)
      return
    }
    // The row has moved or is gone, which its own change says.
    if (!answer.isLast) this.show(answer.key, { ...row, right: answer.row, isAnswered: true }, out)
  }

  /** What is known of a row that has a subscription with another number. */
  private begin(
    subscription: number,
  ): Pick<JoinedRow<A, B>, 'right' | 'subscription' | 'isAnswered'> {
    const early = this.early.value()
    if (early !== undefined && early.subscription <= subscription) this.early.clear()
    const isEarly = early?.subscription === subscription
    const isAnswered = isEarly || subscription === NO_SUBSCRIPTION
    return { subscription, right: isEarly ? early.row : null, isAnswered }
  }

  private keepEarly(
    { subscription, row, isLast }: SubscriptionAnswer<K, B>,
    current: number,
  ): void {
    const early = this.early.value()
    if (isLast) {
      if (early?.subscription === subscription) this.early.clear()
      return
    }
    if (subscription < Math.max(current, early?.subscription ?? 0)) return
    this.early.update({ subscription, row })
  }

  private show(key: K, row: JoinedRow<A, B>, out: Collector<RowChange<K, OUT>>): void {
    let { isShown } = row
    try {
      const value = this.resultOf(row)
      isShown = value === undefined ? isShown : value !== null
      if (value !== undefined && (isShown || row.isShown)) out.collect({ key, value })
    } finally {
      // Also where the function of the user throws: the answers to come still find their row.
      this.row.update({ ...row, isShown })
    }
  }

  /** Null where there is none; undefined where it is not known yet. */
  private resultOf({ left, right, isAnswered }: JoinedRow<A, B>): OUT | null | undefined {
    if (!isAnswered) return undefined
    if (right === null && !this.how.isLeft) return null
    return requireRow(this.how.join(left, right ?? undefined), JOIN_FUNCTION)
  }
}

const JOIN_FUNCTION = 'the function of a join of tables by a foreign key'
