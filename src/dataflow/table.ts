import { WeirError } from '../core/errors.ts'
import { aFunction, name, oneOf, required } from '../core/options/kinds.ts'
import { serializer } from '../core/options/ports.ts'
import { checkOptions, type OptionShape } from '../core/options/shape.ts'
import type { Serializer } from '../core/serializer.ts'
import { refuseArgument } from '../core/text/refuse-argument.ts'
import { MapOperator } from '../operators/basic/map.ts'
import {
  GlobalTableJoin,
  KeyedTableJoin,
  type RowChange,
  type TableJoin,
} from '../operators/joins/table-join.ts'
import { KeyedProcessOperator } from '../operators/process/keyed-process.ts'
import { TableStore } from '../operators/stores/table-store.ts'
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
  /**
   * Lets clients query the rows under this name. They are in state of their own, once and by key, whatever the scope and the
   * joins of the table. @default clients cannot query them
   */
  readonly queryableName?: string
  /** Name of the operator. @default Table */
  readonly name?: string
}

const TABLE: OptionShape<TableOptions<unknown, unknown, unknown>> = {
  keyOf: required(aFunction()),
  rowOf: aFunction(),
  keySerializer: serializer<unknown>(),
  serializer: serializer<unknown>(),
  scope: oneOf('keyed', 'global'),
  queryableName: name,
  name,
}

/** Options of a join of a stream with a table. */
export interface TableJoinOptions {
  /** `inner`: a record without a row has no result and is counted (`numRecordsWithoutRow`). @default inner */
  readonly type?: 'inner' | 'left'
  /**
   * `loaded`: no record of the stream is read before the table has reached the end that its sources had when the attempt
   * started, also after a restore. `nothing`: each record meets the rows that have come. @default loaded
   */
  readonly wait?: 'loaded' | 'nothing'
}

const TABLE_JOIN: OptionShape<TableJoinOptions> = {
  type: oneOf('inner', 'left'),
  wait: oneOf('loaded', 'nothing'),
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
  const table = new Table<K, V>(changes, options as TableOptions<never, K, V>)
  if (options.queryableName !== undefined) addStore(factory, table, options.queryableName)
  return table
}

/** The rows of a table as queryable state. */
function addStore<K, V>(factory: StreamFactory, table: Table<K, V>, queryableName: string): void {
  const { origins, keySerializer, valueSerializer } = table
  const row = valueState<V>('row', {
    queryableName,
    ...(valueSerializer === undefined ? {} : { serializer: valueSerializer }),
  })
  const selector = ({ key }: RowChange<K, V>): K => key
  const node = factory.draft.addNode(
    {
      name: `Queryable: ${queryableName}`,
      inputs: 1,
      needsKey: true,
      isSink: true,
      isStore: true,
      body: ({ eventTime }) => ({
        kind: 'operator',
        create: () => new KeyedProcessOperator(new TableStore<K, V>(row), keySerializer, eventTime),
      }),
    },
    [hashed(origins, { selector, serializer: keySerializer })],
  )
  // Its uid follows from that of the table.
  node.isPart = true
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
  readonly options: TableJoinOptions
}

/** The join of a stream with a table. Throws INVALID_ARGUMENT and INVALID_GRAPH. */
export function joinTable<T, K, V, OUT>(
  factory: StreamFactory,
  origins: readonly StreamOrigin[],
  { table, keyOf, join, options }: TableJoinCall<T, K, V, OUT>,
): DataStream<OUT> {
  checkOptions('joinTable', TABLE_JOIN, options)
  requireStream(table, factory.draft, 'joinTable')
  if (!(table instanceof Table)) refuseArgument('joinTable(...)', table, 'a table: env.table(...)')
  requireFunction(keyOf, FUNCTION_USES.joinTable)
  requireFunction(join, FUNCTION_USES.joinTable)
  const how: TableJoin<T, K, V, OUT> = { keyOf, join, isLeft: options.type === 'left' }
  const wait = options.wait === 'nothing' ? {} : ({ wait: 'loaded' } as const)
  return table.scope === 'global'
    ? joinGlobal(factory, [origins, secondInput(table.origins, wait)], { table, how })
    : joinKeyed(factory, [origins, secondInput(table.origins, wait)], { table, how })
}

interface Joined<T, K, V, OUT> {
  readonly table: Table<K, V>
  readonly how: TableJoin<T, K, V, OUT>
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
