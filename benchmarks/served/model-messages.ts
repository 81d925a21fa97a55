import type { MetricSnapshot } from '../../src/core/metrics.ts'
import type { DataDirectory } from '../../src/jobs/serve/data-directory.ts'
import type { CheckpointStatistics } from '../../src/runtime/checkpoint/coordinator/statistics.ts'

/** Options of the serving process; its first argument, as JSON. */
export interface ServedModelPlan {
  readonly data: DataDirectory
  readonly topic: string
  readonly dimension: number
  readonly slots: number
  readonly queryThreads: number
  readonly configuration: Readonly<Record<string, string>>
}

/** An event of the serving process; times are its own monotonic ms. */
export type ServedModelEvent =
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'running'; readonly atMs: number }
  | { readonly kind: 'live'; readonly atMs: number }
  | { readonly kind: 'failed'; readonly message: string }

/** Calls to the serving process, each with the type of its result. */
export interface ServedModelCalls {
  /** Metrics of slots and query threads. */
  metrics: MetricSnapshot
  /** Takes a checkpoint. Its statistics, and when it was complete, monotonic ms of the process. */
  checkpoint: { readonly statistics: CheckpointStatistics; readonly atMs: number }
  /** Port of the REST interface, which opens with the first call. */
  restPort: number
  /** Longest time without progress of a slot since the last call of this kind, ms. */
  longestGap: number
}

/** Name of a call. */
export type ServedModelCall = keyof ServedModelCalls

/** A call of the benchmark. */
export interface ServedModelRequest {
  readonly id: number
  readonly call: ServedModelCall
}

/** Answer to the call with the same id. */
export interface ServedModelReply {
  readonly kind: 'reply'
  readonly id: number
  readonly value?: ServedModelCalls[ServedModelCall]
  readonly error?: string
}
