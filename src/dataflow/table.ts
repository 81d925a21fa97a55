import { WeirError } from '../core/errors.ts'
import { aFunction, name, objectWith, oneOf, required, wholeNumber } from '../core/options/kinds.ts'
import { serializer } from '../core/options/ports.ts'
import { checkOptions, type OptionShape } from '../core/options/shape.ts'
import type { Serializer } from '../core/serializer.ts'
import { refuseArgument } from '../core/text/refuse-argument.ts'
import { MapOperator } from '../operators/basic/map.ts'
import { DelayedCoProcessOperator } from '../operators/joins/delayed-co-process.ts'
import { versionsState } from '../operators/joins/row-versions.ts'
import {
  GlobalTableJoin,
  KeyedTableJoin,
  type RowChange,
  type TableJoin,
} from '../operators/joins/table-join.ts'
import { type TemporalReach, TemporalTableJoin } from '../operators/joins/temporal-join.ts'
import { type OutputTag, outputTag } from '../operators/port/output-tag.ts'
import { type MapStateDescriptor, mapState, valueState } from '../state/port/descriptors.ts'
import { BroadcastConnectedStream, BroadcastStream } from './broadcast-stream.ts'
import { requireFunction } from './checks/function-argument.ts'
import { FUNCTION_USES } from './checks/function-uses.ts'
import { requireStream } from './checks/stream-argument.ts'
import { KeyedConnectedStreams, secondInput } from './connected-streams.ts'
import type { DataStream } from './data-stream.ts'
import { hashed, type StreamOrigin } from './graph-draft.ts'
import { plainKeySerializer } from './key-serializer.ts'
import { NodeSettingsBase } from './node-settings.ts'
import type { StreamFactory } from './stream-factory.ts'
import { noWatermarks, type WatermarkStrategy } from './watermark-strategy.ts'

/** Options of a table. */
export interface TableOptions<T, K, V> {
  /** The key of a row. A record for which it returns null or undefined fails (`onError` of the table). */
  readonly keyOf: (record: T) => K
  /** The value of the row; null deletes the row, as a tombstone of a compacted topic does. @default the record */
  readonly rowOf?: (record: T) => V | null
  /** @default plain values: text, numbers, booleans and tuples of them */
  readonly keySerializer?: Serializer<K>
  /** Encodes the values of rows. @default MessagePack */
  readonly serializer?: Serializer<V>
  /**
   * `keyed`: each subtask has the rows of its keys, and a stream is partitioned by the key of the table. `global`: each
   * subtask has all rows, and a stream stays where it is. @default keyed
   */
  readonly scope?: 'keyed' | 'global'
  /** Event time of the changes of rows, for joins with `wait: 'event-time'`; others take no notice. @default none */
  readonly watermarks?: WatermarkStrategy<T>
  /** Name of the operator. @default Table */
  readonly name?: string
}

const TABLE: OptionShape<TableOptions<unknown, unknown, unknown>> = {
  keyOf: required(aFunction()),
  rowOf: aFunction(),
  keySerializer: serializer<unknown>(),
  serializer: serializer<unknown>(),
  scope: oneOf('keyed', 'global'),
  watermarks: objectWith('a watermark strategy: boundedOutOfOrderness(1_000)', 'timestampOf'),
  name,
}

/** Options of a join of a stream with a table. */
export interface TableJoinOptions<T = never> {
  /** `inner`: a record without a row has no result and is counted (`numRecordsWithoutRow`). @default inner */
  readonly type?: 'inner' | 'left'
  /**
   * `loaded`: no record of the stream is read before the table has reached the end that its sources had when the attempt
   * started, also after a restore. `nothing`: each record meets the rows that have come. `event-time`: each record meets the
   * version of its row that was valid at its event time, and waits until the watermarks of both say that it is known.
   * @default loaded
   */
  readonly wait?: 'loaded' | 'nothing' | 'event-time'
  /** With `event-time`, how long after the watermark a record waits for late changes, ms of event time. @default 0 */
  readonly graceMs?: number
  /**
   * With `event-time`, how long versions stay for records that come late, ms of event time behind the watermark and the
   * grace period. @default 0
   */
  readonly historyMs?: number
  /** With `event-time`, the side output of records that come later; without it they are counted as dropped. */
  readonly lateRecords?: OutputTag<T>
}

const TABLE_JOIN: OptionShape<TableJoinOptions<unknown>> = {
  type: oneOf('inner', 'left'),
  wait: oneOf('loaded', 'nothing', 'event-time'),
  graceMs: wholeNumber({ min: 0 }),
  historyMs: wholeNumber({ min: 0 }),
  lateRecords: outputTag<unknown>(),
}

/** The latest value of each key of a stream, which other streams join. */
export class Table<K, V> extends NodeSettingsBase {
  readonly origins: readonly StreamOrigin[]
  readonly scope: 'keyed' | 'global'
  readonly keySerializer: Serializer<K>
  readonly valueSerializer: Serializer<V> | undefined

  /** For the classes of this folder; jobs get tables from an environment. */
  constructor(changes: DataStream<RowChange<K, V>>, options: TableOptions<never, K, V>) {
    super(changes.origins)
    this.origins = changes.origins
    this.scope = options.scope ?? 'keyed'
    this.keySerializer =
      options.keySerializer ?? (plainKeySerializer() as Serializer<unknown> as Serializer<K>)
    this.valueSerializer = options.serializer
  }
}

/** The strategy of the source of a table. Throws INVALID_ARGUMENT. */
export function watermarksOfTable<T, K, V>(options: TableOptions<T, K, V>): WatermarkStrategy<T> {
  checkOptions('table', TABLE as OptionShape<TableOptions<T, K, V>>, options)
  return options.watermarks ?? noWatermarks()
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
  const changes = factory.add<RowChange<K, V>>(
    {
      name: operator,
      inputs: 1,
      body: () => ({ kind: 'operator', create: () => new MapOperator(changeOf) }),
    },
    [stream.origins],
  )
  return new Table<K, V>(changes, options as TableOptions<never, K, V>)
}

function missingKey(operator: string, key: string): WeirError {
  return new WeirError(
    'INVALID_ARGUMENT',
    `keyOf of table "${operator}" returned ${key} for a record: each row needs a key; leave such records out with filter before the table, or with onError('skip') of the table`,
  )
}

/** What `joinTable` of a stream was given. */
export interface TableJoinCall<T, K, V, OUT> {
  readonly table: Table<K, V>
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
  requireStream(table, factory.draft, 'joinTable')
  if (!(table instanceof Table)) refuseArgument('joinTable(...)', table, 'a table: env.table(...)')
  requireFunction(keyOf, FUNCTION_USES.joinTable)
  requireFunction(join, FUNCTION_USES.joinTable)
  const how: TableJoin<T, K, V, OUT> = { keyOf, join, isLeft: options.type === 'left' }
  if (options.wait === 'event-time') {
    return joinVersions(factory, [origins, table.origins], { table, how, options })
  }
  refuseTimes(options)
  const wait = options.wait === 'nothing' ? {} : ({ wait: 'loaded' } as const)
  return table.scope === 'global'
    ? joinGlobal(factory, [origins, secondInput(table.origins, wait)], { table, how })
    : joinKeyed(factory, [origins, secondInput(table.origins, wait)], { table, how })
}

interface Joined<T, K, V, OUT> {
  readonly table: Table<K, V>
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
      hashed<K, RowChange<K, V>>(changes, {
        selector: ({ key }) => key,
        serializer: keySerializer,
      }),
    ],
  )
}

function joinKeyed<T, K, V, OUT>(
  factory: StreamFactory,
  [stream, changes]: readonly [readonly StreamOrigin[], readonly StreamOrigin[]],
  { table, how }: Joined<T, K, V, OUT>,
): DataStream<OUT> {
  const { keySerializer, valueSerializer } = table
  const inputs = [
    hashed<K, T>(stream, { selector: how.keyOf, serializer: keySerializer }),
    hashed<K, RowChange<K, V>>(changes, { selector: ({ key }) => key, serializer: keySerializer }),
  ] as const
  const row = valueState<V>('row', valueSerializer && { serializer: valueSerializer })
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
