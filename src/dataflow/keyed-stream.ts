import type { Serializer } from '../core/serializer.ts'
import type { FlatMapFunction } from '../operators/flat-map-operator.ts'
import { KeyedProcessOperator } from '../operators/keyed-process-operator.ts'
import { LatestValueOperator } from '../operators/latest-value-operator.ts'
import type { StreamOperator } from '../operators/operator.ts'
import type { KeyedProcessFunction } from '../operators/process-function.ts'
import {
  type FoldingDescriptor,
  QueryableStateOperator,
} from '../operators/queryable-state-operator.ts'
import { ReduceOperator } from '../operators/reduce-operator.ts'
import type { Sink } from '../operators/sink.ts'
import type { WindowAssigner } from '../operators/window-assigner.ts'
import { type ValueStateDescriptor, valueState } from '../state/descriptors.ts'
import { type BroadcastStream, KeyedBroadcastConnectedStream } from './broadcast-stream.ts'
import { KeyedConnectedStreams } from './connected-streams.ts'
import { DataStream, streamOf, type TransformOptions, transformSpec } from './data-stream.ts'
import { DataStreamSink } from './data-stream-sink.ts'
import { inspectFunction } from './function-spec.ts'
import { commonSerializer, type GraphDraft, hashed, type StreamOrigin } from './graph-draft.ts'
import { WindowedStream } from './windowed-stream.ts'

/** A stream grouped by key: every record of a key goes to the same subtask. */
export class KeyedStream<K, T> {
  /** Gives the bytes of a record's key. */
  readonly keySerializer: Serializer<K>
  /** For the classes of this folder. */
  readonly origins: readonly StreamOrigin[]
  /** For the compiler: which type the records have. */
  declare readonly recordType: T
  private readonly draft: GraphDraft

  constructor(
    draft: GraphDraft,
    origins: readonly StreamOrigin[],
    selector: (value: T) => K,
    keySerializer: Serializer<K>,
    inPlace = false,
  ) {
    this.draft = draft
    this.keySerializer = keySerializer
    this.origins = hashed(origins, selector, keySerializer, inPlace)
  }

  /** Runs a function with state and timers per key; the factory makes one for every subtask. */
  process<OUT>(create: () => KeyedProcessFunction<K, T, OUT>): DataStream<OUT> {
    const keys = this.keySerializer
    const node = this.draft.addNode(
      {
        name: 'KeyedProcess',
        inputs: 1,
        needsKey: true,
        ...inspectFunction(create),
        body: ({ eventTime }) => ({
          kind: 'operator',
          create: () => new KeyedProcessOperator(create(), keys, eventTime),
        }),
      },
      [this.origins],
    )
    return streamOf<OUT>(this.draft, node)
  }

  /** One result per record, in the subtask that owns its key. */
  map<OUT>(map: (value: T) => OUT): DataStream<OUT> {
    return this.asDataStream().map(map)
  }

  /** Keeps the records for which the predicate holds, in the subtask that owns their key. */
  filter(predicate: (value: T) => boolean): DataStream<T> {
    return this.asDataStream().filter(predicate)
  }

  /** Any number of results per record, in the subtask that owns its key. */
  flatMap<OUT>(flatMap: FlatMapFunction<T, OUT>): DataStream<OUT> {
    return this.asDataStream().flatMap(flatMap)
  }

  /** Emits, after each record, the reduction of all records of its key so far. */
  reduce(reduce: (a: T, b: T) => T): DataStream<T> {
    const serializer = commonSerializer(this.origins)
    const node = this.draft.addNode(
      {
        name: 'Reduce',
        inputs: 1,
        needsKey: true,
        serializer,
        body: () => ({
          kind: 'operator',
          create: () => new ReduceOperator(reduce, serializer as Serializer<T>),
        }),
      },
      [this.origins],
    )
    return streamOf<T>(this.draft, node)
  }

  /** Cuts the records of each key into windows. */
  window(assigner: WindowAssigner): WindowedStream<K, T> {
    const { draft, origins, keySerializer } = this
    const serializer = commonSerializer(origins)
    return new WindowedStream<K, T>({ draft, origins, keySerializer, serializer }, assigner)
  }

  /** Reads this stream and another, keyed alike or broadcast, in one function. */
  connect<B>(other: BroadcastStream<B>): KeyedBroadcastConnectedStream<K, T, B>
  connect<B>(other: KeyedStream<K, B>): KeyedConnectedStreams<K, T, B>
  connect<B>(
    other: BroadcastStream<B> | KeyedStream<K, B>,
  ): KeyedBroadcastConnectedStream<K, T, B> | KeyedConnectedStreams<K, T, B> {
    const inputs = [this.origins, other.origins] as const
    return other instanceof KeyedStream
      ? new KeyedConnectedStreams(this.draft, inputs, this.keySerializer)
      : new KeyedBroadcastConnectedStream(this.draft, inputs, other.states, this.keySerializer)
  }

  /**
   * Lets clients query this stream under `queryableName`: the latest record of each key, or with a
   * reducing or aggregating descriptor what its records fold into.
   */
  asQueryableState(
    queryableName: string,
    descriptor?: ValueStateDescriptor<T> | FoldingDescriptor<T>,
  ): DataStreamSink {
    const serializer = commonSerializer(this.origins) as Serializer<T>
    const given = descriptor ?? valueState<T>(queryableName, { serializer })
    const queryable = { ...given, queryableName }
    const create = (): StreamOperator =>
      queryable.kind === 'value'
        ? new LatestValueOperator(queryable)
        : new QueryableStateOperator(queryable)
    const node = this.draft.addNode(
      {
        name: `Queryable: ${queryableName}`,
        inputs: 1,
        needsKey: true,
        isSink: true,
        body: () => ({ kind: 'operator', create }),
      },
      [this.origins],
    )
    return new DataStreamSink(node)
  }

  /** Runs an operator of one's own that finds the record's key selected in its keyed state. */
  transform<OUT>(
    name: string,
    create: () => StreamOperator,
    options: TransformOptions<OUT> = {},
  ): DataStream<OUT> {
    const node = this.draft.addNode(transformSpec(name, 1, create, options), [this.origins])
    return streamOf<OUT>(this.draft, node)
  }

  /** Writes the stream to a sink, records of a key in order through one writer. */
  sinkTo(sink: Sink<T>): DataStreamSink {
    return this.asDataStream().sinkTo(sink)
  }

  private asDataStream(): DataStream<T> {
    return new DataStream<T>(this.draft, this.origins)
  }
}
