/** `weir/client`: the queryable-state client, usable alone. */
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
export type { Random } from '../core/random.ts'
// Values of typed state come encoded: `serializer.read(new ByteReader(bytes))`.
export {
  bytesSerializer,
  float32VectorSerializer,
  float64Serializer,
  int53Serializer,
  msgpackSerializer,
  type Serializer,
  stringSerializer,
} from '../core/serializer.ts'
export type { LinearPrediction, LinearPredictOptions } from '../wire/linear-prediction.ts'
export type {
  Answer,
  AnswerEnvelope,
  Consistency,
  ModelReader,
  Prediction,
  PredictOptions,
  QueryOptions,
  ScanEntry,
  ScoredKey,
  SparseProduct,
  SparseVector,
  TopKOptions,
} from '../wire/model-reader.ts'
export type { QueryableStateInfo, QueryEndpoint, RoutingTable } from '../wire/routing-table.ts'
export type { CacheOptions, ClientOptions, RetryOptions } from './client-options.ts'
export { channels } from './diagnostics.ts'
export { WeirClient } from './weir-client.ts'
