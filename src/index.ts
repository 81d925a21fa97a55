/**
 * `@weirjs/weir`: what the author of a job needs. Clients in other processes install `@weirjs/client` alone, tests import
 * `@weirjs/weir/testing`, jobs on Kafka `@weirjs/weir/kafka`, jobs that learn `@weirjs/weir/learning`, programs
 * that trace `@weirjs/weir/tracing` besides. A name belongs here when a program writes it.
 */

import './core/lifetime/require-node.ts'

export * from './accumulators.ts'
// Connectors.
export type { LineFileOptions } from './connectors/file/reader.ts'
export { LineFileSink, type LineFileSinkOptions } from './connectors/file/sink.ts'
export { LineFileSource } from './connectors/file/source.ts'
export { EmbeddedLog } from './connectors/log/embedded-log.ts'
export type {
  EmbeddedLogProducer,
  ProducerOptions,
  SendOptions,
} from './connectors/log/producer.ts'
export {
  LogSink,
  type LogSinkOptions,
} from './connectors/log/sink.ts'
export { LogSource } from './connectors/log/source.ts'
export type { LogSourceOptions, RawLogSourceOptions } from './connectors/log/source-options.ts'
export type { PartitionStatus } from './connectors/log/storage/partition-status.ts'
export type { StoredTopic, TopicConfig } from './connectors/log/storage/topic-config.ts'
export type { LogOptions } from './connectors/log/writer/log-options.ts'
export type { FsyncPolicy } from './connectors/log/writer/log-writer.ts'
export { type GeneratorOptions, GeneratorSource } from './connectors/memory/generator-source.ts'
export { MemorySink } from './connectors/memory/sink.ts'
export { MemorySource, type MemorySourceOptions } from './connectors/memory/source.ts'
export { serializeFailedRecord } from './connectors/records/failed-record-serializer.ts'
export {
  type FormatContext,
  FormatNotReady,
  type OpeningFormat,
} from './connectors/records/opening-format.ts'
export type { OutgoingRecord, RecordSerializer } from './connectors/records/outgoing-record.ts'
export type {
  CleanupPolicy,
  Isolation,
  StartingOffsets,
  UndecodablePolicy,
} from './connectors/records/topic-options.ts'
export {
  type RecordDeserializer,
  type RecordView,
  type TopicRecord,
  topicRecordDeserializer,
} from './connectors/records/topic-record.ts'
export {
  deserializeKeyValue,
  deserializeValue,
  type KeyedValue,
  type ValueDeserializerOptions,
} from './connectors/records/value-deserializer.ts'
export {
  type KeyValueSerializerOptions,
  serializeKeyValue,
  serializeValue,
  type ValueSerializerOptions,
} from './connectors/records/value-serializer.ts'
export { openTopics } from './connectors/topics/open.ts'
export type { TopicsPlace } from './connectors/topics/place.ts'
export type {
  NewTopic,
  PartitionBounds,
  TopicDescription,
  TopicProducer,
  TopicSourceOptions,
  TopicStore,
} from './connectors/topics/store.ts'
// Vocabulary: errors, bytes, time, chance, metrics.
export { ByteReader } from './core/byte-reader.ts'
export { ByteWriter } from './core/byte-writer.ts'
export { type Cancel, type Clock, systemClock } from './core/clock.ts'
export {
  ERROR_CODES,
  type ErrorCode,
  type ErrorDetails,
  isWeirError,
  WeirError,
} from './core/errors.ts'
export {
  type CsvColumns,
  type CsvFormatOptions,
  type CsvRow,
  type CsvType,
  csvColumns,
  csvFormat,
} from './core/formats/csv.ts'
export {
  type Float32VectorFormatOptions,
  float32VectorFormat,
} from './core/formats/float32-vector.ts'
export { type JsonFormatOptions, jsonFormat } from './core/formats/json.ts'
// Formats: how the values of records are written; any connector takes them.
export { formatLine, parseLine } from './core/formats/line.ts'
export { type MsgpackFormatOptions, msgpackFormat } from './core/formats/msgpack.ts'
export { msgpackSerializer } from './core/formats/msgpack-serializer.ts'
export {
  type PlainKey,
  plainKeySerializer,
  rawKeySerializer,
} from './core/formats/plain-key-serializer.ts'
export { type AvroType, type AvroTypes, avroFormat } from './core/formats/schemas/avro.ts'
export {
  type JsonSchemaCheck,
  jsonSchemaFormat,
  type SchemaViolation,
} from './core/formats/schemas/json-schema.ts'
export {
  type FieldType,
  type StructField,
  type StructFields,
  structFormat,
} from './core/formats/struct/format.ts'
export type { StructType } from './core/formats/struct/types.ts'
export { type TextCodec, textFormat } from './core/formats/text.ts'
export type { Counter, Gauge, Histogram, MetricGroup, MetricSnapshot } from './core/metrics.ts'
export { type ModelVersion, modelVersion } from './core/model-version.ts'
export type { SourcePosition } from './core/position.ts'
export { type Random, seededRandom } from './core/random.ts'
export {
  bytesSerializer,
  type EvolvingSerializer,
  float32VectorSerializer,
  float64Serializer,
  int53Serializer,
  type Serializer,
  stringSerializer,
  type ValueReader,
} from './core/serializer.ts'
export { MAX_TIMESTAMP, MIN_TIMESTAMP, NO_TIMESTAMP } from './core/time.ts'
// Jobs: streams from an environment, a graph from the streams.
export {
  AsyncDataStream,
  type AsyncInput,
  type AsyncIo,
  type AsyncIoOptions,
} from './dataflow/async/data-stream.ts'
export {
  BroadcastConnectedStream,
  type BroadcastDescriptors,
  BroadcastStream,
  KeyedBroadcastConnectedStream,
} from './dataflow/broadcast-stream.ts'
export {
  ConnectedStreams,
  type ConnectOptions,
  KeyedConnectedStreams,
} from './dataflow/connected-streams.ts'
export { DataStream } from './dataflow/data-stream.ts'
export { FeatureStream, type QueryableFeaturesOptions } from './dataflow/feature-stream.ts'
export {
  type BuildSettings,
  buildJob,
  defineJob,
  type JobDefinition,
  type JobOptions,
} from './dataflow/job/definition.ts'
export type { JobOptionSpec, JobOptionSpecs, OptionsOf } from './dataflow/job/option-specs.ts'
export { KeyedStream } from './dataflow/keyed-stream.ts'
export { DataStreamSink } from './dataflow/node-settings.ts'
export type { TransformOptions } from './dataflow/node-spec.ts'
export type { WindowResults, WindowStoreOptions } from './dataflow/stores.ts'
export {
  type EnvironmentOptions,
  type SourceOptions,
  StreamExecutionEnvironment,
} from './dataflow/stream-execution-environment.ts'
export type {
  ExecuteOptions,
  JobExecutor,
  JobResult,
  StartedJob,
  StreamGraph,
} from './dataflow/stream-graph.ts'
export type { GraphIssue } from './dataflow/validate-graph.ts'
export {
  type AggregateOptions,
  AllWindowedStream,
  type AllWindowFunction,
  type ReduceOptions,
  WindowedStream,
  type WindowFunction,
} from './dataflow/windowed-stream.ts'
export type {
  ApplicationRequest,
  ApplicationRoute,
  ApplicationStates,
} from './gateway/port/application.ts'
// Models: row formats, training, publishing, the job that serves them.
export {
  type AlsServingOptions,
  default as alsServing,
} from './jobs/als-serving/job.ts'
export { LiveErrorWatch } from './jobs/retrain/error-watch.ts'
export { RetrainLoop, type RetrainLoopOptions } from './jobs/retrain/loop.ts'
export type { RetrainOptions, RetrainOutcome } from './jobs/retrain/options.ts'
export { RetrainProcess } from './jobs/retrain/process.ts'
export { retrain } from './jobs/retrain/retrain.ts'
// Serving a model inside the calling process.
export {
  type EmbeddedLearningOptions,
  EmbeddedModel,
  type EmbeddedModelOptions,
  learnAls,
  learnSvm,
  serveAls,
  serveSvm,
} from './jobs/serve/embedded.ts'
export type { AlsLearningJobOptions } from './jobs/serve/learning-als.ts'
export type { SvmLearningJobOptions } from './jobs/serve/learning-svm.ts'
// Running a job: in the calling thread, or served by worker and query threads.
export { ServedJob, type ServedJobOptions } from './jobs/served-job.ts'
export { type StartJobOptions, startJob } from './jobs/start-job.ts'
export { type PublishAlsOptions, publishAls } from './kinds/factors/publish.ts'
export {
  type PublishableLinearModel,
  type PublishLinearOptions,
  publishableWeights,
  publishLinear,
} from './kinds/linear/publish.ts'
export {
  type AlsRow,
  decodeFactors,
  encodeFactors,
  predictRating,
} from './models/als/row.ts'
export { type AlsKey, type AlsRowKind, alsKey, parseAlsKey } from './models/als/row-key.ts'
export { formatTextRow, parseTextRow } from './models/als/text-row.ts'
export { alsTextRowFormat, textWeightFormat } from './models/files/text-row-formats.ts'
export {
  type GeneratedExample,
  type GeneratedExamplesOptions,
  type GeneratedLinearOptions,
  GeneratedWeights,
  LinearExamples,
} from './models/linear/model-generator.ts'
export { MEAN_ID } from './models/mean-id.ts'
export {
  type PublishableModel,
  type PublishOptions,
  publishModel,
  type VersionMetadata,
} from './models/publish/model.ts'
export { Adwin, type AdwinOptions } from './models/quality/adwin.ts'
export type { DriftDetector } from './models/quality/drift-detector.ts'
export { PageHinkley, type PageHinkleyOptions } from './models/quality/page-hinkley.ts'
export { formatRating, type RatingsFormat } from './models/ratings/format.ts'
export { type GeneratedRatingsOptions, generateRatings } from './models/ratings/generator.ts'
export { type RatingLineSerializer, ratingLineFormat } from './models/ratings/line-format.ts'
export type { PlainRating } from './models/ratings/line-reader.ts'
export {
  type BadLineSink,
  type BadLines,
  type EventWeights,
  type RatingSink,
  RatingsParser,
  type RatingsParserOptions,
} from './models/ratings/parser.ts'
export { clipRating, type Rating, type RatingRange } from './models/ratings/rating.ts'
export type { RefusedLine } from './models/ratings/rating-fields.ts'
export type { ModelVersionMarker } from './models/registry/version-marker.ts'
export { ALS_MODEL } from './models/topic/als-serving-function.ts'
export { SVM_MODEL } from './models/topic/linear-serving-function.ts'
export { MODEL_ROWS_UID } from './models/topic/operator.ts'
export type { BadRowPolicy } from './models/topic/rows-operator.ts'
export { createModelTopics } from './models/topic/topics.ts'
export {
  VersionCoordinator,
  type VersionCoordinatorOptions,
} from './models/topic/version-coordinator.ts'
export { ModelRegistry, type ModelRegistryOptions } from './models/versions/model-registry.ts'
export type { AsyncFunction } from './operators/async/function.ts'
export {
  type AsyncRetryStrategy,
  exponentialBackoffRetry,
  fixedDelayRetry,
} from './operators/async/retry-strategy.ts'
export { CollectedResults } from './operators/basic/collected-results.ts'
export { DiscardingSink } from './operators/basic/discarding-sink.ts'
export type { FlatMapFunction } from './operators/basic/flat-map.ts'
export type { Synchronous } from './operators/basic/map.ts'
export { PrintSink } from './operators/basic/print-sink.ts'
export * from './operators/features/definition.ts'
export type { FeatureOptions } from './operators/features/plan.ts'
export type { FailedInference } from './operators/inference/function.ts'
export type { InferStreamOptions } from './operators/inference/infer-stream.ts'
// Functions and operators of one's own.
export type {
  CoGroupFunction,
  FlatJoinFunction,
  RichCoGroupFunction,
  RichFlatJoinFunction,
  RichJoinFunction,
} from './operators/joins/co-group.ts'
export type { JoinContext, ProcessJoinFunction } from './operators/joins/interval-join.ts'
export { AbstractOperator } from './operators/port/abstract-operator.ts'
export type {
  FailedRecord,
  JobErrorPolicy,
  RecordErrorPolicy,
} from './operators/port/failed-record.ts'
export type {
  OperatorContext,
  Output,
  StreamOperator,
} from './operators/port/operator.ts'
export type { OperatorStateStore, Redistribution } from './operators/port/operator-state.ts'
export { OutputTag } from './operators/port/output-tag.ts'
export type {
  DeliveryGuarantee,
  Sink,
  SinkWriter,
  SinkWriterContext,
} from './operators/port/sink.ts'
export type {
  PollResult,
  Source,
  SourceOutput,
  SourceReader,
  SourceReaderContext,
  SourceSplit,
} from './operators/port/source.ts'
export type * from './operators/process/function.ts'
export type * from './operators/process/function-life.ts'
export type * from './operators/process/rich-function.ts'
export * from './patterns.ts'
export type { ConfigurationMap } from './runtime/configuration/keys.ts'
export type { JobExecution, JobFailure, StopOptions } from './runtime/job/execution.ts'
export { LocalExecutor } from './runtime/job/local-executor.ts'
export type { JobStatus, JobStatusChange, JobStatusListener } from './runtime/job/status.ts'
export type {
  OperatorCoordinator,
  OperatorCoordinatorContext,
  OperatorCoordinators,
} from './runtime/protocol/operator-coordinator.ts'
export * from './savepoints.ts'
// State.
export {
  type AggregateFunction,
  type AggregatingStateDescriptor,
  aggregatingState,
  type ListStateDescriptor,
  listState,
  type MapStateDescriptor,
  type MapStateOptions,
  mapState,
  type ReducingStateDescriptor,
  reducingState,
  type StateDescriptor,
  type StateOptions,
  type TtlOptions,
  type ValueStateDescriptor,
  type VectorStateDescriptor,
  type VectorStateOptions,
  valueState,
  vectorState,
} from './state/port/descriptors.ts'
export type {
  AppendingState,
  ListState,
  MapState,
  ValueState,
  VectorRow,
  VectorState,
  WriteOrigin,
} from './state/port/handles.ts'
export type { KeyedState } from './state/port/keyed-state.ts'
export * from './tables.ts'
export {
  type PredictExamplesOptions,
  type PredictedExample,
  type PredictLinear,
  predictExamples,
  ServedClassifierQuality,
  type ServedClassifierSummary,
} from './training/evaluate/classifier.ts'
export { type EvaluateOptions, evaluateServed } from './training/evaluate/served.ts'
export * from './training.ts'
export * from './watermarks.ts'
export * from './windows.ts'
// Batches of records.
export type { Codec } from './wire/batch/compression.ts'
export type { RecordHeader } from './wire/batch/record-batch-format.ts'
// Tensors of the models that a stream asks.
export type { Datatype } from './wire/inference/tensor.ts'
export type {
  InferResult,
  InputTensor,
  OutputTensor,
  TensorElements,
} from './wire/inference/typed-tensor.ts'
