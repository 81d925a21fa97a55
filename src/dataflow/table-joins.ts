import { WeirError } from '../core/errors.ts'
import { isPlainKeySerializer } from '../core/formats/plain-key-serializer.ts'
import { checkOptions, type OptionShape } from '../core/options/shape.ts'
import { int53Serializer, type Serializer } from '../core/serializer.ts'
import { refuseArgument } from '../core/text/refuse-argument.ts'
import { DelayedCoProcessOperator } from '../operators/joins/delayed-co-process.ts'
import { versionsState } from '../operators/joins/row-versions.ts'
import {
  GlobalTableJoin,
  KeyedTableJoin,
  type RowChange,
  type TableJoin,
} from '../operators/joins/table-join.ts'
import { type TemporalReach, TemporalTableJoin } from '../operators/joins/temporal-join.ts'
import { OutputTag } from '../operators/port/output-tag.ts'
import type {
  LeftRow,
  SubscriptionAnswer,
  SubscriptionChange,
} from '../operators/tables/foreign-key.ts'
import { AnswersFunction } from '../operators/tables/foreign-key-answers.ts'
import {
  type EarlyAnswer,
  ForeignKeyResultsFunction,
  type JoinedRow,
} from '../operators/tables/foreign-key-results.ts'
import {
  type Subscription,
  SubscriptionsFunction,
} from '../operators/tables/foreign-key-subscriptions.ts'
import { recordFormat, sameBytes } from '../operators/tables/formats.ts'
import { type TablesJoin, TablesJoinFunction } from '../operators/tables/joining.ts'
import {
  type MapStateDescriptor,
  mapState,
  type ValueStateDescriptor,
  valueState,
} from '../state/port/descriptors.ts'
import { BroadcastConnectedStream, BroadcastStream } from './broadcast-stream.ts'
import { requireFunction } from './checks/function-argument.ts'
import { FUNCTION_USES } from './checks/function-uses.ts'
import { requireStream } from './checks/stream-argument.ts'
import { KeyedConnectedStreams, secondInput } from './connected-streams.ts'
import type { DataStream } from './data-stream.ts'
import { hashed, type NodeDraft, type StreamOrigin } from './graph-draft.ts'
import { KeyedStream } from './keyed-stream.ts'
import type { StreamFactory } from './stream-factory.ts'
import { TABLE_JOIN, type TableJoinOptions } from './tables/options.ts'

/** How the rows of a table are keyed and encoded. */
export interface TableFormat<K, V> {
  readonly keySerializer: Serializer<K>
  /** Undefined: MessagePack. */
  readonly valueSerializer: Serializer<V> | undefined
  readonly scope?: 'keyed' | 'global'
}

/** The changes of a table, and how they are keyed and encoded. */
export interface TableChanges<K, V> extends TableFormat<K, V> {
  readonly origins: readonly StreamOrigin[]
}

/** What `joinTable` of a stream was given. */
export interface TableJoinCall<T, K, V, OUT> {
  readonly table: TableChanges<K, V>
  readonly keyOf: (value: T) => K
  readonly join: (value: T, row: V) => OUT
  readonly options: TableJoinOptions<T>
}

/** The join of a stream with a table. Throws INVALID_ARGUMENT and INVALID_GRAPH. */
export function joinTable<T, K, V, OUT>(
  factory: StreamFactory,
  origins: readonly StreamOrigin[],
  { table, keyOf, join, options }: TableJoinCall<T, K, V, OUT>,
): DataStream<OUT> {
  checkOptions('joinTable', TABLE_JOIN as OptionShape<TableJoinOptions<T>>, options)
  requireTable(factory, table, 'joinTable')
  requireFunction(keyOf, FUNCTION_USES.joinTable)
  requireFunction(join, FUNCTION_USES.joinTable)
  const how: TableJoin<T, K, V, OUT> = { keyOf, join, isLeft: options.type === 'left' }
  if (options.wait === 'event-time') {
    return joinVersions(factory, [origins, table.origins], { table, how, options })
  }
  refuseTimes(options)
  const wait = { wait: options.wait ?? 'loaded' } as const
  return table.scope === 'global'
    ? joinGlobal(factory, [origins, secondInput(table.origins, wait)], { table, how })
    : joinKeyed(factory, [origins, secondInput(table.origins, wait)], { table, how })
}

interface Joined<T, K, V, OUT> {
  readonly table: TableFormat<K, V>
  readonly how: TableJoin<T, K, V, OUT>
}

/** Throws INVALID_ARGUMENT for options that only joins by event time have. */
function refuseTimes<T>({ graceMs, historyMs, lateRecords, wait }: TableJoinOptions<T>): void {
  if (graceMs === undefined && historyMs === undefined && lateRecords === undefined) return
  throw new WeirError(
    'INVALID_ARGUMENT',
    `graceMs, historyMs and lateRecords of joinTable belong to { wait: 'event-time' }, not to wait: '${wait ?? 'loaded'}': give that, or leave them out`,
  )
}

function joinVersions<T, K, V, OUT>(
  factory: StreamFactory,
  [stream, changes]: readonly [readonly StreamOrigin[], readonly StreamOrigin[]],
  { table, how, options }: Joined<T, K, V, OUT> & { readonly options: TableJoinOptions<T> },
): DataStream<OUT> {
  const { scope, keySerializer, valueSerializer } = table
  if (scope === 'global') {
    throw new WeirError(
      'INVALID_GRAPH',
      "joinTable(..., { wait: 'event-time' }) needs the timers of keys, which a table with scope: 'global' has none of: make the table with scope: 'keyed'",
    )
  }
  const { graceMs = 0, historyMs = 0, lateRecords: lateTag } = options
  const reach: TemporalReach<T> = { graceMs, historyMs, lateTag }
  return factory.add<OUT>(
    {
      name: 'TableJoin',
      inputs: 2,
      needsKey: true,
      needsEventTime: true,
      sideOutputs: lateTag === undefined ? [] : [lateTag.id],
      body: ({ eventTime }) => ({
        kind: 'operator',
        create: () =>
          new DelayedCoProcessOperator<K, T, RowChange<K, V>, OUT>(
            new TemporalTableJoin(how, reach, versionsState(valueSerializer)),
            keySerializer,
            { eventTime, watermarkDelayMs: graceMs },
          ),
      }),
    },
    [
      hashed<K, T>(stream, { selector: how.keyOf, serializer: keySerializer }),
      changesByKey<K, V>({ ...table, origins: changes }),
    ],
  )
}

function joinKeyed<T, K, V, OUT>(
  factory: StreamFactory,
  [stream, changes]: readonly [readonly StreamOrigin[], readonly StreamOrigin[]],
  { table, how }: Joined<T, K, V, OUT>,
): DataStream<OUT> {
  const { keySerializer } = table
  const inputs = [
    hashed<K, T>(stream, { selector: how.keyOf, serializer: keySerializer }),
    changesByKey<K, V>({ ...table, origins: changes }),
  ] as const
  const row = rowState('row', table)
  return new KeyedConnectedStreams<K, T, RowChange<K, V>>(factory, inputs, keySerializer)
    .process(() => new KeyedTableJoin(how, row))
    .name('TableJoin')
}

function joinGlobal<T, K, V, OUT>(
  factory: StreamFactory,
  [stream, changes]: readonly [readonly StreamOrigin[], readonly StreamOrigin[]],
  { table, how }: Joined<T, K, V, OUT>,
): DataStream<OUT> {
  const { keySerializer, valueSerializer } = table
  const rows = mapState<K, V>('rows', {
    keySerializer,
    ...(valueSerializer === undefined ? {} : { serializer: valueSerializer }),
  })
  const all = [rows as MapStateDescriptor<unknown, unknown>]
  const { origins, states } = new BroadcastStream<RowChange<K, V>>(changes, all)
  return new BroadcastConnectedStream<T, RowChange<K, V>>(factory, [stream, origins], states)
    .process(() => new GlobalTableJoin(how, rows))
    .name('TableJoin')
}

/** The join of two tables by their common key. Throws INVALID_ARGUMENT and INVALID_GRAPH. */
export function joinTables<K, A, B, OUT>(
  factory: StreamFactory,
  [left, right]: readonly [TableChanges<K, A>, TableChanges<K, B>],
  how: Pick<TablesJoin<A, B, OUT>, 'type' | 'join'>,
): DataStream<RowChange<K, OUT>> {
  const call = { inner: 'join', left: 'leftJoin', outer: 'outerJoin' }[how.type]
  requirePair(factory, [left, right], call)
  requireFunction(how.join, { ...FUNCTION_USES.joinOfTables, call })
  const { keySerializer } = left
  if (keySerializer.id !== right.keySerializer.id) {
    const ids = `${keySerializer.id} and ${right.keySerializer.id}`
    throw new WeirError(
      'INVALID_GRAPH',
      `${call}(...) of tables got keys of the serializers ${ids}: equal keys would have different bytes, so give both tables the same keySerializer, or join by a foreign key with joinByForeignKey(...)`,
    )
  }
  const states = { left: rowState('left', left), right: rowState('right', right) }
  const inputs = [changesByKey(left), changesByKey(right)] as const
  return new KeyedConnectedStreams<K, RowChange<K, A>, RowChange<K, B>>(
    factory,
    inputs,
    keySerializer,
  )
    .process(() => new TablesJoinFunction<K, A, B, OUT>({ ...how, ...states }))
    .name('TablesJoin')
}

/** How the rows of two tables meet by a foreign key. */
export interface ForeignKeyJoin<K, A, FK, B, OUT> {
  readonly isLeft: boolean
  readonly foreignKeyOf: (left: A, key: K) => FK | null | undefined
  readonly join: (left: A, right: B | undefined) => OUT | null
}

/**
 * The join of two tables by a foreign key of the left rows, and the operators before the last one. Throws INVALID_ARGUMENT
 * and INVALID_GRAPH.
 */
export function joinByForeignKey<K, A, FK, B, OUT>(
  factory: StreamFactory,
  [left, right]: readonly [TableChanges<K, A>, TableChanges<FK, B>],
  { isLeft, foreignKeyOf, join }: ForeignKeyJoin<K, A, FK, B, OUT>,
): readonly [DataStream<RowChange<K, OUT>>, readonly NodeDraft[]] {
  const call = isLeft ? 'leftJoinByForeignKey' : 'joinByForeignKey'
  requirePair(factory, [left, right], call)
  requireFunction(foreignKeyOf, { ...FUNCTION_USES.foreignKey, call })
  requireFunction(join, { ...FUNCTION_USES.foreignKey, call })
  const { keySerializer: keys, valueSerializer: lefts } = left
  const { keySerializer: foreignKeys, valueSerializer: rights } = right
  const key = ownFormat(keys)
  const foreignKey = ownFormat(foreignKeys)
  const changes = new OutputTag<SubscriptionChange<K, FK>>(
    'subscriptions',
    recordFormat<SubscriptionChange<K, FK>>({
      foreignKey,
      key,
      subscription: undefined,
      kind: undefined,
    }),
  )
  const current = valueState<Subscription<FK>>('subscription', {
    serializer: recordFormat<Subscription<FK>>({ subscription: undefined, foreignKey }),
  })
  const isSame = sameBytes(foreignKeys)
  const rows = keyedChanges(factory, left)
    .process(() => new SubscriptionsFunction<K, A, FK>({ foreignKeyOf, isSame, current, changes }))
    .name('TableSubscriptions')
    .returns(recordFormat<LeftRow<K, A>>({ key, value: lefts, subscription: undefined }))
  const subscriptions = hashed<FK, SubscriptionChange<K, FK>>(rows.getSideOutput(changes).origins, {
    selector: (change) => change.foreignKey,
    serializer: foreignKeys,
  })
  const answering = {
    row: rowState('row', right),
    subscribers: mapState<K, number>('subscribers', {
      keySerializer: keys,
      serializer: int53Serializer,
    }),
  }
  const answers = new KeyedConnectedStreams<FK, SubscriptionChange<K, FK>, RowChange<FK, B>>(
    factory,
    [subscriptions, changesByKey(right)],
    foreignKeys,
  )
    .process(() => new AnswersFunction<K, FK, B>(answering))
    .name('TableAnswers')
    .returns(
      recordFormat<SubscriptionAnswer<K, B>>({
        key,
        subscription: undefined,
        row: rights,
        isLast: undefined,
      }),
    )
  const states = {
    row: valueState<JoinedRow<A, B>>('joined', {
      serializer: recordFormat<JoinedRow<A, B>>({
        left: lefts,
        right: rights,
        subscription: undefined,
        isAnswered: undefined,
        isShown: undefined,
      }),
    }),
    early: valueState<EarlyAnswer<B>>('early', {
      serializer: recordFormat<EarlyAnswer<B>>({ subscription: undefined, row: rights }),
    }),
  }
  const byKey = { selector: (record: { readonly key: K }) => record.key, serializer: keys }
  const results = new KeyedConnectedStreams<K, LeftRow<K, A>, SubscriptionAnswer<K, B>>(
    factory,
    [hashed(rows.origins, byKey), hashed(answers.origins, byKey)],
    keys,
  )
    .process(() => new ForeignKeyResultsFunction<K, A, B, OUT>({ isLeft, join, ...states }))
    .name('TableForeignKeyJoin')
  return [results, [rows, answers].flatMap(({ origins }) => origins.map(({ node }) => node))]
}

/** The changes of a table by key. */
export function changesByKey<K, V>({ origins, keySerializer }: TableChanges<K, V>): StreamOrigin[] {
  return hashed<K, RowChange<K, V>>(origins, {
    selector: ({ key }) => key,
    serializer: keySerializer,
  })
}

/** The changes of a table as a keyed stream. */
export function keyedChanges<K, V>(
  factory: StreamFactory,
  { origins, keySerializer: serializer }: TableChanges<K, V>,
): KeyedStream<K, RowChange<K, V>> {
  return new KeyedStream(factory, origins, { selector: ({ key }) => key, serializer })
}

/** The serializer of keys where MessagePack would not do. */
export function ownFormat<K>(keys: Serializer<K>): Serializer<K> | undefined {
  return isPlainKeySerializer(keys as Serializer<unknown>) ? undefined : keys
}

/** A state with a row of a table. */
export function rowState<V>(
  name: string,
  { valueSerializer }: Pick<TableFormat<never, V>, 'valueSerializer'>,
): ValueStateDescriptor<V> {
  return valueState<V>(name, valueSerializer && { serializer: valueSerializer })
}

/** Throws INVALID_ARGUMENT for what is no table, INVALID_GRAPH for one of another environment. */
function requireTable(
  factory: StreamFactory,
  table: TableChanges<unknown, unknown>,
  call: string,
): void {
  requireStream(table, factory.draft, call)
  if (table.scope === undefined) refuseArgument(`${call}(...)`, table, 'a table: env.table(...)')
}

/** Throws as `requireTable`, and INVALID_GRAPH for tables that each subtask has whole. */
function requirePair(
  factory: StreamFactory,
  tables: readonly [TableChanges<unknown, unknown>, TableChanges<unknown, unknown>],
  call: string,
): void {
  requireTable(factory, tables[1], call)
  if (tables.every(({ scope }) => scope !== 'global')) return
  throw new WeirError(
    'INVALID_GRAPH',
    `${call}(...) of tables got a table with scope: 'global', which only streams join: a join of tables is made where the rows of a key are, so make the table with scope: 'keyed'`,
  )
}
