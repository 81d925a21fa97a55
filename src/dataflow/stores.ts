import { WeirError } from '../core/errors.ts'
import type { PlainKey } from '../core/formats/plain-key.ts'
import { plainKeySerializer } from '../core/formats/plain-key-serializer.ts'
import { positiveMilliseconds, required } from '../core/options/kinds.ts'
import { serializer as serializerKind } from '../core/options/ports.ts'
import { checkOptions, type OptionShape } from '../core/options/shape.ts'
import {
  float64Serializer,
  int53Serializer,
  type Serializer,
  stringSerializer,
} from '../core/serializer.ts'
import type { RowChange } from '../operators/joins/table-join.ts'
import type { StreamOperator } from '../operators/port/operator.ts'
import { OutputTag } from '../operators/port/output-tag.ts'
import { KeyedProcessOperator } from '../operators/process/keyed-process.ts'
import { TableStore } from '../operators/stores/table-store.ts'
import { type WindowResult, windowResultSerializer } from '../operators/stores/window-result.ts'
import { StoredResults, WindowStore } from '../operators/stores/window-store.ts'
import { valueState } from '../state/port/descriptors.ts'
import { requireName } from './checks/name-argument.ts'
import type { DataStream } from './data-stream.ts'
import { hashed, type NodeDraft, type StreamOrigin } from './graph-draft.ts'
import { DataStreamSink } from './node-settings.ts'
import type { NodeSpec } from './node-spec.ts'
import type { StreamFactory } from './stream-factory.ts'
import type { TableChanges } from './table-joins.ts'
import type { WindowPlan } from './windows/plan.ts'

/** Options of `asQueryableState` of the results of windows. */
export interface WindowStoreOptions<R> {
  /** How long a result stays readable after the end of its window, in ms of the time of the windows. */
  readonly retainMs: number
  /** Encodes the results in state. @default that of the stream */
  readonly serializer?: Serializer<R>
}

const WINDOW_STORE: OptionShape<WindowStoreOptions<unknown>> = {
  retainMs: required(positiveMilliseconds),
  serializer: serializerKind<unknown>(),
}

/** The results of a fold of windows: a stream that clients can also read by key and window. */
export interface WindowResults<R> extends DataStream<R> {
  /**
   * Lets clients query the results under `queryableName`, each by the key and the start of its window:
   * `client.get(name, [key, windowStart])`, and of windows of all records `client.get(name, windowStart)`. A result that is
   * there when its window fires again is replaced. Throws INVALID_ARGUMENT, and INVALID_GRAPH for windows without a
   * start that stays: count windows, global windows, and sessions that fire more than once.
   */
  asQueryableState(queryableName: string, options: WindowStoreOptions<R>): DataStreamSink
}

/** The side output of windows that stores read. Each edge has a serializer of its own. */
const STORED = new OutputTag<WindowResult<unknown, unknown>>('weir-window-results')

/** What a store must know of windows. */
interface StoredWindows<K>
  extends Pick<WindowPlan<K, unknown>, 'keySerializer' | 'assigner' | 'allowedLatenessMs'> {
  readonly trigger: object | undefined
}

/** The stores of the results of one stream in windows, which may get some until the graph is complete. */
export class WindowStores<K, R> {
  private readonly plan: StoredWindows<K>
  private readonly factory: StreamFactory
  private readonly isOfAll: boolean
  private isAsked = false

  /** `isOfAll`: whether the windows are of all records, so that their results have no key. */
  constructor(plan: StoredWindows<K>, factory: StreamFactory, isOfAll: boolean) {
    this.plan = plan
    this.factory = factory
    this.isOfAll = isOfAll
  }

  /** The window function, where there are stores. */
  readonly windowFunction = (): StoredResults<K, R> | undefined =>
    this.isAsked ? new StoredResults<K, R>(STORED) : undefined

  /** The results with the call that adds a store. */
  of(stream: DataStream<R>): WindowResults<R> {
    return Object.assign(stream, {
      asQueryableState: (queryableName: string, options: WindowStoreOptions<R>) =>
        this.add(stream, queryableName, options),
    })
  }

  private add(
    stream: DataStream<R>,
    queryableName: string,
    options: WindowStoreOptions<R>,
  ): DataStreamSink {
    requireName(queryableName, 'asQueryableState')
    checkOptions('asQueryableState', WINDOW_STORE as OptionShape<WindowStoreOptions<R>>, options)
    requireStarts(queryableName, this.plan)
    const { keySerializer, assigner } = this.plan
    if (!PLAIN_KEYS.includes(keySerializer.id)) throw otherKeys(queryableName, keySerializer.id)
    const { node } = stream.origins[0]!
    const results = options.serializer ?? (node.serializer as Serializer<R>)
    const descriptor = {
      ...valueState<R>('results', { serializer: results, queryableName }),
      queryableKeys: this.isOfAll ? 'window' : 'key-and-window',
    } as const
    const { timeDomain } = assigner
    const { retainMs } = options
    const tag = new OutputTag(STORED.id, windowResultSerializer(keySerializer, results))
    const origin = { node, tag: tag as OutputTag<unknown>, partitioning: undefined }
    const selector = this.isOfAll
      ? ({ start }: WindowResult<PlainKey, R>): PlainKey => start
      : ({ key, start }: WindowResult<PlainKey, R>): PlainKey => [key, start]
    const keys = plainKeySerializer()
    this.isAsked = true
    const store = storeNode(this.factory, queryableName, {
      input: hashed([origin], { selector, serializer: keys }),
      create: (eventTime) =>
        new KeyedProcessOperator(
          new WindowStore<K, R>({ descriptor, timeDomain, retainMs }),
          keys,
          eventTime,
        ),
    })
    return new DataStreamSink(store)
  }
}

/** Ids of serializers whose keys can be a part of a tuple. */
const PLAIN_KEYS: readonly string[] = [
  plainKeySerializer().id,
  stringSerializer.id,
  int53Serializer.id,
  float64Serializer.id,
]

function otherKeys(queryableName: string, format: string): WeirError {
  return new WeirError(
    'INVALID_GRAPH',
    `asQueryableState("${queryableName}") of windows stores results by key and start of the window, but the keys have the serializer "${format}": let keyBy give texts, numbers, booleans or tuples`,
  )
}

/** Throws INVALID_GRAPH for windows whose start says nothing, or changes after a result. */
function requireStarts(
  queryableName: string,
  { assigner: { kind }, trigger, allowedLatenessMs }: Omit<StoredWindows<unknown>, 'keySerializer'>,
): void {
  const call = `asQueryableState("${queryableName}")`
  if (kind === 'count' || kind === 'global') {
    throw new WeirError(
      'INVALID_GRAPH',
      `${call} stores results by the start of their window, which ${kind} windows do not have: use keyBy(...).asQueryableState(...) of the results, which keeps the latest of each key`,
    )
  }
  if (kind === 'session' && (trigger !== undefined || allowedLatenessMs > 0)) {
    throw new WeirError(
      'INVALID_GRAPH',
      `${call} stores results by the start of their window, but sessions with a trigger or with allowed lateness may begin earlier after a result: leave these out, or use windows of fixed size`,
    )
  }
}

/** The rows of a table as queryable state. */
export function addTableStore<K, V>(
  factory: StreamFactory,
  table: TableChanges<K, V>,
  queryableName: string,
): void {
  const { origins, keySerializer, valueSerializer } = table
  const row = valueState<V>('row', {
    queryableName,
    ...(valueSerializer === undefined ? {} : { serializer: valueSerializer }),
  })
  const selector = ({ key }: RowChange<K, V>): K => key
  const node = storeNode(factory, queryableName, {
    input: hashed(origins, { selector, serializer: keySerializer }),
    create: (eventTime) =>
      new KeyedProcessOperator(new TableStore<K, V>(row), keySerializer, eventTime),
  })
  // Its uid follows from that of the table.
  node.isPart = true
}

/** What a store reads, and its operator. */
interface Store {
  readonly input: readonly StreamOrigin[]
  readonly create: (eventTime: boolean) => StreamOperator
}

function storeNode(
  factory: StreamFactory,
  queryableName: string,
  { input, create }: Store,
): NodeDraft {
  const body: NodeSpec['body'] = ({ eventTime }) => ({
    kind: 'operator',
    create: () => create(eventTime),
  })
  const kind = { inputs: 1, needsKey: true, isSink: true, isStore: true } as const
  return factory.draft.addNode({ name: `Queryable: ${queryableName}`, ...kind, body }, [input])
}
