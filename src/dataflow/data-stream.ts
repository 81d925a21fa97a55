import { type PlainKey, plainKeySerializer } from '../core/formats/plain-key-serializer.ts'
import type { Serializer } from '../core/serializer.ts'
import { CollectSink } from '../operators/basic/collect-sink.ts'
import { CollectedResults } from '../operators/basic/collected-results.ts'
import { FilterOperator } from '../operators/basic/filter.ts'
import { type FlatMapFunction, FlatMapOperator } from '../operators/basic/flat-map.ts'
import { MapOperator, type Synchronous } from '../operators/basic/map.ts'
import { PrintSink } from '../operators/basic/print-sink.ts'
import { SinkOperator } from '../operators/basic/sink.ts'
import { TimestampsAndWatermarksOperator } from '../operators/basic/timestamps-and-watermarks.ts'
import { type InferStreamOptions, inferStream } from '../operators/inference/infer-stream.ts'
import type { StreamOperator } from '../operators/port/operator.ts'
import { type OutputTag, requireTag } from '../operators/port/output-tag.ts'
import type { Sink } from '../operators/port/sink.ts'
import type { ProcessFunction } from '../operators/process/function.ts'
import { ProcessOperator } from '../operators/process/process.ts'
import type {
  RichFilterFunction,
  RichFlatMapFunction,
  RichMapFunction,
} from '../operators/process/rich-function.ts'
import { countWindows, type WindowAssigner } from '../operators/windows/assigner.ts'
import type { MapStateDescriptor } from '../state/port/descriptors.ts'
import {
  BroadcastConnectedStream,
  type BroadcastDescriptors,
  BroadcastStream,
} from './broadcast-stream.ts'
import { requireFunction } from './checks/function-argument.ts'
import { sampleOf } from './checks/function-factory.ts'
import { FUNCTION_USES, PROCESS } from './checks/function-uses.ts'
import { requireSerializer, requireSink } from './checks/object-argument.ts'
import { requireStrategyOfStream } from './checks/strategy-argument.ts'
import { refuseHalfKeyed, requireStream } from './checks/stream-argument.ts'
import { ConnectedStreams, type ConnectOptions, secondInput } from './connected-streams.ts'
import { commonSerializer, labelOf } from './graph-draft.ts'
import { CoGroupedWindows, JoinedWindows, PairedStreams } from './joined-streams.ts'
import { KeyedStream } from './keyed-stream.ts'
import { DataStreamSink } from './node-settings.ts'
import {
  inspectFunction,
  type NodeSpec,
  type TransformOptions,
  transformSpec,
} from './node-spec.ts'
import { PartitionedStream } from './partitioned-stream.ts'
import { type Table, tableOf } from './table.ts'
import { joinTable } from './table-joins.ts'
import type { TableJoinOptions, TableOptions } from './tables/options.ts'
import { makesWatermarks, type WatermarkStrategy } from './watermark-strategy.ts'
import { AllWindowedStream } from './windowed-stream.ts'

/** A stream of records of one type. The file is long because each operation is a short method of this class. */
export class DataStream<T> extends PartitionedStream<T> {
  /** One result per record. An asynchronous function does not compile (`Synchronous`). */
  map<OUT>(map: (value: T) => Synchronous<OUT>): DataStream<OUT> {
    requireFunction(map, FUNCTION_USES.map)
    return this.operator('Map', () => new MapOperator(map))
  }

  /** Keeps the records for which the predicate holds. */
  filter<S extends T>(predicate: (value: T) => value is S): DataStream<S>
  filter(predicate: (value: T) => boolean): DataStream<T>
  filter(predicate: (value: T) => boolean): DataStream<T> {
    requireFunction(predicate, FUNCTION_USES.filter)
    return this.operator(
      'Filter',
      () => new FilterOperator(predicate),
      commonSerializer(this.origins),
    )
  }

  /** Any number of results per record, which the function returns or passes to the collector. */
  flatMap<OUT>(flatMap: FlatMapFunction<T, OUT>): DataStream<OUT> {
    requireFunction(flatMap, FUNCTION_USES.flatMap)
    return this.operator('FlatMap', () => new FlatMapOperator(flatMap))
  }

  /** As `map`, with a function that is opened and closed; `create` makes one for every subtask. */
  richMap<OUT>(create: () => RichMapFunction<T, OUT>): DataStream<OUT> {
    sampleOf(create, { call: 'richMap', operator: 'Map', methods: ['map'] })
    return this.operator('Map', () => new MapOperator(create()))
  }

  /** As `filter`, with a function that is opened and closed; `create` makes one for every subtask. */
  richFilter(create: () => RichFilterFunction<T>): DataStream<T> {
    sampleOf(create, { call: 'richFilter', operator: 'Filter', methods: ['filter'] })
    const operator = (): StreamOperator => new FilterOperator(create())
    return this.operator('Filter', operator, commonSerializer(this.origins))
  }

  /** As `flatMap`, with a function that is opened and closed; `create` makes one for every subtask. */
  richFlatMap<OUT>(create: () => RichFlatMapFunction<T, OUT>): DataStream<OUT> {
    sampleOf(create, { call: 'richFlatMap', operator: 'FlatMap', methods: ['flatMap'] })
    return this.operator('FlatMap', () => new FlatMapOperator(create()))
  }

  /** Runs a function that the user wrote; `create` makes one for every subtask. */
  process<OUT>(create: () => ProcessFunction<T, OUT>): DataStream<OUT> {
    return this.add({
      inputs: 1,
      ...inspectFunction(create, PROCESS),
      body: () => ({ kind: 'operator', create: () => new ProcessOperator(create()) }),
    })
  }

  /**
   * Asks a served model about each record, many at the same time: `model` is a name, or a name and an alias
   * (`ranker@stable`). Watermarks, source progress and the end of input wait for the records before them. The
   * records without a result are part of a checkpoint, and a restored job asks for them again. The job needs a
   * repository (`weir run JOB --repository DIR`). Throws INVALID_ARGUMENT for options outside their range.
   */
  infer<OUT>(model: string, options: InferStreamOptions<T, OUT>): DataStream<OUT> {
    const serializer = options?.serializer
    const { sideOutputs, create } = inferStream(model, options, commonSerializer(this.origins))
    return this.add({
      name: `Infer ${model}`,
      inputs: 1,
      model,
      sideOutputs,
      body: () => ({ kind: 'operator', create }),
      ...(serializer === undefined ? {} : { serializer: serializer as Serializer<unknown> }),
    })
  }

  /** Runs an operator that the user wrote; `create` makes one for every subtask. */
  transform<OUT>(
    name: string,
    create: () => StreamOperator,
    options: TransformOptions<OUT> = {},
  ): DataStream<OUT> {
    return this.add(transformSpec({ name, inputs: 1, create, options }))
  }

  /** Gives records new timestamps, and makes watermarks from them. Throws INVALID_ARGUMENT for an alignment. */
  assignTimestampsAndWatermarks(strategy: WatermarkStrategy<T>): DataStream<T> {
    requireStrategyOfStream(strategy)
    return this.add({
      name: 'TimestampsAndWatermarks',
      inputs: 1,
      serializer: commonSerializer(this.origins),
      makesWatermarks: makesWatermarks(strategy),
      body: () => ({
        kind: 'operator',
        create: () => new TimestampsAndWatermarksOperator(strategy),
      }),
    })
  }

  /**
   * Groups records by key: the next operator has state and timers per key. A key is a string, number,
   * boolean, bigint or tuple of these. Another type needs a serializer whose bytes are canonical
   * (`rawKeySerializer` for bytes).
   */
  keyBy<K extends PlainKey>(
    selector: (value: T) => K,
    serializer?: Serializer<K>,
  ): KeyedStream<K, T>
  keyBy<K>(selector: (value: T) => K, serializer: Serializer<K>): KeyedStream<K, T>
  keyBy<K>(selector: (value: T) => K, serializer?: Serializer<K>): KeyedStream<K, T> {
    return this.keyed(selector, serializer)
  }

  /**
   * As `keyBy`, for a stream whose records are already in the subtask that owns their key group, such as
   * a topic that is written and read by key groups. Slots exchange nothing. A record in another subtask
   * fails the job with WRONG_PARTITIONING, so the state of a key is never in two places.
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
    return this.keyed(selector, serializer, true)
  }

  /**
   * Joins this stream with another one in windows:
   * `a.join(b).where(keyOfA).equalTo(keyOfB).window(assigner).apply((a, b) => result)`.
   */
  join<B>(other: DataStream<B>): PairedStreams<T, B, JoinedWindows<T, B>> {
    requireStream(other, this.factory.draft, 'join')
    return new PairedStreams(this, other, (windows) => new JoinedWindows(windows))
  }

  /** As `join`, for a function that gets all records of both streams of a key and window. */
  coGroup<B>(other: DataStream<B>): PairedStreams<T, B, CoGroupedWindows<T, B>> {
    requireStream(other, this.factory.draft, 'coGroup')
    return new PairedStreams(this, other, (windows) => new CoGroupedWindows(windows))
  }

  /**
   * Assigns all records to windows, whatever their key. One subtask gets all records: reduce a keyed window
   * first where there are many.
   */
  windowAll(assigner: WindowAssigner): AllWindowedStream<T> {
    const { origins, keySerializer } = this.keyBy(() => 0)
    const serializer = commonSerializer(origins)
    const input = { factory: this.factory, origins, keySerializer, serializer, single: true }
    return new AllWindowedStream<T>(input, assigner)
  }

  /** As `countWindow` of a keyed stream, for all records, which one subtask gets. */
  countWindowAll(size: number, slide: number = size): AllWindowedStream<T> {
    return this.windowAll(countWindows(size, slide))
  }

  /** Writes the stream to a sink. */
  sinkTo(sink: Sink<T>): DataStreamSink {
    requireSink(sink)
    const node = this.factory.draft.addNode(
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

  /**
   * Runs the job, and gives its results of this stream to the caller, who reads them with `for await`. The job waits
   * while the caller has 1,000 of them to read. To leave the loop cancels the job; a failure of the job is thrown to
   * the reader. After a restart, results may come twice. Throws ILLEGAL_STATE where the environment's executor does
   * not run the job in the calling thread. With a limit, resolves with that many results, or all if there are fewer.
   */
  executeAndCollect(jobName?: string): CollectedResults<T>
  executeAndCollect(jobName: string, limit: number): Promise<T[]>
  executeAndCollect(jobName?: string, limit?: number): CollectedResults<T> | Promise<T[]> {
    const sink = new CollectSink<T>()
    this.sinkTo(sink).name('Collect')
    const results = new CollectedResults(sink, this.factory.start(jobName))
    return limit === undefined ? results : results.takeFirst(limit)
  }

  /**
   * Writes a line for each record to standard output: `prefix:2> record`, with the number of the subtask from 1
   * where there are several.
   */
  print(prefix?: string): DataStreamSink {
    return this.sinkTo(new PrintSink(prefix))
  }

  /** As `print`, to standard error. */
  printToErr(prefix?: string): DataStreamSink {
    return this.sinkTo(new PrintSink(prefix, (line) => void process.stderr.write(line)))
  }

  /** Declares that no operator reads this stream, because its operator only writes state. */
  discard(): DataStreamSink {
    const node = this.node()
    node.discarded = true
    return new DataStreamSink(node)
  }

  /** The records that the operator of this stream emitted to a side output. */
  getSideOutput<S>(tag: OutputTag<S>): DataStream<S> {
    requireTag(tag, 'getSideOutput')
    const node = this.node()
    this.factory.draft.sideStreams.push({ node, tag })
    return this.factory.stream([{ node, tag, partitioning: undefined }])
  }

  /** The records of all these streams in one stream, in no particular order. */
  union(...others: readonly DataStream<T>[]): DataStream<T> {
    for (const other of others) requireStream(other, this.factory.draft, 'union')
    const origins = [this, ...others].flatMap((stream) => stream.origins)
    return this.factory.stream(origins)
  }

  /** Reads this stream and another one in one function; see `ConnectOptions`. */
  connect<B>(other: BroadcastStream<B>, options?: ConnectOptions): BroadcastConnectedStream<T, B>
  connect<B>(other: DataStream<B>, options?: ConnectOptions): ConnectedStreams<T, B>
  connect<B>(
    other: BroadcastStream<B> | DataStream<B>,
    options: ConnectOptions = {},
  ): BroadcastConnectedStream<T, B> | ConnectedStreams<T, B> {
    requireStream(other, this.factory.draft, 'connect')
    const inputs = [this.origins, secondInput(other.origins, options)] as const
    if (other instanceof DataStream) return new ConnectedStreams(this.factory, inputs)
    if (!(other instanceof BroadcastStream)) refuseHalfKeyed('connect')
    return new BroadcastConnectedStream(this.factory, inputs, other.states)
  }

  /**
   * Joins each record with the row of a table whose key `keyOf` returns, as the table is when the record comes, or as it was
   * at the event time of the record (`wait`): one result for each record that has a row. A later change of the row changes no result. Throws INVALID_GRAPH.
   */
  joinTable<K, V, OUT>(
    table: Table<K, V>,
    keyOf: (value: T) => K,
    join: (value: T, row: V) => OUT,
    options?: TableJoinOptions<T> & { readonly type?: 'inner' },
  ): DataStream<OUT>
  /** With `type: 'left'` also one for each record without a row. */
  joinTable<K, V, OUT>(
    table: Table<K, V>,
    keyOf: (value: T) => K,
    join: (value: T, row: V | undefined) => OUT,
    options: TableJoinOptions<T> & { readonly type: 'left' },
  ): DataStream<OUT>
  joinTable<K, V, OUT>(
    table: Table<K, V>,
    keyOf: (value: T) => K,
    join: (value: T, row: V) => OUT,
    options: TableJoinOptions<T> = {},
  ): DataStream<OUT> {
    return joinTable<T, K, V, OUT>(this.factory, this.origins, { table, keyOf, join, options })
  }

  /**
   * The table of the latest value of each key, as `env.table` of a source. The records of a key must come in order: from
   * one partition, or from a keyed operator. Throws INVALID_ARGUMENT.
   */
  toTable<K extends PlainKey, V = T>(
    options: TableOptions<T, K, V> & { readonly keySerializer?: undefined },
  ): Table<K, V>
  toTable<K, V = T>(
    options: TableOptions<T, K, V> & { readonly keySerializer: Serializer<K> },
  ): Table<K, V>
  toTable<K, V = T>(options: TableOptions<T, K, V>): Table<K, V> {
    return tableOf(this.factory, this as DataStream<T>, options)
  }

  /**
   * Sends every record to every subtask. With descriptors, the result is an argument of `connect`, whose
   * function fills the declared broadcast state.
   */
  broadcast(): DataStream<T>
  broadcast(
    ...states: readonly [MapStateDescriptor<unknown, unknown>, ...BroadcastDescriptors]
  ): BroadcastStream<T>
  broadcast(...states: BroadcastDescriptors): DataStream<T> | BroadcastStream<T> {
    if (states.length === 0) return this.partitioned({ kind: 'broadcast' })
    return new BroadcastStream<T>(this.origins, states)
  }

  /** Sets the serializer of this stream's records. */
  returns(serializer: Serializer<T>): this {
    for (const { node } of this.origins) node.serializer = requireSerializer(serializer, 'returns')
    return this
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
    return this.factory.add(spec, [this.origins])
  }

  private keyed<K>(
    selector: (value: T) => K,
    given: Serializer<K> = plainKeySerializer() as Serializer<unknown> as Serializer<K>,
    inPlace = false,
  ): KeyedStream<K, T> {
    requireFunction(selector, { ...FUNCTION_USES.keyBy, operator: labelOf(this.origins) })
    return new KeyedStream(this.factory, this.origins, { selector, serializer: given, inPlace })
  }
}
