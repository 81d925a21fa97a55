/** `weir/client`: the queryable-state client, usable alone. */
export { type ErrorCode, isWeirError, WeirError } from '../core/errors.ts'
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
