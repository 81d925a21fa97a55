import type { Serializer } from '../core/serializer.ts'
import { FilterOperator } from '../operators/filter-operator.ts'
import { type FlatMapFunction, FlatMapOperator } from '../operators/flat-map-operator.ts'
import { MapOperator } from '../operators/map-operator.ts'
import type { StreamOperator } from '../operators/operator.ts'
import type { OutputTag } from '../operators/output-tag.ts'
import type { ProcessFunction } from '../operators/process-function.ts'
import { ProcessOperator } from '../operators/process-operator.ts'
import type { Sink } from '../operators/sink.ts'
import { SinkOperator } from '../operators/sink-operator.ts'
import { TimestampsAndWatermarksOperator } from '../operators/timestamps-and-watermarks-operator.ts'
import type { MapStateDescriptor } from '../state/descriptors.ts'
import {
  BroadcastConnectedStream,
  type BroadcastDescriptors,
  BroadcastStream,
} from './broadcast-stream.ts'
import { ConnectedStreams } from './connected-streams.ts'
import { DataStreamSink } from './data-stream-sink.ts'
import { inspectFunction } from './function-spec.ts'
import {
  commonSerializer,
  type GraphDraft,
  type NodeDraft,
  type NodeSpec,
  type StreamOrigin,
} from './graph-draft.ts'
import { type PlainKey, plainKeySerializer } from './key-serializer.ts'
import { KeyedStream } from './keyed-stream.ts'
import { NodeSettingsBase } from './node-settings.ts'
import type { Partitioning } from './stream-graph.ts'
import type { WatermarkStrategy } from './watermark-strategy.ts'

/** Options of an operator of one's own. */
export interface TransformOptions<OUT> {
  /** Encodes its results where they cross slots. @default MessagePack */
  readonly serializer?: Serializer<OUT>
  /** Whether it uses keyed state; the graph is refused if its input is not keyed. @default false */
  readonly needsKey?: boolean
  /** Whether it ends the branch. @default false */
  readonly isSink?: boolean
  /** Ids of the side outputs it emits to. @default any */
  readonly sideOutputs?: readonly string[]
}

/** A stream of records of one type. */
export class DataStream<T> extends NodeSettingsBase {
  private readonly draft: GraphDraft
  /** For the classes of this folder. */
  readonly origins: readonly StreamOrigin[]
  /** For the compiler: which type the records have. */
  declare readonly recordType: T

  /** For the classes of this folder; jobs get streams from an environment. */
  constructor(draft: GraphDraft, origins: readonly StreamOrigin[]) {
    super(origins)
    this.draft = draft
    this.origins = origins
  }

  /** One result per record. */
  map<OUT>(map: (value: T) => OUT): DataStream<OUT> {
    return this.operator('Map', () => new MapOperator(map))
  }

  /** Keeps the records for which the predicate holds. */
  filter<S extends T>(predicate: (value: T) => value is S): DataStream<S>
  filter(predicate: (value: T) => boolean): DataStream<T>
  filter(predicate: (value: T) => boolean): DataStream<T> {
    return this.operator(
      'Filter',
      () => new FilterOperator(predicate),
      commonSerializer(this.origins),
    )
  }

  /** Any number of results per record, returned or given to the collector. */
  flatMap<OUT>(flatMap: FlatMapFunction<T, OUT>): DataStream<OUT> {
    return this.operator('FlatMap', () => new FlatMapOperator(flatMap))
  }

  /** Runs a function of one's own; the factory makes one for every subtask. */
  process<OUT>(create: () => ProcessFunction<T, OUT>): DataStream<OUT> {
    return this.add({
      name: 'Process',
      inputs: 1,
      ...inspectFunction(create),
      body: () => ({ kind: 'operator', create: () => new ProcessOperator(create()) }),
    })
  }

  /** Runs an operator of one's own; the factory makes one for every subtask. */
  transform<OUT>(
    name: string,
    create: () => StreamOperator,
    options: TransformOptions<OUT> = {},
  ): DataStream<OUT> {
    return this.add(transformSpec(name, 1, create, options))
  }

  /** Gives records new timestamps and makes watermarks that follow them. */
  assignTimestampsAndWatermarks(strategy: WatermarkStrategy<T>): DataStream<T> {
    return this.add({
      name: 'TimestampsAndWatermarks',
      inputs: 1,
      serializer: commonSerializer(this.origins),
      makesWatermarks: strategy.outOfOrdernessMs !== undefined,
      body: () => ({
        kind: 'operator',
        create: () => new TimestampsAndWatermarksOperator(strategy),
      }),
    })
  }

  /**
   * Groups records by key: what follows has state and timers per key. A key is a string, number,
   * boolean, bigint or tuple of these; another type needs a serializer whose bytes are canonical
   * (`rawKeySerializer` for bytes).
   */
  keyBy<K extends PlainKey>(
    selector: (value: T) => K,
    serializer?: Serializer<K>,
  ): KeyedStream<K, T>
  keyBy<K>(selector: (value: T) => K, serializer: Serializer<K>): KeyedStream<K, T>
  keyBy<K>(selector: (value: T) => K, serializer?: Serializer<K>): KeyedStream<K, T> {
    const keys = serializer ?? (plainKeySerializer() as Serializer<unknown> as Serializer<K>)
    return new KeyedStream<K, T>(this.draft, this.origins, selector, keys)
  }

  /**
   * As `keyBy`, for a stream whose records are in the subtask that owns their key group already, as
   * those of a topic are that was written and is read by key groups: nothing is exchanged between
   * slots. A record elsewhere fails the job with WRONG_PARTITIONING, so no state is ever split.
   */
  reinterpretAsKeyedStream<K extends PlainKey>(
    selector: (value: T) => K,
    serializer?: Serializer<K>,
  ): KeyedStream<K, T>
  reinterpretAsKeyedStream<K>(
    selector: (value: T) => K,
    serializer: Serializer<K>,
  ): KeyedStream<K, T>
  reinterpretAsKeyedStream<K>(
    selector: (value: T) => K,
    serializer?: Serializer<K>,
  ): KeyedStream<K, T> {
    const keys = serializer ?? (plainKeySerializer() as Serializer<unknown> as Serializer<K>)
    return new KeyedStream<K, T>(this.draft, this.origins, selector, keys, true)
  }

  /** Writes the stream to a sink. */
  sinkTo(sink: Sink<T>): DataStreamSink {
    const node = this.draft.addNode(
      {
        name: 'Sink',
        inputs: 1,
        isSink: true,
        body: ({ jobName }) => ({
          kind: 'operator',
          create: () => new SinkOperator(sink as Sink<unknown>, jobName),
        }),
      },
      [this.origins],
    )
    return new DataStreamSink(node)
  }

  /** Says that nobody is meant to read this stream: its operator works for state alone. */
  discard(): DataStreamSink {
    const node = this.node()
    node.discarded = true
    return new DataStreamSink(node)
  }

  /** The records that the operator of this stream emitted to a side output. */
  getSideOutput<S>(tag: OutputTag<S>): DataStream<S> {
    const node = this.node()
    this.draft.sideStreams.push({ node, tag: tag })
    return new DataStream<S>(this.draft, [{ node, tag: tag, partitioning: undefined }])
  }

  /** One stream of the records of all, in no particular order between them. */
  union(...others: readonly DataStream<T>[]): DataStream<T> {
    const origins = [this, ...others].flatMap((stream) => stream.origins)
    return new DataStream<T>(this.draft, origins)
  }

  /** Reads this stream and another in one function. */
  connect<B>(other: BroadcastStream<B>): BroadcastConnectedStream<T, B>
  connect<B>(other: DataStream<B>): ConnectedStreams<T, B>
  connect<B>(
    other: BroadcastStream<B> | DataStream<B>,
  ): BroadcastConnectedStream<T, B> | ConnectedStreams<T, B> {
    const inputs = [this.origins, other.origins] as const
    return other instanceof DataStream
      ? new ConnectedStreams(this.draft, inputs)
      : new BroadcastConnectedStream(this.draft, inputs, other.states)
  }

  /**
   * Sends every record to every subtask. With descriptors the result is for `connect`: the function
   * there fills the declared broadcast state.
   */
  broadcast(): DataStream<T>
  broadcast(
    ...states: readonly [MapStateDescriptor<unknown, unknown>, ...BroadcastDescriptors]
  ): BroadcastStream<T>
  broadcast(...states: BroadcastDescriptors): DataStream<T> | BroadcastStream<T> {
    if (states.length === 0) return this.partitioned({ kind: 'broadcast' })
    return new BroadcastStream<T>(this.origins, states)
  }

  /** Spreads the records evenly over the next operator's subtasks. */
  rebalance(): DataStream<T> {
    return this.partitioned({ kind: 'rebalance' })
  }

  /** Keeps the records in the subtask of the same number. */
  forward(): DataStream<T> {
    return this.partitioned({ kind: 'forward' })
  }

  /** Sets the serializer of this stream's records. */
  returns(serializer: Serializer<T>): this {
    for (const origin of this.origins) origin.node.serializer = serializer as Serializer<unknown>
    return this
  }

  private partitioned(partitioning: Partitioning): DataStream<T> {
    return new DataStream<T>(
      this.draft,
      this.origins.map((origin) => ({ ...origin, partitioning })),
    )
  }

  private operator<OUT>(
    name: string,
    create: () => StreamOperator,
    serializer?: Serializer<unknown>,
  ): DataStream<OUT> {
    return this.add({
      name,
      inputs: 1,
      body: () => ({ kind: 'operator', create }),
      ...(serializer === undefined ? {} : { serializer }),
    })
  }

  private add<OUT>(spec: NodeSpec): DataStream<OUT> {
    return streamOf<OUT>(this.draft, this.draft.addNode(spec, [this.origins]))
  }
}

/** The main output of a node. */
export function streamOf<T>(draft: GraphDraft, node: NodeDraft): DataStream<T> {
  return new DataStream<T>(draft, [{ node, tag: undefined, partitioning: undefined }])
}

/** What a node with an operator of the user's own is. */
export function transformSpec<OUT>(
  name: string,
  inputs: number,
  create: () => StreamOperator,
  options: TransformOptions<OUT>,
): NodeSpec {
  return {
    name,
    inputs,
    body: () => ({ kind: 'operator', create }),
    sideOutputs: options.sideOutputs ?? 'any',
    isSink: options.isSink ?? false,
    needsKey: options.needsKey ?? false,
    ...(options.serializer === undefined
      ? {}
      : { serializer: options.serializer as Serializer<unknown> }),
  }
}
