import type { CheckpointStatistics } from '../src/checkpoint/checkpoint-statistics.ts'
import type { DataDirectory } from '../src/cli/data-directory.ts'
import type { MetricSnapshot } from '../src/core/metrics.ts'

/** How the serving process is started; the JSON text of its first argument. */
export interface ServedModelPlan {
  readonly data: DataDirectory
  readonly topic: string
  readonly dimension: number
  readonly slots: number
  readonly queryThreads: number
  readonly configuration: Readonly<Record<string, string>>
}

/** Said by the serving process of itself; times are its own monotonic ms. */
export type ServedModelEvent =
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'running'; readonly atMs: number }
  | { readonly kind: 'live'; readonly atMs: number }
  | { readonly kind: 'failed'; readonly message: string }

/** What can be asked of the serving process, and what it answers. */
export interface ServedModelCalls {
  /** Metrics of slots and query threads. */
  metrics: MetricSnapshot
  /** Takes a checkpoint; its statistics, and when it was complete in the process's monotonic ms. */
  checkpoint: { readonly statistics: CheckpointStatistics; readonly atMs: number }
  /** Longest ms without progress of any slot since the last call of this kind. */
  longestGap: number
}

export type ServedModelCall = keyof ServedModelCalls

/** A question of the benchmark. */
export interface ServedModelRequest {
  readonly id: number
  readonly call: ServedModelCall
}

/** Its answer. */
export interface ServedModelReply {
  readonly kind: 'reply'
  readonly id: number
  readonly value?: ServedModelCalls[ServedModelCall]
  readonly error?: string
}
