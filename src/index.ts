/**
 * `weir`: what the author of a job needs. Clients in other processes import `weir/client` alone, tests
 * `weir/testing`, jobs on Kafka `weir/kafka` besides.
 */

// Connectors.
export type { Codec } from './batch/compression.ts'
export type { RecordHeader } from './batch/record-batch-format.ts'
export { LineFileSink, type LineFileSinkOptions } from './connectors/file/line-file-sink.ts'
export { type LineFileOptions, LineFileSource } from './connectors/file/line-file-source.ts'
// Formats: how the values of records are written; any connector takes them.
export { formatLine, parseLine } from './connectors/formats/line-format.ts'
export {
  deserializeKeyValue,
  deserializeValue,
  type KeyedValue,
  type ValueDeserializerOptions,
} from './connectors/formats/value-deserializer.ts'
export {
  type KeyValueSerializerOptions,
  serializeKeyValue,
  serializeValue,
  type ValueSerializerOptions,
} from './connectors/formats/value-serializer.ts'
export { EmbeddedLog } from './connectors/log/embedded-log.ts'
export type { FsyncPolicy, ProducerIdentity } from './connectors/log/log-backend.ts'
export type { LogOptions } from './connectors/log/log-owner.ts'
export type {
  EmbeddedLogProducer,
  ProducerOptions,
  SendOptions,
} from './connectors/log/log-producer.ts'
export {
  type LogRecord,
  logRecordDeserializer,
  type RecordDeserializer,
  type RecordView,
} from './connectors/log/log-record.ts'
export {
  LogSink,
  type LogSinkOptions,
  type OutgoingRecord,
  type RecordSerializer,
} from './connectors/log/log-sink.ts'
export {
  LogSource,
  type LogSourceOptions,
  type RawLogSourceOptions,
  type StartingOffsets,
  type UndecodablePolicy,
} from './connectors/log/log-source.ts'
export type {
  FetchedBatches,
  Isolation,
  PartitionReader,
  PartitionReaderOptions,
} from './connectors/log/partition-reader.ts'
export type { PartitionStatus } from './connectors/log/partition-status.ts'
export type { CleanupPolicy, TopicConfig } from './connectors/log/topic-config.ts'
export { type GeneratorOptions, GeneratorSource } from './connectors/memory/generator-source.ts'
export { MemorySink } from './connectors/memory/memory-sink.ts'
export { MemorySource, type MemorySourceOptions } from './connectors/memory/memory-source.ts'
export { openTopics, type TopicsPlace } from './connectors/topics/open-topics.ts'
export type {
  NewTopic,
  PartitionBounds,
  TopicDescription,
  TopicProducer,
  TopicSourceOptions,
  TopicStore,
} from './connectors/topics/topic-store.ts'
// Vocabulary: errors, bytes, time, chance, metrics.
export { ByteReader } from './core/byte-reader.ts'
export { type ByteSpan, spanSerializer } from './core/byte-span.ts'
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
} from './core/formats/csv-format.ts'
export {
  type Float32VectorFormatOptions,
  float32VectorFormat,
} from './core/formats/float32-vector-format.ts'
export { type JsonFormatOptions, jsonFormat } from './core/formats/json-format.ts'
export { type MsgpackFormatOptions, msgpackFormat } from './core/formats/msgpack-format.ts'
export { type TextCodec, textFormat } from './core/formats/text-format.ts'
export { type ModelVersion, modelVersion } from './core/identity.ts'
export type { Counter, Gauge, Histogram, MetricGroup, MetricSnapshot } from './core/metrics.ts'
export { NO_POSITION, type SourcePosition } from './core/position.ts'
export { type Random, seededRandom } from './core/random.ts'
export {
  bytesSerializer,
  float32VectorSerializer,
  float64Serializer,
  int53Serializer,
  msgpackSerializer,
  type Serializer,
  stringSerializer,
} from './core/serializer.ts'
export { MAX_TIMESTAMP, MIN_TIMESTAMP, NO_TIMESTAMP } from './core/time.ts'
// Jobs: streams from an environment, a graph from the streams.
export {
  BroadcastConnectedStream,
  type BroadcastDescriptors,
  BroadcastStream,
  KeyedBroadcastConnectedStream,
} from './dataflow/broadcast-stream.ts'
export { ConnectedStreams, KeyedConnectedStreams } from './dataflow/connected-streams.ts'
export { DataStream, type TransformOptions } from './dataflow/data-stream.ts'
export { DataStreamSink } from './dataflow/data-stream-sink.ts'
export {
  type BuildSettings,
  buildJob,
  defineJob,
  type JobDefinition,
  type JobOptions,
} from './dataflow/job-definition.ts'
export type { ExecuteOptions, JobExecutor, JobResult } from './dataflow/job-executor.ts'
export { type PlainKey, plainKeySerializer, rawKeySerializer } from './dataflow/key-serializer.ts'
export { KeyedStream } from './dataflow/keyed-stream.ts'
export {
  type EnvironmentOptions,
  type SourceOptions,
  StreamExecutionEnvironment,
} from './dataflow/stream-execution-environment.ts'
export type {
  NodeBody,
  Partitioning,
  StreamEdge,
  StreamGraph,
  StreamNode,
} from './dataflow/stream-graph.ts'
export type { GraphIssue } from './dataflow/validate-graph.ts'
export {
  boundedOutOfOrderness,
  monotonousTimestamps,
  noWatermarks,
  type WatermarkStrategy,
} from './dataflow/watermark-strategy.ts'
export { WindowedStream } from './dataflow/windowed-stream.ts'
// Running a job: in the calling thread, or served by worker and query threads.
export { ServedJob, type ServedJobOptions } from './jobmanager/served-job.ts'
export {
  VersionCoordinator,
  type VersionCoordinatorOptions,
} from './jobmanager/version-coordinator.ts'
// Models: row formats, training, publishing, the job that serves them.
export {
  type AlsServingOptions,
  default as alsServing,
  MODEL_ROWS_UID,
} from './jobs/als-serving.ts'
export { ALS_MODEL } from './jobs/als-serving-function.ts'
export {
  type PredictExamplesOptions,
  type PredictedExample,
  type PredictLinear,
  predictExamples,
  ServedClassifierQuality,
  type ServedClassifierSummary,
} from './jobs/evaluate-classifier.ts'
export { type EvaluateOptions, evaluateServed } from './jobs/evaluate-served.ts'
export { ModelRegistry, type ModelRegistryOptions } from './jobs/model-registry.ts'
export type { BadRowPolicy } from './jobs/model-rows-operator.ts'
export { createModelTopics } from './jobs/model-topics.ts'
export { publishAls } from './jobs/publish-als.ts'
export {
  type PublishableLinearModel,
  type PublishLinearOptions,
  publishableWeights,
  publishLinear,
} from './jobs/publish-linear.ts'
export {
  type PublishableModel,
  type PublishOptions,
  publishModel,
  type VersionFacts,
} from './jobs/publish-model.ts'
export { type RetrainOptions, type RetrainOutcome, retrain } from './jobs/retrain.ts'
export { LiveErrorWatch } from './jobs/retrain-error.ts'
export { RetrainLoop, type RetrainLoopOptions } from './jobs/retrain-loop.ts'
export { RetrainProcess } from './jobs/retrain-process.ts'
export { SVM_MODEL } from './jobs/svm-serving-function.ts'
export {
  type AlsKey,
  type AlsRow,
  type AlsRowKind,
  alsKey,
  biasedRow,
  decodeFactors,
  encodeFactors,
  formatTextRow,
  MEAN_ID,
  parseAlsKey,
  parseTextRow,
  predictRating,
} from './models/als-row.ts'
export { Adwin, type AdwinOptions } from './models/drift-adwin.ts'
export type { DriftDetector } from './models/drift-detector.ts'
export { PageHinkley, type PageHinkleyOptions } from './models/drift-page-hinkley.ts'
export {
  type GeneratedExample,
  type GeneratedExamplesOptions,
  type GeneratedLinearOptions,
  GeneratedWeights,
  LinearExamples,
} from './models/linear-model-generator.ts'
export {
  decodeMarker,
  encodeMarker,
  isMarkerKey,
  type ModelVersionEvent,
  type ModelVersionMarker,
  markerKey,
} from './models/model-version-marker.ts'
export { clipRating, type Rating, type RatingRange } from './models/rating.ts'
export { ratingLineFormat } from './models/rating-line-format.ts'
export {
  type BadLines,
  formatRating,
  type RatingSink,
  type RatingsFormat,
  RatingsParser,
  type RatingsParserOptions,
} from './models/ratings-format.ts'
export { type GeneratedRatingsOptions, generateRatings } from './models/ratings-generator.ts'
export { alsTextRowFormat, textWeightFormat } from './models/text-row-formats.ts'
// Functions and operators of one's own.
export { AbstractOperator } from './operators/abstract-operator.ts'
export type { FlatMapFunction } from './operators/flat-map-operator.ts'
export type {
  OperatorContext,
  Output,
  StreamOperator,
  WatermarkingOperator,
} from './operators/operator.ts'
export type { OperatorStateStore, Redistribution } from './operators/operator-state.ts'
export { OutputTag } from './operators/output-tag.ts'
export type {
  BroadcastContext,
  BroadcastProcessFunction,
  BroadcastReadAccess,
  BroadcastState,
  Collector,
  CoProcessFunction,
  FunctionContext,
  KeyedBroadcastProcessFunction,
  KeyedCoProcessFunction,
  KeyedFunctionContext,
  KeyedProcessContext,
  KeyedProcessFunction,
  KeyedStateAccess,
  OnTimerContext,
  ProcessContext,
  ProcessFunction,
  ReadOnlyBroadcastState,
  TimeDomain,
  TimerService,
} from './operators/process-function.ts'
export type { FoldingDescriptor } from './operators/queryable-state-operator.ts'
export type {
  DeliveryGuarantee,
  Sink,
  SinkWriter,
  SinkWriterContext,
} from './operators/sink.ts'
export type {
  PollResult,
  Source,
  SourceOutput,
  SourceReader,
  SourceReaderContext,
  SourceSplit,
} from './operators/source.ts'
export {
  type AlignedWindows,
  eventTimeSessionWindows,
  processingTimeSessionWindows,
  type SessionWindows,
  slidingEventTimeWindows,
  slidingProcessingTimeWindows,
  type TimeWindow,
  tumblingEventTimeWindows,
  tumblingProcessingTimeWindows,
  type WindowAssigner,
} from './operators/window-assigner.ts'
export type { ProcessWindowFunction, WindowContext } from './operators/window-operator.ts'
export type { ConfigurationMap } from './runtime/configuration.ts'
export type { JobExecution, JobFailure, StopOptions } from './runtime/job-execution.ts'
export type { JobStatus, JobStatusChange, JobStatusListener } from './runtime/job-status.ts'
export { LocalExecutor } from './runtime/local-executor.ts'
export type {
  OperatorCoordinator,
  OperatorCoordinatorContext,
  OperatorCoordinators,
} from './runtime/operator-coordinator.ts'
// State.
export {
  type AggregateFunction,
  type AggregatingStateDescriptor,
  aggregatingState,
  type ListStateDescriptor,
  listState,
  type MapStateDescriptor,
  mapState,
  type ReducingStateDescriptor,
  reducingState,
  type StateDescriptor,
  type StateOptions,
  type TtlOptions,
  type ValueStateDescriptor,
  type VectorStateDescriptor,
  valueState,
  vectorState,
} from './state/descriptors.ts'
export type {
  AppendingState,
  ListState,
  MapState,
  RowMeta,
  ValueState,
  VectorRow,
  VectorState,
  WriteOrigin,
} from './state/handles.ts'
export type { KeyedStateBackend } from './state/keyed-state-backend.ts'
export { alsLearningCurve } from './training/als-learning-curve.ts'
export {
  type AlsModel,
  coverageOf,
  type PairCoverage,
  type ScoredPair,
} from './training/als-model.ts'
export type {
  AlsDeviceChoice,
  AlsDeviceName,
  AlsFeedback,
  AlsOptions,
  AlsProgress,
  AlsSolverKind,
  PenaltyScaling,
} from './training/als-options.ts'
export type { StartingRows } from './training/als-start.ts'
export type { ClassificationSummary } from './training/classification-metrics.ts'
export { type CrossValidation, crossValidateAls } from './training/cross-validate-als.ts'
export { evaluateAls } from './training/evaluate-als.ts'
export { crossValidateLinear, evaluateLinear } from './training/evaluate-linear.ts'
export { evaluateRanking, type RankingOptions } from './training/evaluate-ranking.ts'
export { linearLearningCurve } from './training/linear-learning-curve.ts'
export type { LinearLossName } from './training/linear-loss.ts'
export type { LinearModel } from './training/linear-model.ts'
export type { LinearOptions, LinearProgress } from './training/linear-options.ts'
export type { CoverageCounts, ErrorSummary } from './training/metrics.ts'
export type { MeanEstimate, RankingSummary } from './training/ranking-metrics.ts'
export { type RatingsTable, ratingsTable } from './training/ratings-table.ts'
export { type ReadExamples, readLibsvm } from './training/read-libsvm.ts'
export { type ReadRatings, readRatings } from './training/read-ratings.ts'
export { type SparseTable, SparseTableBuilder } from './training/sparse-table.ts'
export {
  type RatingsSplit,
  splitAtRandom,
  splitByTime,
  splitFolds,
  splitLeaveLast,
} from './training/split-ratings.ts'
export { trainAls } from './training/train-als.ts'
export { trainLinear } from './training/train-linear.ts'
