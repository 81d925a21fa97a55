import { WeirError } from '../../core/errors.ts'
import type { ValueStateDescriptor } from '../../state/port/descriptors.ts'
import type { ValueState } from '../../state/port/handles.ts'
import type { RowChange } from '../joins/table-join.ts'
import { refusePromise } from '../port/refuse-promise.ts'
import type {
  Collector,
  KeyedFunctionContext,
  KeyedProcessContext,
  KeyedProcessFunction,
} from '../process/function.ts'
import type { GroupChange } from './grouping.ts'

/**
 * An aggregate of the rows of a group that can take a row out again: Kafka Streams' adder and subtractor, and Flink's
 * `retract`. `retract(v, add(v, acc))` must equal `acc`, and the order of rows must not matter.
 */
export interface TableAggregate<W, ACC, OUT> {
  createAccumulator(): ACC
  add(value: W, accumulator: ACC): ACC
  retract(value: W, accumulator: ACC): ACC
  /** The row of the group; null deletes it. */
  getResult(accumulator: ACC): OUT | null
}

/** What an `AggregationFunction` needs. */
export interface Aggregation<W, ACC, OUT> {
  readonly aggregate: TableAggregate<W, ACC, OUT>
  /** What becomes of the row of a group whose rows are all gone. */
  readonly emptyGroups: 'keep' | 'delete'
  readonly accumulator: ValueStateDescriptor<ACC>
  /** Number of rows of the group. */
  readonly rows: ValueStateDescriptor<number>
}

/**
 * Aggregates the rows of each group. The number of its rows is state, too: a row that is taken out of a group without rows
 * fails with ILLEGAL_STATE, and changes nothing.
 */
export class AggregationFunction<G, W, ACC, OUT>
  implements KeyedProcessFunction<G, GroupChange<G, W>, RowChange<G, OUT>>
{
  readonly sideOutputs = []
  private readonly aggregation: Aggregation<W, ACC, OUT>
  private accumulator!: ValueState<ACC>
  private rows!: ValueState<number>

  constructor(aggregation: Aggregation<W, ACC, OUT>) {
    this.aggregation = aggregation
  }

  open(context: KeyedFunctionContext): void {
    this.accumulator = context.getState(this.aggregation.accumulator)
    this.rows = context.getState(this.aggregation.rows)
  }

  processElement(
    { group, kind, removed, added }: GroupChange<G, W>,
    context: KeyedProcessContext<G>,
    out: Collector<RowChange<G, OUT>>,
  ): void {
    const { aggregate, emptyGroups } = this.aggregation
    const before = this.rows.value() ?? 0
    if (kind !== 'add' && before === 0) throw neverAdded(context.operatorName, group)
    let accumulator = this.accumulator.value() ?? aggregate.createAccumulator()
    if (kind !== 'add') accumulator = checked(aggregate.retract(removed as W, accumulator))
    if (kind !== 'remove') accumulator = checked(aggregate.add(added as W, accumulator))
    const count = before + (kind === 'add' ? 1 : kind === 'remove' ? -1 : 0)
    const isDeleted = count === 0 && emptyGroups === 'delete'
    const value = isDeleted ? null : aggregate.getResult(accumulator)
    refusePromise(value, 'getResult of a table aggregate')
    // After the functions: one that throws has changed nothing.
    if (isDeleted) this.accumulator.clear()
    else this.accumulator.update(accumulator)
    if (count === 0) this.rows.clear()
    else this.rows.update(count)
    out.collect({ key: group, value })
  }
}

function checked<ACC>(accumulator: ACC): ACC {
  refusePromise(accumulator, 'a function of a table aggregate')
  if (accumulator !== undefined && accumulator !== null) return accumulator
  throw new WeirError(
    'INVALID_ARGUMENT',
    `a function of a table aggregate returned ${accumulator}: add and retract return the accumulator; for a group without a row return null from getResult, or set emptyGroups to 'delete'`,
  )
}

function neverAdded(operator: string, group: unknown): WeirError {
  return new WeirError(
    'ILLEGAL_STATE',
    `operator "${operator}" was to take a row out of group ${String(group)}, which has no rows: the state of its grouping and of its groups is not of one checkpoint; restore both, or start both without state`,
  )
}
