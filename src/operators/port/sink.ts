import type { Clock } from '../../core/clock.ts'
import type { WeirError } from '../../core/errors.ts'
import type { MetricGroup } from '../../core/metrics.ts'
import type { Deadline } from '../../core/moment.ts'
import { type OptionKind, oneOf } from '../../core/options/kinds.ts'

/** Guarantee of a sink against duplicates and losses. */
export type DeliveryGuarantee = 'none' | 'at-least-once' | 'exactly-once'

/** The values of a guarantee. */
export const GUARANTEE: OptionKind<DeliveryGuarantee> = oneOf(
  'none',
  'at-least-once',
  'exactly-once',
)

/** Context of a writer, an argument of `open`. */
export interface SinkWriterContext {
  readonly jobName: string
  readonly operatorUid: string
  readonly subtask: number
  readonly parallelism: number
  readonly attempt: number
  readonly clock: Clock
  readonly metrics: MetricGroup
  /** Reports what a person should know while the writer goes on. */
  readonly warn?: ((warning: WeirError) => void) | undefined
  /**
   * Called with each restored transaction that the log or broker no longer knows; the writer then
   * continues without its records. Undefined: such a transaction is an error.
   */
  readonly onLostTransaction?: ((loss: WeirError) => void) | undefined
}

/**
 * A writer of the results of one subtask. An exactly-once sink commits in two phases: `prepareCommit` prepares
 * all writes before a barrier, the checkpoint stores them, and `commit` makes them visible when the checkpoint
 * is durable.
 */
export interface SinkWriter<T> {
  /**
   * Opens the writer. `restored` are this subtask's committables of the restored checkpoint. The writer
   * commits them first, then aborts the other unfinished transactions of this job.
   */
  open(context: SinkWriterContext, restored: readonly Uint8Array[]): Promise<void>
  write(value: T, timestamp: number): void
  /** False while the writer's buffers are full; the subtask then reads no more input. */
  ready(): boolean
  /** Resolves when `ready()` is true again. */
  whenReady(): Promise<void>
  /**
   * Sends all writes so far; resolves when readers of the target can see them. Missing where they become
   * visible with a checkpoint.
   */
  written?(): Promise<void>
  /**
   * Makes all writes so far durable, and also visible unless the sink is exactly-once. Returns the arguments
   * of `commit`; empty when there is nothing to commit. Throws TRANSACTION_ABORTED when something that was
   * prepared, here or earlier, can no longer be committed.
   */
  prepareCommit(checkpointId: number): Promise<readonly Uint8Array[]>
  /**
   * Until when everything that is prepared can be committed: a checkpoint that becomes durable later does not
   * count, and the job restarts from the one before. Missing or undefined: at any time.
   */
  commitBy?(): Deadline | undefined
  /** Makes prepared writes visible; repeating it is harmless. */
  commit(committables: readonly Uint8Array[]): Promise<void>
  close(): Promise<void>
}

/** A sink, which creates writers. */
export interface Sink<T> {
  readonly guarantee: DeliveryGuarantee
  createWriter(): SinkWriter<T>
}
