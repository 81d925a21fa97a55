import { WeirError } from '../core/errors.ts'
import { type PlainKey, plainKeySerializer } from '../core/formats/plain-key-serializer.ts'
import { kindOf } from '../core/options/kinds.ts'
import { checkArgument, checkOptions, type OptionShape } from '../core/options/shape.ts'
import { int53Serializer, type Serializer } from '../core/serializer.ts'
import { MapOperator } from '../operators/basic/map.ts'
import type { RowChange } from '../operators/joins/table-join.ts'
import type { RecordErrorPolicy } from '../operators/port/failed-record.ts'
import { AggregationFunction, type TableAggregate } from '../operators/tables/aggregation.ts'
import { ChangelogFunction, type TableChange } from '../operators/tables/changes.ts'
import { recordFormat, sameBytes } from '../operators/tables/formats.ts'
import {
  type GroupChange,
  type GroupedRow,
  GroupingFunction,
  type GroupOf,
} from '../operators/tables/grouping.ts'
import type { TablesJoinType } from '../operators/tables/joining.ts'
import { filteredRows, mappedRows } from '../operators/tables/rows.ts'
import { type Suppression, SuppressionFunction } from '../operators/tables/suppression.ts'
import { valueState } from '../state/port/descriptors.ts'
import { requireFunction } from './checks/function-argument.ts'
import { FUNCTION_USES } from './checks/function-uses.ts'
import { requireMethods } from './checks/object-argument.ts'
import type { DataStream } from './data-stream.ts'
import type { NodeDraft, StreamOrigin } from './graph-draft.ts'
import { KeyedStream } from './keyed-stream.ts'
import { NodeSettingsBase } from './node-settings.ts'
import { addTableStore } from './stores.ts'
import type { StreamFactory } from './stream-factory.ts'
import {
  type ForeignKeyJoin,
  joinByForeignKey,
  joinTables,
  keyedChanges,
  ownFormat,
  rowState,
  type TableFormat,
} from './table-joins.ts'
import {
  TABLE,
  TABLE_AGGREGATE,
  TABLE_FOLD,
  TABLE_GROUP,
  TABLE_ROWS,
  type TableAggregateOptions,
  type TableFoldOptions,
  type TableGroupOptions,
  type TableOptions,
  type TableRowsOptions,
} from './tables/options.ts'

const SUPPRESSION = kindOf<Suppression>(
  'a time: untilTime(60_000)',
  (given) => typeof (given as Partial<Suppression> | null | undefined)?.ms === 'number',
)

/** What joins of tables are given. */
interface JoinCall<OUT> {
  readonly join: (left: never, right: never) => OUT | null
  readonly options: TableRowsOptions<OUT> | undefined
}

/** The latest value of each key of a stream, which streams and other tables join. */
export class Table<K, V> extends NodeSettingsBase {
  readonly origins: readonly StreamOrigin[]
  readonly scope: 'keyed' | 'global'
  readonly keySerializer: Serializer<K>
  readonly valueSerializer: Serializer<V> | undefined
  private readonly factory: StreamFactory
  /** Operators before the last one that belong to the table. */
  private readonly parts: readonly NodeDraft[]

  /** For the classes of this folder; jobs get tables from an environment, a stream or another table. */
  constructor(
    factory: StreamFactory,
    changes: DataStream<RowChange<K, V>>,
    { keySerializer, valueSerializer, scope = 'keyed' }: TableFormat<K, V>,
    parts: readonly NodeDraft[] = [],
  ) {
    super(changes.origins)
    this.factory = factory
    this.origins = changes.origins
    this.scope = scope
    this.keySerializer = keySerializer
    this.valueSerializer = valueSerializer
    this.parts = parts
    const key = ownFormat(keySerializer)
    changes.returns(recordFormat<RowChange<K, V>>({ key, value: valueSerializer }))
  }

  /** The table of the rows that `map` makes of the rows of this one; null leaves a row out. */
  mapRows<W>(map: (value: V, key: K) => W | null, options: TableRowsOptions<W> = {}): Table<K, W> {
    requireFunction(map, FUNCTION_USES.mapRows)
    checkOptions('mapRows', TABLE_ROWS as OptionShape<TableRowsOptions<W>>, options)
    return this.mapped('TableRows', mappedRows(map), options.serializer)
  }

  /** The table of the rows for which the predicate holds. A row that no longer passes is deleted. */
  filter(predicate: (value: V, key: K) => boolean): Table<K, V> {
    requireFunction(predicate, FUNCTION_USES.filterRows)
    return this.mapped('TableFilter', filteredRows(predicate), this.valueSerializer)
  }

  /** The changes of rows with their old values (Flink's `toChangelogStream`). It has the rows as state. */
  toChangelog(): DataStream<TableChange<K, V>> {
    const row = rowState('row', this)
    return keyedChanges(this.factory, this)
      .process(() => new ChangelogFunction<K, V>(row))
      .name('TableChangelog')
  }

  /** The changes of rows, each with its new value, null for a row that is gone (Kafka Streams' `KTable.toStream`). */
  toStream(): DataStream<RowChange<K, V>> {
    return this.factory.stream(this.origins)
  }

  /**
   * The table that sends a row that changes often less often (Kafka Streams' `suppress`): `suppress(untilTime(60_000))`
   * holds its changes for a minute and sends the last one. The end of input sends all.
   */
  suppress(suppression: Suppression): Table<K, V> {
    checkArgument('suppress', 'suppression', SUPPRESSION, suppression)
    const held = rowState('held', this)
    const changes = keyedChanges(this.factory, this)
      .process(() => new SuppressionFunction<K, V>(suppression, held))
      .name('TableSuppress')
    return new Table(this.factory, changes, this)
  }

  /**
   * The rows by group: `groupOf` returns the group and what the row adds to it, or null, which leaves the row out. An update
   * of a row takes its old value out of its old group, and then adds the new one to the new group.
   */
  groupBy<G extends PlainKey, W>(
    groupOf: GroupOf<K, V, G, W>,
    options?: TableGroupOptions<G, W> & { readonly keySerializer?: undefined },
  ): GroupedTable<G, W>
  groupBy<G, W>(
    groupOf: GroupOf<K, V, G, W>,
    options: TableGroupOptions<G, W> & { readonly keySerializer: Serializer<G> },
  ): GroupedTable<G, W>
  groupBy<G, W>(
    groupOf: GroupOf<K, V, G, W>,
    options: TableGroupOptions<G, W> = {},
  ): GroupedTable<G, W> {
    requireFunction(groupOf, FUNCTION_USES.groupBy)
    checkOptions('groupBy', TABLE_GROUP as OptionShape<TableGroupOptions<G, W>>, options)
    const { keySerializer = plainKeys<G>(), serializer: valueSerializer } = options
    const group = ownFormat(keySerializer)
    const grouping = {
      groupOf,
      isSame: sameBytes(keySerializer),
      descriptor: valueState<GroupedRow<G, W>>('grouped', {
        serializer: recordFormat<GroupedRow<G, W>>({ group, value: valueSerializer }),
      }),
    }
    const format = recordFormat<GroupChange<G, W>>({
      group,
      kind: undefined,
      removed: valueSerializer,
      added: valueSerializer,
    })
    const changes = (): DataStream<GroupChange<G, W>> =>
      keyedChanges(this.factory, this)
        .process(() => new GroupingFunction(grouping))
        .name('TableGroups')
        .returns(format)
    return new GroupedTable(this.factory, changes, { keySerializer, valueSerializer })
  }

  /**
   * The join of the rows of two tables that have the same key: a change of either side changes the result, and a row without
   * a partner has none. Null as a result leaves the row out. Throws INVALID_GRAPH for keys of different serializers.
   */
  join<B, OUT>(
    other: Table<K, B>,
    join: (left: V, right: B) => OUT | null,
    options?: TableRowsOptions<OUT>,
  ): Table<K, OUT> {
    return this.joined('inner', other, { join, options })
  }

  /** As `join`, with a result also for a row of this table without a partner. */
  leftJoin<B, OUT>(
    other: Table<K, B>,
    join: (left: V, right: B | undefined) => OUT | null,
    options?: TableRowsOptions<OUT>,
  ): Table<K, OUT> {
    return this.joined('left', other, { join, options })
  }

  /** As `join`, with a result for each row of either side. */
  outerJoin<B, OUT>(
    other: Table<K, B>,
    join: (left: V | undefined, right: B | undefined) => OUT | null,
    options?: TableRowsOptions<OUT>,
  ): Table<K, OUT> {
    return this.joined('outer', other, { join, options })
  }

  /**
   * The join of each row with the row of another table whose key `foreignKeyOf` returns; null and undefined join none. A change of either
   * side changes the result, and a row with another foreign key leaves its old partner. Throws INVALID_GRAPH.
   */
  joinByForeignKey<FK, B, OUT>(
    other: Table<FK, B>,
    foreignKeyOf: (left: V, key: K) => FK | null | undefined,
    join: (left: V, right: B) => OUT | null,
    options?: TableRowsOptions<OUT>,
  ): Table<K, OUT> {
    return this.byForeignKey(other, { isLeft: false, foreignKeyOf, join }, options)
  }

  /** As `joinByForeignKey`, with a result also for a row without a partner. */
  leftJoinByForeignKey<FK, B, OUT>(
    other: Table<FK, B>,
    foreignKeyOf: (left: V, key: K) => FK | null | undefined,
    join: (left: V, right: B | undefined) => OUT | null,
    options?: TableRowsOptions<OUT>,
  ): Table<K, OUT> {
    return this.byForeignKey(other, { isLeft: true, foreignKeyOf, join }, options)
  }

  /** Sets the stable name of the operator. Operators before it that belong to it have it with their name behind. */
  override uid(uid: string): this {
    super.uid(uid)
    for (const part of this.parts) part.uid = `${uid}.${part.name}`
    return this
  }

  /** As `onError` of a stream, for all operators of the table. */
  override onError(policy: RecordErrorPolicy): this {
    super.onError(policy)
    for (const part of this.parts) part.onError = policy
    return this
  }

  private mapped<W>(
    name: string,
    map: (change: RowChange<K, V>) => RowChange<K, W>,
    valueSerializer: Serializer<W> | undefined,
  ): Table<K, W> {
    const { factory, keySerializer, scope } = this
    const create = () => new MapOperator(map)
    const changes = factory.add<RowChange<K, W>>(
      { name, inputs: 1, body: () => ({ kind: 'operator', create }) },
      [this.origins],
    )
    return new Table(factory, changes, { keySerializer, scope, valueSerializer })
  }

  private joined<B, OUT>(
    type: TablesJoinType,
    other: Table<K, B>,
    { join, options = {} }: JoinCall<OUT>,
  ): Table<K, OUT> {
    checkOptions('join', TABLE_ROWS as OptionShape<TableRowsOptions<OUT>>, options)
    const { factory, keySerializer } = this
    const call = join as (left: V | undefined, right: B | undefined) => OUT | null
    const changes = joinTables(factory, [this, other], { type, join: call })
    return new Table(factory, changes, { keySerializer, valueSerializer: options.serializer })
  }

  private byForeignKey<FK, B, OUT>(
    other: Table<FK, B>,
    how: Omit<ForeignKeyJoin<K, V, FK, B, OUT>, 'join'> & Pick<JoinCall<OUT>, 'join'>,
    options: TableRowsOptions<OUT> = {},
  ): Table<K, OUT> {
    checkOptions('joinByForeignKey', TABLE_ROWS as OptionShape<TableRowsOptions<OUT>>, options)
    const { factory, keySerializer } = this
    const join = how.join as (left: V, right: B | undefined) => OUT | null
    const [changes, parts] = joinByForeignKey(factory, [this, other], { ...how, join })
    const format = { keySerializer, valueSerializer: options.serializer }
    return new Table(factory, changes, format, parts)
  }
}

/** The rows of a table by group. Each aggregate of them is a table with a row for each group. */
export class GroupedTable<G, W> {
  private readonly factory: StreamFactory
  /** Makes the operator of the changes of groups. */
  private readonly changes: () => DataStream<GroupChange<G, W>>
  private readonly format: TableFormat<G, W>

  /** For the classes of this folder; jobs get grouped tables from `groupBy` of a table. */
  constructor(
    factory: StreamFactory,
    changes: () => DataStream<GroupChange<G, W>>,
    format: TableFormat<G, W>,
  ) {
    this.factory = factory
    this.changes = changes
    this.format = format
  }

  /** The number of rows of each group. */
  count(options: TableFoldOptions = {}): Table<G, number> {
    checkOptions('count', TABLE_FOLD, options)
    const counting: TableAggregate<W, number, number> = {
      createAccumulator: () => 0,
      add: (_, rows) => rows + 1,
      retract: (_, rows) => rows - 1,
      getResult: (rows) => rows,
    }
    return this.aggregate(counting, options)
  }

  /** The rows of each group in one: `add` puts a row in, and `retract` takes it out (Kafka Streams' adder and subtractor). */
  reduce(
    add: (sum: W, row: W) => W,
    retract: (sum: W, row: W) => W,
    options: TableFoldOptions = {},
  ): Table<G, W> {
    checkOptions('reduce', TABLE_FOLD, options)
    for (const each of [add, retract]) requireFunction(each, FUNCTION_USES.reduceOfTable)
    const reducing: TableAggregate<W, W | undefined, W> = {
      createAccumulator: () => undefined,
      add: (row, sum) => (sum === undefined ? row : add(sum, row)),
      retract: (row, sum) => retract(sum as W, row),
      getResult: (sum) => sum ?? null,
    }
    const { valueSerializer: serializer } = this.format
    const formats = serializer && { serializer, resultSerializer: serializer }
    return this.aggregate<W | undefined, W>(reducing, { ...options, ...formats })
  }

  /** The result of an aggregate of the rows of each group. */
  aggregate<ACC, OUT>(
    aggregate: TableAggregate<W, ACC, OUT>,
    options: TableAggregateOptions<ACC, OUT> = {},
  ): Table<G, OUT> {
    const methods = ['createAccumulator', 'add', 'retract', 'getResult']
    const takes = 'an object with createAccumulator, add, retract and getResult'
    requireMethods(aggregate, { call: 'aggregate(...) of a grouped table', methods, takes })
    const shape = TABLE_AGGREGATE as OptionShape<TableAggregateOptions<ACC, OUT>>
    checkOptions('aggregate', shape, options)
    const { factory } = this
    const { keySerializer } = this.format
    const changes = this.changes()
    const aggregation = {
      aggregate,
      emptyGroups: options.emptyGroups ?? 'keep',
      accumulator: rowState<ACC>('accumulator', { valueSerializer: options.serializer }),
      rows: valueState('rows', { serializer: int53Serializer }),
    }
    const results = new KeyedStream<G, GroupChange<G, W>>(factory, changes.origins, {
      selector: ({ group }) => group,
      serializer: keySerializer,
    })
      .process(() => new AggregationFunction<G, W, ACC, OUT>(aggregation))
      .name('TableAggregate')
    const format = { keySerializer, valueSerializer: options.resultSerializer }
    return new Table(
      factory,
      results,
      format,
      changes.origins.map(({ node }) => node),
    )
  }
}

/** The table of a stream. Throws INVALID_ARGUMENT. */
export function tableOf<T, K, V>(
  factory: StreamFactory,
  stream: DataStream<T>,
  options: TableOptions<T, K, V>,
): Table<K, V> {
  checkOptions('table', TABLE as OptionShape<TableOptions<T, K, V>>, options)
  const { keyOf, rowOf = (record: T) => record as unknown as V, name: operator = 'Table' } = options
  const changeOf = (record: T): RowChange<K, V> => {
    const key = keyOf(record)
    if (key === null || key === undefined) throw missingKey(operator, String(key))
    return { key, value: rowOf(record) }
  }
  const create = () => new MapOperator(changeOf)
  const changes = factory.add<RowChange<K, V>>(
    { name: operator, inputs: 1, body: () => ({ kind: 'operator', create }) },
    [stream.origins],
  )
  const { keySerializer = plainKeys<K>(), serializer: valueSerializer, scope = 'keyed' } = options
  const table = new Table(factory, changes, { keySerializer, valueSerializer, scope })
  if (options.queryableName !== undefined) addTableStore(factory, table, options.queryableName)
  return table
}

function plainKeys<K>(): Serializer<K> {
  return plainKeySerializer() as Serializer<unknown> as Serializer<K>
}

function missingKey(operator: string, key: string): WeirError {
  return new WeirError(
    'INVALID_ARGUMENT',
    `keyOf of table "${operator}" returned ${key} for a record: each row needs a key; leave such records out with filter before the table, or with onError('skip') of the table`,
  )
}
