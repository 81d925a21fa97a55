/**
 * `@weirjs/weir/learning`: jobs that learn a model while they serve it, and the parts to write another one.
 * `jobs/learning/als` is written with these parts and with `@weirjs/weir`.
 */

import './core/lifetime/require-node.ts'

// Vocabulary: topics of positions, spans, key groups, waiting.
export {
  decodeOrigin,
  requireSameTopic,
  type TopicOrigin,
} from './connectors/records/topic-origin.ts'
export { placeIn } from './connectors/topics/place.ts'
export { type ByteSpan, emptySpan, type MutableByteSpan, spanSerializer } from './core/byte-span.ts'
export { sleep } from './core/clock.ts'
export { BIAS_FEATURE } from './core/feature.ts'
export type { LinearClasses } from './core/features/classes.ts'
export type { FeatureHashing } from './core/features/hashing.ts'
export { keyGroupOf } from './core/key-group.ts'
export { keyOfEveryGroup } from './core/key-group-keys.ts'
export { plainNumber } from './core/text/decimal-number.ts'
export { latin1Of } from './core/text/latin1.ts'
// The jobs and their coordinators.
export {
  type AlsLearningCoordinator,
  type AlsLearningOptions,
  alsLearning,
} from './jobs/learning/als/coordinator.ts'
export { default as onlineAls, type OnlineAlsOptions } from './jobs/learning/als/job.ts'
export {
  type AlsVersionMetadata,
  alsVersionMetadata,
  type EncodedMoments,
} from './jobs/learning/als/version.ts'
// Parts of a learning job: gates, the version hand-shake, duplicates, resume offsets.
export {
  type LearnersOptions,
  LearningCoordinator,
  type LearningCoordinatorOptions,
} from './jobs/learning/coordinator.ts'
export { DeltaDeduplicator, type SeenOffset } from './jobs/learning/delta-deduplicator.ts'
export { LearningGate } from './jobs/learning/gate.ts'
export { InFlightLimit } from './jobs/learning/in-flight-limit.ts'
export { type LinearLearningOptions, linearLearning } from './jobs/learning/linear/coordinator.ts'
export { default as onlineSvm, type OnlineSvmOptions } from './jobs/learning/linear/job.ts'
export type {
  GateOrder,
  GateReport,
  LearnableVersion,
  LearnerOrder,
  LearnerReport,
  VersionPhase,
  WorseReport,
} from './jobs/learning/messages.ts'
export { ObservationsGate } from './jobs/learning/observations-gate.ts'
export { quarantine } from './jobs/learning/quarantine.ts'
export {
  REFUSED,
  type RefusalReason,
  Refusals,
  type RefusedObservation,
  type RefusedReport,
} from './jobs/learning/refused.ts'
export { type ResumeOffset, ResumeOffsets } from './jobs/learning/resume-offsets.ts'
export type { SameEventOptions } from './jobs/learning/seen-events.ts'
export { type TopicSinkOptions, topicSink } from './jobs/learning/topic-sink.ts'
export { resumeOffsetsOf, type VersionOffsetsOptions } from './jobs/learning/version-offsets.ts'
export {
  type LearnerRuleFacts,
  type LearnerRuleOptions,
  learnerDeltas,
  learnerRule,
  ruleOfKind,
} from './kinds/learner-rules.ts'
export {
  ModelDeltaBuffer,
  type ModelDeltaKind,
  NO_SOURCE_KEY_GROUP,
} from './models/als/online/model-delta.ts'
export { ratingNoise } from './models/als/online/prior.ts'
export {
  type LearnedRow,
  type OnlineRule,
  type OnlineSide,
  type RowShape,
  type StepOutcome,
  scoreOf,
} from './models/als/online/rule.ts'
export {
  deltaShape,
  type ModelMoments,
  type OnlineRuleOptions,
  onlineRule,
  type VersionFacts,
  withVersionFacts,
} from './models/als/online/rules.ts'
export { publishedMoments } from './models/als/published-moments.ts'
export {
  idOfKeyBytes,
  isMeanKeyBytes,
  kindOfKeyBytes,
  writeKeySuffix,
} from './models/als/row-key.ts'
export { RowMoments } from './models/als/row-moments.ts'
export {
  LearnableRowSerializer,
  type OpenedRows,
  type PublishedRow,
  type PublishedVariance,
  type RemovedRow,
  type RetiredRows,
  type RowUpdate,
  RowUpdateSerializer,
} from './models/als/row-update.ts'
// Rules that learn, and what they learn from.
export { type Feedback, feedbackOf, targetOf } from './models/feedback.ts'
export {
  attemptTagOf,
  decodeLinearDelta,
  encodeLinearDelta,
  type LinearDelta,
} from './models/linear/delta.ts'
export { ExampleRecordReader, type ExampleView } from './models/linear/example-record.ts'
export { type FtrlOptions, ftrlFold } from './models/linear/ftrl.ts'
export {
  LibsvmParser,
  type LibsvmParserOptions,
  type LibsvmSink,
} from './models/linear/libsvm-format.ts'
export {
  foldLinearStep,
  type OnlineLinearOptions,
  OnlineLinearRule,
  type OnlineLinearSettings,
} from './models/linear/online-rule.ts'
export type { LinearFold, LinearStep } from './models/linear/step.ts'
export { type TrainedWith, trainedWith } from './models/linear/trained-with.ts'
export { dropSums } from './models/linear/weight-memory.ts'
export { type WeightUpdate, WeightUpdateSerializer } from './models/linear/weight-update.ts'
export {
  type AlarmsByDetector,
  DriftMonitor,
  joinedAlarms,
  largestSquaredError,
  NO_ALARMS,
} from './models/quality/drift-monitor.ts'
export {
  PrequentialError,
  type PrequentialOptions,
} from './models/quality/prequential-error.ts'
export { isRefused } from './models/ratings/rating-fields.ts'
export type { LearnedPart } from './models/registry/learned-part.ts'
export { isLearningStopped, stopsUntil } from './models/registry/learning-phase.ts'
export type { DataRange } from './models/registry/ranges/data-range.ts'
export {
  type PresentTopic,
  placeOfRange,
  type RangePlace,
  rangesHere,
} from './models/registry/ranges/range-place.ts'
// Topics of a model: rows, deltas.
export { itemRows, userRows } from './models/topic/als-serving-function.ts'
export { BegunVersions } from './models/topic/begun-versions.ts'
export { LinearServingFunction } from './models/topic/linear-serving-function.ts'
export type { BadRowPolicy } from './models/topic/operator.ts'
export { keyBytesOf, type ModelTopicRecord, valueBytesOf } from './models/topic/record.ts'
export { type TopicRecordsOptions, topicRecords } from './models/topic/records.ts'
export { ModelRowsOperator, type VersionDimensions } from './models/topic/rows-operator.ts'
export { deltasTopic } from './models/topic/topics.ts'
export { VarianceRows } from './models/topic/variance-rows.ts'
export { WeightRowsOperator } from './models/topic/weight-rows-operator.ts'
export { keyLengthWithoutVersion, versionOfKeyBytes } from './models/versioned-key.ts'
// State: rows of other slots, read in place; weights in blocks.
export type { ChainSource, StoredRows } from './operators/port/operator.ts'
export { KeyedProcessOperator } from './operators/process/keyed-process.ts'
export { inSlices } from './runtime/pacing/in-slices.ts'
export { blockProducts, blocksOf, type FeatureBlock } from './serving/sparse/block-products.ts'
export { SlotWeights, type SlotWeightsOptions } from './serving/sparse/slot-weights.ts'
export type { StateVersion } from './state/catalog/key-class.ts'
export { type RowFound, SlotRowReader } from './state/catalog/slot-row-reader.ts'
export type { StateCatalog } from './state/catalog/state-catalog.ts'
export type { VectorRowTarget } from './state/port/handles.ts'
export { DEFAULT_MAX_KEY_BYTES } from './state/port/key-length.ts'
export type { RowTableReader } from './state/rows/reader.ts'
