import type { Clock } from '../../../core/clock.ts'
import { requireArgument, type WeirError } from '../../../core/errors.ts'
import type { MetricGroup } from '../../../core/metrics.ts'
import type { Random } from '../../../core/random.ts'
import type { Barrier, CheckpointManifest, CheckpointMode } from '../protocol/checkpoint-types.ts'
import {
  type CompactionPolicy,
  DEFAULT_COMPACTION_POLICY,
} from '../protocol/compaction-decision.ts'
import type { CheckpointFailureReason } from '../protocol/failure-decision.ts'
import type { CheckpointStorage } from '../storage/checkpoint-storage.ts'
import type { Claimant } from './claimant.ts'

/**
 * The running job as the coordinator of its checkpoints sees it. Calls do not block and do not throw;
 * messages may be lost.
 */
export interface CheckpointedJob {
  /** Injects the barrier at every source. */
  triggerBarrier(barrier: Barrier): void
  /** The checkpoint is durable. */
  notifyCompleted(checkpointId: number): void
  /** The checkpoint was aborted; segments written for it stay valid for the next one. */
  notifyAborted(checkpointId: number): void
  /** The job must fail; its restart strategy decides whether it restarts. */
  failJob(error: WeirError): void
}

/** Listener for completed and failed checkpoints and for warnings, for logs. */
export interface CheckpointListener {
  checkpointCompleted?(manifest: CheckpointManifest): void
  checkpointFailed?(checkpointId: number, reason: CheckpointFailureReason, error: WeirError): void
  /** A problem after which the coordinator can continue. */
  warning?(warning: WeirError): void
}

/** Options of the coordinator. */
export interface CheckpointCoordinatorOptions {
  readonly jobId: string
  readonly jobName: string
  readonly storage: CheckpointStorage
  readonly clock: Clock
  /** Draws the names of savepoints. */
  readonly random: Random
  readonly job: CheckpointedJob
  /** Time between periodic checkpoints. @default none */
  readonly intervalMs?: number
  /** @default 'exactly-once' */
  readonly mode?: CheckpointMode
  /**
   * Time from the trigger after which barriers overtake records (unaligned checkpoints; not savepoints).
   * @default never
   */
  readonly alignedTimeoutMs?: number
  /** Time after which a checkpoint without all acknowledgements is aborted. @default 600000 */
  readonly timeoutMs?: number
  /** Least time between the end of a checkpoint and the next periodic one. @default 0 */
  readonly minPauseMs?: number
  /** Failures in a row that do not fail the job. @default 0 */
  readonly tolerableFailures?: number
  /** Completed checkpoints to keep. @default 3 */
  readonly retained?: number
  /** Checkpoints that may be pending at the same time. @default 1 */
  readonly maxConcurrent?: number
  /** Folder of checkpoint storage for savepoints whose caller names none. @default 'savepoints' */
  readonly savepointFolder?: string
  /** When chains are merged; false for never. @default DEFAULT_COMPACTION_POLICY */
  readonly compaction?: CompactionPolicy | false
  readonly listener?: CheckpointListener
  readonly metrics?: MetricGroup
  /** The process that claims the job. @default no owner is asked or named */
  readonly claimant?: Claimant
}

/** Options with every default in place. */
export type ResolvedCoordinatorOptions = Required<
  Omit<CheckpointCoordinatorOptions, 'intervalMs' | 'metrics' | 'alignedTimeoutMs' | 'claimant'>
> &
  Pick<CheckpointCoordinatorOptions, 'metrics' | 'alignedTimeoutMs' | 'claimant'> & {
    readonly intervalMs: number | undefined
  }

/** Checks the options once and fills in defaults. Throws INVALID_ARGUMENT. */
export function resolveCoordinatorOptions(
  options: CheckpointCoordinatorOptions,
): ResolvedCoordinatorOptions {
  const resolved = {
    mode: 'exactly-once' as const,
    timeoutMs: 600_000,
    minPauseMs: 0,
    tolerableFailures: 0,
    retained: 3,
    maxConcurrent: 1,
    savepointFolder: 'savepoints',
    compaction: DEFAULT_COMPACTION_POLICY,
    listener: {},
    intervalMs: undefined,
    ...options,
  }
  requireArgument(
    resolved.intervalMs === undefined || resolved.intervalMs > 0,
    'intervalMs must be above 0; leave it out for no periodic checkpoints',
  )
  requireArgument(
    resolved.alignedTimeoutMs === undefined || resolved.mode === 'exactly-once',
    'unaligned checkpoints need execution.checkpointing.mode EXACTLY_ONCE',
  )
  requireArgument(resolved.timeoutMs > 0, 'timeoutMs must be above 0')
  requireArgument(resolved.minPauseMs >= 0, 'minPauseMs must be at least 0')
  requireArgument(resolved.tolerableFailures >= 0, 'tolerableFailures must be at least 0')
  requireArgument(resolved.retained >= 1, 'retained must be at least 1')
  requireArgument(resolved.maxConcurrent >= 1, 'maxConcurrent must be at least 1')
  return resolved
}
