import { WeirError } from '../../core/errors.ts'
import { describeValue } from '../../core/text/describe-value.ts'
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

/** The group of a row and what the row adds to it. */
export interface GroupedRow<G, W> {
  readonly group: G
  readonly value: W
}

/** A change of a group: what is taken out of it, then what is added. */
export interface GroupChange<G, W> {
  readonly group: G
  readonly kind: 'remove' | 'add' | 'replace'
  /** Null for `add`. */
  readonly removed: W | null
  /** Null for `remove`. */
  readonly added: W | null
}

/** The group and the value of a row; null leaves the row out. */
export type GroupOf<K, V, G, W> = (value: V, key: K) => readonly [G, W] | null

/** What a `GroupingFunction` needs. */
export interface Grouping<K, V, G, W> {
  readonly groupOf: GroupOf<K, V, G, W>
  /** Whether two groups are the same one. */
  readonly isSame: (a: G, b: G) => boolean
  readonly descriptor: ValueStateDescriptor<GroupedRow<G, W>>
}

/**
 * Turns changes of rows into changes of groups. The state of a row is the group and the value that it has added, so that a
 * retraction takes out exactly what was added, also where `groupOf` has changed since.
 */
export class GroupingFunction<K, V, G, W>
  implements KeyedProcessFunction<K, RowChange<K, V>, GroupChange<G, W>>
{
  readonly sideOutputs = []
  private readonly grouping: Grouping<K, V, G, W>
  private row!: ValueState<GroupedRow<G, W>>

  constructor(grouping: Grouping<K, V, G, W>) {
    this.grouping = grouping
  }

  open(context: KeyedFunctionContext): void {
    this.row = context.getState(this.grouping.descriptor)
  }

  processElement(
    { key, value }: RowChange<K, V>,
    _context: KeyedProcessContext<K>,
    out: Collector<GroupChange<G, W>>,
  ): void {
    const next = value === null ? undefined : this.groupedRow(value, key)
    const last = this.row.value()
    if (next === undefined) this.row.clear()
    else this.row.update(next)
    if (last !== undefined && next !== undefined && this.grouping.isSame(last.group, next.group)) {
      const { group } = next
      out.collect({ group, kind: 'replace', removed: last.value, added: next.value })
      return
    }
    if (last !== undefined) {
      out.collect({ group: last.group, kind: 'remove', removed: last.value, added: null })
    }
    if (next !== undefined) {
      out.collect({ group: next.group, kind: 'add', removed: null, added: next.value })
    }
  }

  private groupedRow(row: V, key: K): GroupedRow<G, W> | undefined {
    const grouped = this.grouping.groupOf(row, key)
    if (grouped === null) return undefined
    refusePromise(grouped, 'the function of groupBy')
    const [group, value] = Array.isArray(grouped) ? grouped : []
    if (group !== null && group !== undefined) return { group, value: value as W }
    throw new WeirError(
      'INVALID_ARGUMENT',
      `the function of groupBy returned ${describeValue(grouped)}: return [group, value], or null for a row that belongs to no group`,
    )
  }
}
