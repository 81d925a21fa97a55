import type { ValueStateDescriptor } from '../../state/port/descriptors.ts'
import type { ValueState } from '../../state/port/handles.ts'
import type { RowChange } from '../joins/table-join.ts'
import type {
  Collector,
  KeyedCoProcessFunction,
  KeyedFunctionContext,
  KeyedProcessContext,
} from '../process/function.ts'
import { requireRow } from './rows.ts'

/** Which rows of two tables have a result: those with a partner, also the left ones without, or all. */
export type TablesJoinType = 'inner' | 'left' | 'outer'

/** How the rows of two tables meet. */
export interface TablesJoin<A, B, OUT> {
  readonly type: TablesJoinType
  /** The row of the result; null deletes it. A side without a row is undefined where the type allows that. */
  readonly join: (left: A | undefined, right: B | undefined) => OUT | null
  readonly left: ValueStateDescriptor<A>
  readonly right: ValueStateDescriptor<B>
}

/**
 * Joins two tables by their common key, with the results of Kafka Streams' `KTable.join`: a change of either side gives a
 * change of the result. A tombstone comes only where there was a result. The rows of both sides are keyed state.
 */
export class TablesJoinFunction<K, A, B, OUT>
  implements KeyedCoProcessFunction<K, RowChange<K, A>, RowChange<K, B>, RowChange<K, OUT>>
{
  readonly sideOutputs = []
  private readonly how: TablesJoin<A, B, OUT>
  private left!: ValueState<A>
  private right!: ValueState<B>

  constructor(how: TablesJoin<A, B, OUT>) {
    this.how = how
  }

  open(context: KeyedFunctionContext): void {
    this.left = context.getState(this.how.left)
    this.right = context.getState(this.how.right)
  }

  processElement1(
    { key, value }: RowChange<K, A>,
    _context: KeyedProcessContext<K>,
    out: Collector<RowChange<K, OUT>>,
  ): void {
    const right = this.right.value()
    const had = this.hasResult(this.left.value(), right)
    const result = this.resultOf(value ?? undefined, right)
    if (value === null) this.left.clear()
    else this.left.update(value)
    if (had || result !== null) out.collect({ key, value: result })
  }

  processElement2(
    { key, value }: RowChange<K, B>,
    _context: KeyedProcessContext<K>,
    out: Collector<RowChange<K, OUT>>,
  ): void {
    const left = this.left.value()
    const had = this.hasResult(left, this.right.value())
    const result = this.resultOf(left, value ?? undefined)
    if (value === null) this.right.clear()
    else this.right.update(value)
    if (had || result !== null) out.collect({ key, value: result })
  }

  private hasResult(left: A | undefined, right: B | undefined): boolean {
    const { type } = this.how
    if (left !== undefined) return type !== 'inner' || right !== undefined
    return type === 'outer' && right !== undefined
  }

  private resultOf(left: A | undefined, right: B | undefined): OUT | null {
    if (!this.hasResult(left, right)) return null
    return requireRow(this.how.join(left, right), 'the function of a join of tables')
  }
}
