import { CheckpointCoordinator } from '../checkpoint/checkpoint-coordinator.ts'
import type { Barrier } from '../checkpoint/protocol/checkpoint-types.ts'
import { planRestore, type RestorePlan } from '../checkpoint/protocol/restore-plan.ts'
import type { WeirError } from '../core/errors.ts'
import type { MetricGroup } from '../core/metrics.ts'
import type { SourceSplit } from '../operators/source.ts'
import type { ProgressBoard } from '../state/progress-board.ts'
import type { JobExecutionOptions } from './job-execution-options.ts'
import type { SlotCommand } from './slot-protocol.ts'
import { decodeSplit, SPLITS } from './source-split-state.ts'

/** What the checkpoints of a job need from it. */
export interface JobCheckpointsHost {
  readonly board: ProgressBoard
  readonly metrics: MetricGroup
  /** Injects a barrier at the sources of the present attempt. */
  trigger(barrier: Barrier): void
  /** Sends a command to every slot of the present attempt. */
  toSlots(make: (attempt: number) => SlotCommand): void
  /** More checkpoints failed than are tolerated. */
  fail(error: WeirError): void
}

/** What an attempt begins with. */
export interface AttemptRestore {
  /** Checkpoint that is restored, 0 for a fresh start. */
  readonly checkpointId: number
  readonly plan: RestorePlan
  /** How far the job's first source was read. */
  readonly splits: readonly SourceSplit[]
}

/** Opens the coordinator of a job; undefined when the job takes no checkpoints. */
export async function openJobCheckpoints(
  options: JobExecutionOptions,
  host: JobCheckpointsHost,
): Promise<CheckpointCoordinator | undefined> {
  const { storage, storageUrl, jobId, graph, clock, random, configuration } = options
  if (storage === undefined || storageUrl === undefined) return undefined
  const { checkpoints } = configuration
  const { intervalMs, mode, timeoutMs, minPauseMs, tolerableFailures, retained } = checkpoints
  const savepointFolder = checkpoints.savepointDirectory
  const coordinator: CheckpointCoordinator = await CheckpointCoordinator.open({
    jobId,
    jobName: graph.jobName,
    storage,
    clock,
    random,
    gateway: {
      triggerBarrier: (barrier) => host.trigger(barrier),
      notifyCompleted: (checkpointId) => {
        const triggeredAtMs = coordinator.latest?.triggeredAtMs ?? 0
        host.board.setCompletedCheckpoint(checkpointId, triggeredAtMs)
        host.toSlots((attempt) => ({ kind: 'checkpoint-completed', attempt, checkpointId }))
      },
      notifyAborted: (checkpointId) =>
        host.toSlots((attempt) => ({ kind: 'checkpoint-aborted', attempt, checkpointId })),
      failJob: (error) => host.fail(error),
    },
    mode,
    timeoutMs,
    minPauseMs,
    tolerableFailures,
    retained,
    metrics: host.metrics,
    ...(intervalMs === undefined ? {} : { intervalMs }),
    ...(savepointFolder === undefined ? {} : { savepointFolder }),
  })
  return coordinator
}

/**
 * Chooses what an attempt restores: the first one the savepoint it was given, every other one the
 * last completed checkpoint. Throws CHECKPOINT_NOT_FOUND and as `planRestore`.
 */
export async function chooseRestore(
  options: JobExecutionOptions,
  checkpoints: CheckpointCoordinator | undefined,
  board: ProgressBoard,
  attempt: number,
): Promise<AttemptRestore> {
  const from = attempt === 1 ? options.restoreFrom : undefined
  const manifest = await checkpoints?.restorePoint(attempt, from)
  if (manifest === undefined) return { checkpointId: 0, plan: new Map(), splits: [] }
  const plan = planRestore(manifest, options.graph.nodes, {
    allowNonRestoredState: options.allowNonRestoredState ?? false,
  })
  board.setCompletedCheckpoint(manifest.checkpointId, manifest.triggeredAtMs)
  const first = options.graph.nodes.find((node) => node.body.kind === 'source')
  const stored = plan.get(first?.uid ?? '')?.[0]?.operatorState.get(SPLITS) ?? []
  return { checkpointId: manifest.checkpointId, plan, splits: stored.map(decodeSplit) }
}
