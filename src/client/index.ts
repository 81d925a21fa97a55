/**
 * `@weirjs/client`, a package of its own without dependencies, and `@weirjs/weir/client`, the same modules beside the
 * engine: the client that asks jobs for predictions, state and models.
 */

import '../core/lifetime/require-node.ts'

export { ByteReader } from '../core/byte-reader.ts'
export type { Clock } from '../core/clock.ts'
export {
  ERROR_CODES,
  type ErrorCode,
  type ErrorDetails,
  isWeirError,
  WeirError,
} from '../core/errors.ts'
export { BIAS_FEATURE, MAX_FEATURE } from '../core/feature.ts'
export { keyOfText } from '../core/formats/key-text.ts'
// Values of typed state come encoded: `serializer.read(new ByteReader(bytes))`.
export { msgpackSerializer } from '../core/formats/msgpack-serializer.ts'
export type { PlainKey } from '../core/formats/plain-key.ts'
export type { Random } from '../core/random.ts'
export {
  bytesSerializer,
  float32VectorSerializer,
  float64Serializer,
  int53Serializer,
  type Serializer,
  stringSerializer,
} from '../core/serializer.ts'
export type { InferRequest, RawInferResult } from '../wire/inference/infer.ts'
export type {
  ModelInfo,
  ModelVersionInfo,
  TensorSignature,
  VersionState,
} from '../wire/inference/models.ts'
export type { Datatype, RawTensor } from '../wire/inference/tensor.ts'
export type {
  InferOptions,
  InferResult,
  InputTensor,
  OutputTensor,
  TensorElements,
} from '../wire/inference/typed-tensor.ts'
export type {
  ClassScore,
  LinearPrediction,
  LinearPredictOptions,
} from '../wire/linear-prediction.ts'
export type {
  Answer,
  AnswerEnvelope,
  Consistency,
  ModelReader,
  Prediction,
  PredictOptions,
  QueryOptions,
  ReadPosition,
  ScanEntry,
  ScoredKey,
  SparseProduct,
  SparseVector,
  TopKOptions,
} from '../wire/model-reader.ts'
export { atLeast } from '../wire/model-reader.ts'
export {
  type AskedInterval,
  type IntervalPrediction,
  predictInterval,
  type RatingInterval,
} from '../wire/rating-interval.ts'
export type {
  KeyShares,
  QueryableStateInfo,
  QueryEndpoint,
  RoutingTable,
  SourceInfo,
  VersionLabels,
} from '../wire/routing-table.ts'
export type { GetOptions } from '../wire/typed-value.ts'
export { channels } from './diagnostics.ts'
export type { CacheOptions, ClientOptions, RetryOptions } from './options.ts'
export type { EntriesOptions, StateEntry } from './state/typed-reads.ts'
export { WeirClient } from './weir-client.ts'
