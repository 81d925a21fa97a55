import { kindOf, optional } from '../core/options/kinds.ts'
import { checkArgument } from '../core/options/shape.ts'
import type { Serializer } from '../core/serializer.ts'
import type { CollectedResults } from '../operators/basic/collected-results.ts'
import { FieldFolds } from '../operators/basic/field-folds.ts'
import type { FlatMapFunction } from '../operators/basic/flat-map.ts'
import { LatestValueOperator } from '../operators/basic/latest-value.ts'
import type { Synchronous } from '../operators/basic/map.ts'
import {
  type FoldingDescriptor,
  QueryableStateOperator,
} from '../operators/basic/queryable-state.ts'
import { ReduceOperator } from '../operators/basic/reduce.ts'
import type { FeatureDefinition } from '../operators/features/definition.ts'
import type { FeatureOptions } from '../operators/features/plan.ts'
import type { StreamOperator } from '../operators/port/operator.ts'
import type { Sink } from '../operators/port/sink.ts'
import type { KeyedFunctionContext, KeyedProcessFunction } from '../operators/process/function.ts'
import { KeyedProcessOperator } from '../operators/process/keyed-process.ts'
import type {
  RichFilterFunction,
  RichFlatMapFunction,
  RichMapFunction,
  RichReduceFunction,
} from '../operators/process/rich-function.ts'
import { countWindows, type WindowAssigner } from '../operators/windows/assigner.ts'
import { type ValueStateDescriptor, valueState } from '../state/port/descriptors.ts'
import { BroadcastStream, KeyedBroadcastConnectedStream } from './broadcast-stream.ts'
import { requireFunction } from './checks/function-argument.ts'
import { sampleOf } from './checks/function-factory.ts'
import { FUNCTION_USES } from './checks/function-uses.ts'
import { requireName } from './checks/name-argument.ts'
import { requireSerializer } from './checks/object-argument.ts'
import { refuseHalfKeyed, requireStream } from './checks/stream-argument.ts'
import { type ConnectOptions, KeyedConnectedStreams, secondInput } from './connected-streams.ts'
import type { DataStream } from './data-stream.ts'
import { FeatureStream } from './feature-stream.ts'
import { commonSerializer, hashed, type Keying, type StreamOrigin } from './graph-draft.ts'
import { IntervalJoin } from './joined-streams.ts'
import { DataStreamSink } from './node-settings.ts'
import { inspectFunction, type TransformOptions, transformSpec } from './node-spec.ts'
import type { StreamFactory } from './stream-factory.ts'
import { WindowedStream } from './windowed-stream.ts'

/** A stream by key: all records of a key go to the same subtask. */
const DESCRIPTOR = kindOf<object>(
  "a descriptor of state, such as valueState('last')",
  (given) => typeof (given as { readonly kind?: unknown } | null)?.kind === 'string',
)

export class KeyedStream<K, T> extends FieldFolds<T, DataStream<T>> {
  /** Gives the canonical bytes of a key. */
  readonly keySerializer: Serializer<K>
  /** For the classes of this folder. */
  readonly origins: readonly StreamOrigin[]
  /** The type of the records, for the compiler only. */
  declare readonly recordType: T
  /** For the classes of the streams. */
  readonly factory: StreamFactory

  constructor(factory: StreamFactory, origins: readonly StreamOrigin[], keying: Keying<K, T>) {
    super()
    this.factory = factory
    requireSerializer(keying.serializer, 'keyBy')
    this.keySerializer = keying.serializer
    this.origins = hashed(origins, keying)
  }

  /** Runs a function with state and timers per key; `create` makes one for every subtask. */
  process<OUT>(create: () => KeyedProcessFunction<K, T, OUT>): DataStream<OUT> {
    const keys = this.keySerializer
    return this.factory.add(
      {
        inputs: 1,
        needsKey: true,
        ...inspectFunction(create, {
          call: 'process',
          operator: 'KeyedProcess',
          methods: ['processElement'],
        }),
        body: ({ eventTime }) => ({
          kind: 'operator',
          create: () => new KeyedProcessOperator(create(), keys, eventTime),
        }),
      },
      [this.origins],
    )
  }

  /** One result per record, in the subtask that owns its key. */
  map<OUT>(map: (value: T) => Synchronous<OUT>): DataStream<OUT> {
    return this.asDataStream().map<OUT>(map)
  }

  /** Keeps the records for which the predicate holds, in the subtask that owns their key. */
  filter(predicate: (value: T) => boolean): DataStream<T> {
    return this.asDataStream().filter(predicate)
  }

  /** Any number of results per record, in the subtask that owns its key. */
  flatMap<OUT>(flatMap: FlatMapFunction<T, OUT>): DataStream<OUT> {
    return this.asDataStream().flatMap(flatMap)
  }

  /** As `map`, with a function that is opened and closed and can have state of the key. */
  richMap<OUT>(create: () => RichMapFunction<T, OUT, KeyedFunctionContext>): DataStream<OUT> {
    return this.asDataStream().richMap(create)
  }

  /** As `filter`, with a function that is opened and closed and can have state of the key. */
  richFilter(create: () => RichFilterFunction<T, KeyedFunctionContext>): DataStream<T> {
    return this.asDataStream().richFilter(create)
  }

  /** As `flatMap`, with a function that is opened and closed and can have state of the key. */
  richFlatMap<OUT>(
    create: () => RichFlatMapFunction<T, OUT, KeyedFunctionContext>,
  ): DataStream<OUT> {
    return this.asDataStream().richFlatMap(create)
  }

  /** Emits for each record the reduction of all records of its key so far. */
  reduce(reduce: (a: T, b: T) => T): DataStream<T> {
    requireFunction(reduce, FUNCTION_USES.reduce)
    return this.reduced((serializer) => new ReduceOperator(reduce, serializer))
  }

  protected foldInParts(fold: (a: T, b: T) => T): DataStream<T> {
    return this.reduce(fold)
  }

  /** As `reduce`, with a function that is opened and closed; `create` makes one for every subtask. */
  richReduce(create: () => RichReduceFunction<T, KeyedFunctionContext>): DataStream<T> {
    sampleOf(create, { call: 'richReduce', operator: 'Reduce', methods: ['reduce'] })
    return this.reduced((serializer) => new ReduceOperator(create(), serializer))
  }

  /**
   * Joins the records of this stream with those of another one whose key is the same and whose event time
   * is near: `between` says how near.
   */
  intervalJoin<B>(other: KeyedStream<K, B>): IntervalJoin<K, T, B> {
    const { factory, keySerializer } = this
    requireStream(other, factory.draft, 'intervalJoin')
    if (!(other instanceof KeyedStream)) refuseHalfKeyed('intervalJoin')
    return new IntervalJoin(factory, [this.origins, other.origins], keySerializer)
  }

  /**
   * Windows of `size` records of a key, a new one after each `slide` records. Throws INVALID_ARGUMENT. See
   * `countWindows`.
   */
  countWindow(size: number, slide: number = size): WindowedStream<K, T> {
    return this.window(countWindows(size, slide))
  }

  /** Assigns the records of each key to windows. */
  window(assigner: WindowAssigner): WindowedStream<K, T> {
    const { factory, origins, keySerializer } = this
    const serializer = commonSerializer(origins)
    return new WindowedStream<K, T>({ factory, origins, keySerializer, serializer }, assigner)
  }

  /** Reads in one function this stream and another one, which is keyed by the same type or broadcast. */
  connect<B>(
    other: BroadcastStream<B>,
    options?: ConnectOptions,
  ): KeyedBroadcastConnectedStream<K, T, B>
  connect<B>(other: KeyedStream<K, B>, options?: ConnectOptions): KeyedConnectedStreams<K, T, B>
  connect<B>(
    other: BroadcastStream<B> | KeyedStream<K, B>,
    options: ConnectOptions = {},
  ): KeyedBroadcastConnectedStream<K, T, B> | KeyedConnectedStreams<K, T, B> {
    const { factory, keySerializer } = this
    requireStream(other, factory.draft, 'connect')
    const inputs = [this.origins, secondInput(other.origins, options)] as const
    if (other instanceof KeyedStream)
      return new KeyedConnectedStreams(factory, inputs, keySerializer)
    if (!(other instanceof BroadcastStream)) refuseHalfKeyed('connect')
    const { states } = other
    return new KeyedBroadcastConnectedStream(factory, inputs, { states, keySerializer })
  }

  /**
   * Lets clients query this stream under `queryableName`: the latest record of each key, or the result of a
   * reducing or aggregating descriptor over all its records.
   */
  asQueryableState(
    queryableName: string,
    descriptor?: ValueStateDescriptor<T> | FoldingDescriptor<T>,
  ): DataStreamSink {
    requireName(queryableName, 'asQueryableState')
    checkArgument('asQueryableState', 'descriptor', optional(DESCRIPTOR), descriptor)
    const serializer = commonSerializer(this.origins) as Serializer<T>
    const given = descriptor ?? valueState<T>(queryableName, { serializer })
    const queryable = { ...given, queryableName }
    const create = (): StreamOperator =>
      queryable.kind === 'value'
        ? new LatestValueOperator(queryable)
        : new QueryableStateOperator(queryable)
    const node = this.factory.draft.addNode(
      {
        name: `Queryable: ${queryableName}`,
        inputs: 1,
        needsKey: true,
        isSink: true,
        isStore: true,
        body: () => ({ kind: 'operator', create }),
      },
      [this.origins],
    )
    return new DataStreamSink(node)
  }

  /**
   * One row of features for each key, over sliding windows of event time: queryable, and with the events of the stream.
   * Throws INVALID_ARGUMENT.
   */
  features<D extends FeatureDefinition<T>>(
    definition: D,
    options: FeatureOptions = {},
  ): FeatureStream<T, D> {
    return new FeatureStream(this.factory, this.origins, { definition, options })
  }

  /** Runs an operator that the user wrote, with the key of each record selected in its keyed state. */
  transform<OUT>(
    name: string,
    create: () => StreamOperator,
    options: TransformOptions<OUT> = {},
  ): DataStream<OUT> {
    return this.factory.add(transformSpec({ name, inputs: 1, create, options }), [this.origins])
  }

  /** Writes the stream to a sink. One writer gets all records of a key, in order. */
  sinkTo(sink: Sink<T>): DataStreamSink {
    return this.asDataStream().sinkTo(sink)
  }

  /** As `print` of a stream without keys. */
  print(prefix?: string): DataStreamSink {
    return this.asDataStream().print(prefix)
  }

  /** As `print`, to standard error. */
  printToErr(prefix?: string): DataStreamSink {
    return this.asDataStream().printToErr(prefix)
  }

  /** As `executeAndCollect` of a stream without keys. Throws ILLEGAL_STATE. */
  executeAndCollect(jobName?: string): CollectedResults<T>
  executeAndCollect(jobName: string, limit: number): Promise<T[]>
  executeAndCollect(jobName?: string, limit?: number): CollectedResults<T> | Promise<T[]> {
    const stream = this.asDataStream()
    return limit === undefined
      ? stream.executeAndCollect(jobName)
      : stream.executeAndCollect(jobName!, limit)
  }

  private reduced(create: (serializer: Serializer<T>) => StreamOperator): DataStream<T> {
    const serializer = commonSerializer(this.origins)
    return this.factory.add(
      {
        name: 'Reduce',
        inputs: 1,
        needsKey: true,
        serializer,
        body: () => ({
          kind: 'operator',
          create: () => create(serializer as Serializer<T>),
        }),
      },
      [this.origins],
    )
  }

  private asDataStream(): DataStream<T> {
    return this.factory.stream(this.origins)
  }
}
