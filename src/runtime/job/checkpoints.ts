import type { Clock } from '../../core/clock.ts'
import { asWeirError, WeirError } from '../../core/errors.ts'
import type { MetricGroup } from '../../core/metrics.ts'
import { IN_FLIGHT_RECORDS } from '../../operators/port/deferring.ts'
import { ABOUT_STATE } from '../../operators/port/operator-state.ts'
import type { SourceSplit } from '../../operators/port/source.ts'
import type { ProgressBoard } from '../../state/catalog/progress-board.ts'
import { CheckpointCoordinator } from '../checkpoint/coordinator/coordinator.ts'
import { isDamageCode } from '../checkpoint/coordinator/damage.ts'
import { type Barrier, OVERTAKEN_RECORDS } from '../checkpoint/protocol/checkpoint-types.ts'
import { type DroppedState, unclaimedOperators } from '../checkpoint/protocol/dropped-state.ts'
import { planRestore, type RestorePlan } from '../checkpoint/protocol/restore-plan.ts'
import { codeOfFailure } from '../protocol/slot-host.ts'
import type { SlotCommand } from '../protocol/slot-messages.ts'
import { decodeSplit, SPLITS } from '../source/split-state.ts'
import { isKeyed } from '../subtask/job-plan.ts'
import type { JobExecutionOptions } from './execution-options.ts'
import { restoreFromOf } from './restore-from.ts'
import type { JobWarnings } from './warnings.ts'

/** The job as its checkpoints see it. */
export interface JobCheckpointsHost {
  readonly board: ProgressBoard
  readonly metrics: MetricGroup
  /** Injects a barrier at the sources of the present attempt. */
  trigger(barrier: Barrier): void
  /** Sends a command to every slot of the present attempt. */
  toSlots(make: (attempt: number) => SlotCommand): void
  /** More checkpoints failed than are tolerated. */
  fail(error: WeirError): void
  readonly warnings: JobWarnings
}

/** State that an attempt begins with. */
export interface AttemptRestore {
  /** Checkpoint that is restored, 0 for a fresh start. */
  readonly checkpointId: number
  readonly plan: RestorePlan
  /** How far the job's first source was read. */
  readonly splits: readonly SourceSplit[]
  /** What the attempt leaves out of the checkpoint, beside what its operators do not declare when they open. */
  readonly dropped: readonly DroppedState[]
}

/** Opens the coordinator of a job; undefined when the job takes no checkpoints. */
export async function openJobCheckpoints(
  options: JobExecutionOptions,
  host: JobCheckpointsHost,
): Promise<CheckpointCoordinator | undefined> {
  const { storage, storageUrl, jobId, graph, clock, random, configuration } = options
  if (storage === undefined || storageUrl === undefined) return undefined
  const { checkpoints } = configuration
  if (checkpoints.unaligned && Object.keys(options.coordinators ?? {}).length > 0) {
    throw noOvertaking()
  }
  const { intervalMs, mode, timeoutMs, minPauseMs, tolerableFailures, retained } = checkpoints
  const savepointFolder = checkpoints.savepointDirectory
  const asOf = new CheckpointTimes(host.board, clock)
  const coordinator: CheckpointCoordinator = await CheckpointCoordinator.open({
    jobId,
    jobName: graph.jobName,
    storage,
    clock,
    random,
    job: {
      triggerBarrier: (barrier) => {
        asOf.triggered(barrier.checkpointId)
        host.trigger(barrier)
      },
      notifyCompleted: (checkpointId) => {
        host.warnings.waits.storageWorks()
        host.board.setCompletedCheckpoint(checkpointId, asOf.completed(checkpointId))
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
    ...(checkpoints.unaligned ? { alignedTimeoutMs: checkpoints.alignedTimeoutMs } : {}),
    metrics: host.metrics,
    listener: {
      checkpointFailed: (_id, reason, error) => {
        // A newer checkpoint, or the end of the attempt, took the place of this one: nothing is lost.
        if (reason === 'subsumed' || reason === 'stopped') return
        if (isOfStorage(error)) host.warnings.waits.storageFailed(error.message, clock.nowMs())
        host.warnings.report('checkpoint-failed', error)
      },
      warning: (warning) => host.warnings.report('checkpoint-files', warning),
    },
    ...(options.claimant === undefined ? {} : { claimant: options.claimant }),
    ...(intervalMs === undefined ? {} : { intervalMs }),
    ...(savepointFolder === undefined ? {} : { savepointFolder }),
  })
  return coordinator
}

/** The times as of which checkpoints hold what the sources held, from their triggers until they complete. */
export class CheckpointTimes {
  private readonly board: ProgressBoard
  private readonly clock: Clock
  private readonly pending = new Map<number, number>()

  constructor(board: ProgressBoard, clock: Clock) {
    this.board = board
    this.clock = clock
  }

  /**
   * A barrier begins: the checkpoint holds at least what the slots have applied now. 0 where a slot does
   * not know how fresh it is.
   */
  triggered(checkpointId: number): void {
    const { board } = this
    let asOfMs = this.clock.monotonicMs()
    for (let slot = 0; slot < board.share.slots; slot++) {
      if (board.reportsProgress(slot)) asOfMs = Math.min(asOfMs, board.oldestAsOfMs(slot))
    }
    this.pending.set(checkpointId, asOfMs)
  }

  /** The time of a checkpoint, which is complete; earlier ones do not complete any more. */
  completed(checkpointId: number): number {
    const asOfMs = this.pending.get(checkpointId) ?? 0
    for (const id of this.pending.keys()) if (id <= checkpointId) this.pending.delete(id)
    return asOfMs
  }
}

/** Facts for the choice of what an attempt restores. */
export interface RestoreChoice {
  readonly checkpoints: CheckpointCoordinator | undefined
  readonly board: ProgressBoard
  readonly attempt: number
}

/**
 * Chooses what an attempt restores: the first attempt `restoreFrom` of the configuration, if given (with
 * `restoreOnlyFirst`, the first attempt of the first process), every other attempt the last completed checkpoint.
 * Throws CHECKPOINT_NOT_FOUND, INVALID_ARGUMENT and as `planRestore`.
 */
export async function chooseRestore(
  options: JobExecutionOptions,
  { checkpoints, board, attempt }: RestoreChoice,
): Promise<AttemptRestore> {
  const { checkpoints: configured } = options.configuration
  const { restoreOnlyFirst, submittedMs } = configured
  const isContinued = restoreOnlyFirst && checkpoints?.hasHistory(submittedMs) === true
  const named = attempt === 1 && !isContinued ? configured.restoreFrom : undefined
  const from = named === undefined ? undefined : restoreFromOf(named, options.storageUrl ?? '')
  if (from !== undefined && checkpoints === undefined) throw noStorage()
  const manifest = await checkpoints?.restorePoint(attempt, from)
  if (manifest === undefined) return { checkpointId: 0, plan: new Map(), splits: [], dropped: [] }
  const { nodes, edges } = options.graph
  const operators = nodes.map((node) => ({ ...node, isKeyed: isKeyed(node, edges) }))
  const plan = planRestore(manifest, operators, {
    allowNonRestoredState: configured.allowNonRestoredState,
    aboutState: ABOUT_STATE,
  })
  // How far behind the sources the slots were when it was triggered is not stored.
  board.setCompletedCheckpoint(manifest.checkpointId, 0)
  const first = nodes.find((node) => node.body.kind === 'source')
  // Records in flight lie before the positions of the sources, but are not applied.
  const stored = holdsRecords(plan)
    ? []
    : (plan.get(first?.uid ?? '')?.[0]?.operatorState.get(SPLITS) ?? [])
  const dropped = unclaimedOperators(manifest, operators, ABOUT_STATE)
  return { checkpointId: manifest.checkpointId, plan, splits: stored.map(decodeSplit), dropped }
}

/** The error of a request for a checkpoint of a job that takes none, or has not started. */
export function noCheckpoints(): WeirError {
  const message = 'the job takes no checkpoints; set execution.checkpointing.dir and start the job'
  return new WeirError('ILLEGAL_STATE', message)
}

/** Whether a checkpoint failed because its storage did not take a file. */
function isOfStorage({ code }: WeirError): boolean {
  return code === 'STORAGE_FAILED' || code === 'DISK_FULL'
}

function holdsRecords(plan: RestorePlan): boolean {
  return [...plan.values()]
    .flat()
    .some(({ operatorState }) =>
      [IN_FLIGHT_RECORDS, OVERTAKEN_RECORDS].some(
        (name) => (operatorState.get(name)?.length ?? 0) > 0,
      ),
    )
}

/** Coordinators of versions and of learning take a checkpoint's source positions as what the state has applied. */
function noOvertaking(): WeirError {
  return new WeirError(
    'INVALID_ARGUMENT',
    'a job that serves or learns a model, or has coordinators of its own, keeps its checkpoints aligned; remove execution.checkpointing.unaligned.enabled',
  )
}

function noStorage(): WeirError {
  const message = 'a job without checkpoints restores nothing; set execution.checkpointing.dir'
  return new WeirError('INVALID_ARGUMENT', message)
}

/**
 * Goes back to an older checkpoint if a restore failed because a file is damaged; an error if none is
 * left.
 */
export async function fallBackFrom(
  error: WeirError,
  checkpoints: CheckpointCoordinator | undefined,
): Promise<'older-checkpoint' | 'none' | WeirError> {
  if (!isDamageCode(codeOfFailure(error))) return 'none'
  try {
    return (await checkpoints?.fallBackFromDamage()) ? 'older-checkpoint' : 'none'
  } catch (cause) {
    return asWeirError(cause, 'STORAGE_FAILED')
  }
}
