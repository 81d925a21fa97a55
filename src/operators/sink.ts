import type { Clock } from '../core/clock.ts'
import type { MetricGroup } from '../core/metrics.ts'

/** What a sink promises about duplicates and losses. */
export type DeliveryGuarantee = 'none' | 'at-least-once' | 'exactly-once'

/** Given to a writer when it opens. */
export interface SinkWriterContext {
  readonly jobName: string
  readonly operatorUid: string
  readonly subtask: number
  readonly parallelism: number
  readonly attempt: number
  readonly clock: Clock
  readonly metrics: MetricGroup
}

/**
 * Writes the results of one subtask. Two-phase when the sink is exactly-once: what was written
 * before a barrier is prepared with `prepareCommit`, stored in the checkpoint, and made visible by
 * `commit` after the checkpoint is durable.
 */
export interface SinkWriter<T> {
  /**
   * Opens; `restored` are the committables of the restored checkpoint that fell to this subtask: they
   * are committed first, then this job's other unfinished transactions are aborted.
   */
  open(context: SinkWriterContext, restored: readonly Uint8Array[]): Promise<void>
  write(value: T, timestamp: number): void
  /** False while the writer's buffers are full; the subtask then takes no more input. */
  ready(): boolean
  /** Resolves when `ready()` is true again. */
  whenReady(): Promise<void>
  /**
   * Makes everything written so far durable, and visible too unless exactly-once. Returns what
   * `commit` needs, empty when there is nothing to commit.
   */
  prepareCommit(checkpointId: number): Promise<readonly Uint8Array[]>
  /** Makes prepared writes visible; repeating it is harmless. */
  commit(committables: readonly Uint8Array[]): Promise<void>
  close(): Promise<void>
}

/** A sink: makes writers. */
export interface Sink<T> {
  readonly guarantee: DeliveryGuarantee
  createWriter(): SinkWriter<T>
}
