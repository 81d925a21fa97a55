/** What the package exports of tables: what they are made of, and how they change. */

export type { TableSourceOptions } from './dataflow/stream-execution-environment.ts'
export { GroupedTable, Table } from './dataflow/table.ts'
export {
  type TableAggregateOptions,
  type TableFoldOptions,
  type TableGroupOptions,
  type TableJoinOptions,
  type TableOptions,
  type TableRowsOptions,
  type UntilTimeOptions,
  untilTime,
} from './dataflow/tables/options.ts'
export type { RowChange } from './operators/joins/table-join.ts'
export type { TableAggregate } from './operators/tables/aggregation.ts'
export type { TableChange } from './operators/tables/changes.ts'
export type { GroupOf } from './operators/tables/grouping.ts'
export type { Suppression } from './operators/tables/suppression.ts'
