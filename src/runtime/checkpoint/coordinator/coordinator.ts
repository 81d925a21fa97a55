import type { Cancel } from '../../../core/clock.ts'
import { asWeirError, requireArgument, WeirError } from '../../../core/errors.ts'
import { flag, name } from '../../../core/options/kinds.ts'
import { checkArgument } from '../../../core/options/shape.ts'
import {
  type AckOutcome,
  type CollectingCheckpoint,
  type DeclineOutcome,
  judgeAck,
  judgeDecline,
  judgeExpiry,
} from '../protocol/acknowledge.ts'
import type {
  Barrier,
  CheckpointAck,
  CheckpointDecline,
  CheckpointManifest,
} from '../protocol/checkpoint-types.ts'
import { type CheckpointFailureReason, decideFailure } from '../protocol/failure-decision.ts'
import { checkpointFolder } from '../storage/paths.ts'
import { DurableCheckpoints } from './durable-checkpoints.ts'
import { declinedError, expiredError, stoppedError, subsumedError } from './errors.ts'
import type { RestoreFrom } from './lineage.ts'
import {
  type CheckpointCoordinatorOptions,
  type ResolvedCoordinatorOptions,
  resolveCoordinatorOptions,
} from './options.ts'
import { CheckpointStatisticsTracker } from './statistics.ts'
import { type CheckpointRequest, TriggerSchedule } from './trigger-schedule.ts'

/** A checkpoint that was triggered and is not settled. */
interface CheckpointRun {
  readonly barrier: Barrier
  readonly attempt: number
  readonly request: CheckpointRequest | undefined
  readonly cancelTimeout: Cancel
}

/**
 * Triggers checkpoints, collects acknowledgements and reports what completed or failed: the shell
 * around the pure decisions in `protocol/`. `DurableCheckpoints` stores and deletes. There is one
 * coordinator per job and process, for all attempts of the job:
 *
 *   open -> restorePoint(attempt) -> start(attempt, tasks) -> stop -> restorePoint(attempt + 1) ...
 *
 * Above 300 lines because the life of a checkpoint is one concept: trigger, acknowledgements, commit and
 * failure all change the same two tables, `collecting` and `runs`.
 */
export class CheckpointCoordinator {
  /** Statistics of past checkpoints. */
  readonly statistics: CheckpointStatisticsTracker
  private readonly options: ResolvedCoordinatorOptions
  private readonly durable: DurableCheckpoints
  private readonly schedule: TriggerSchedule
  private nextId: number
  private attempt: number | undefined
  private tasks: ReadonlySet<string> = new Set()
  private readonly collecting = new Map<number, CollectingCheckpoint>()
  private readonly runs = new Map<number, CheckpointRun>()
  private commits: Promise<void> = Promise.resolve()
  private failuresInARow = 0
  /** Whether a last savepoint was triggered: what operators emit after it must not be committed. */
  private halted = false
  private fencedBy: WeirError | undefined

  private constructor(options: ResolvedCoordinatorOptions, durable: DurableCheckpoints) {
    this.options = options
    this.durable = durable
    this.statistics = new CheckpointStatisticsTracker(options.metrics)
    this.nextId = durable.highestId + 1
    this.schedule = new TriggerSchedule({
      clock: options.clock,
      policy: options,
      running: () => this.attempt !== undefined && this.fencedBy === undefined && !this.halted,
      pending: () => this.runs.size,
      trigger: (request) => this.trigger(request),
    })
  }

  /**
   * Takes over the job's folder, which fences older coordinators, and finds its checkpoints. Throws
   * JOB_ALREADY_RUNNING, STORAGE_FAILED.
   */
  static async open(options: CheckpointCoordinatorOptions): Promise<CheckpointCoordinator> {
    const resolved = resolveCoordinatorOptions(options)
    return new CheckpointCoordinator(resolved, await DurableCheckpoints.open(resolved))
  }

  /** This coordinator's generation; part of every segment's path. */
  get generation(): number {
    return this.durable.generation
  }

  /** The newest completed checkpoint of the job. */
  get latest(): CheckpointManifest | undefined {
    return this.durable.completed.at(-1)
  }

  /** Checkpoints that are kept, oldest first. */
  get retained(): readonly CheckpointManifest[] {
    return this.durable.completed
  }

  /**
   * Whether an earlier coordinator of the job has restored a savepoint, or completed a checkpoint since then (ms since
   * 1970).
   */
  hasHistory(sinceMs: number): boolean {
    return this.durable.hasHistory(sinceMs)
  }

  /**
   * The checkpoint that the attempt must restore: the savepoint or checkpoint `from` if given,
   * otherwise the last completed checkpoint, or undefined to start from nothing. The choice is durable
   * when this returns; checkpoints newer than it are never used again. Call `stop` before, and restore
   * after it. Throws ILLEGAL_STATE, CHECKPOINT_NOT_FOUND, COORDINATOR_FENCED, STORAGE_FAILED, and
   * CHECKSUM_MISMATCH or MALFORMED_DATA when all checkpoints of the job are damaged.
   */
  async restorePoint(attempt: number, from?: RestoreFrom): Promise<CheckpointManifest | undefined> {
    if (this.attempt !== undefined) {
      throw new WeirError('ILLEGAL_STATE', 'stop the running attempt before restoring another')
    }
    await this.commits
    const manifest = await this.durable.restore(attempt, from)
    if (manifest !== undefined) {
      this.nextId = Math.max(this.nextId, manifest.checkpointId + 1)
      const { clock, jobId } = this.options
      const path = typeof from === 'string' ? from : checkpointFolder(jobId, manifest.checkpointId)
      this.statistics.onRestored(manifest, path, clock.nowMs())
    }
    return manifest
  }

  /**
   * After a failed restore: goes back to the checkpoint before if a file of the restored one is
   * damaged, with a warning, and returns whether it did. Throws CHECKSUM_MISMATCH or MALFORMED_DATA if
   * there is none before.
   */
  async fallBackFromDamage(): Promise<boolean> {
    await this.commits
    return await this.durable.fallBackFromDamage()
  }

  /** Starts checkpointing an attempt whose tasks (`<operator uid>#<subtask>`) all run. */
  start(attempt: number, tasks: readonly string[]): void {
    if (this.attempt !== undefined || attempt !== this.durable.restoredAttempt) {
      throw new WeirError('ILLEGAL_STATE', `call stop and restorePoint(${attempt}) before start`)
    }
    requireArgument(tasks.length > 0, 'a job has at least one task')
    this.attempt = attempt
    this.tasks = new Set(tasks)
    this.failuresInARow = 0
    this.halted = false
    this.schedule.begin()
  }

  /**
   * Ends the attempt. Waits for checkpoints that every task has acknowledged and aborts the others.
   * Idempotent.
   */
  async stop(): Promise<void> {
    this.attempt = undefined
    const stopped = stoppedError()
    for (const id of [...this.collecting.keys()]) this.fail(id, 'stopped', stopped)
    this.schedule.stop(stopped)
    await this.commits
  }

  /** Stops and waits for savepoint copies and compaction. The storage stays open. */
  async close(): Promise<void> {
    await this.stop()
    await this.durable.close()
  }

  /** Says that this process does not run the job any more, though it may live on. Call it last. */
  async release(): Promise<void> {
    await this.durable.release()
  }

  /**
   * Takes a checkpoint as soon as possible. `overtakes`: its barriers overtake records at once, in a job whose
   * checkpoints may be unaligned. Throws CHECKPOINT_DECLINED or CHECKPOINT_EXPIRED.
   */
  triggerCheckpoint(overtakes = false): Promise<CheckpointManifest> {
    checkArgument('job.triggerCheckpoint', 'overtakes', flag, overtakes)
    return new Promise((completed, failed) =>
      this.enqueue({ folder: undefined, isLast: false, overtakes, completed, failed }),
    )
  }

  /**
   * Takes a checkpoint of all state, copies it to a self-contained folder below `parent` (a path of
   * checkpoint storage, by default the options' `savepointFolder`) and returns the folder's path. After
   * the last one of a job no checkpoint is triggered until `resume` or another attempt: it would commit
   * what a job that continues from the savepoint emits again. Throws as `triggerCheckpoint`, and STORAGE_FAILED.
   */
  async triggerSavepoint(
    parent: string = this.options.savepointFolder,
    isLast = false,
  ): Promise<string> {
    checkArgument('job.triggerSavepoint', 'folder', name, parent)
    const folder = this.durable.savepoints.newFolder(parent)
    let copied: Promise<void> = Promise.resolve()
    try {
      await new Promise<void>((resolve, failed) => {
        const completed = (manifest: CheckpointManifest): void => {
          copied = this.durable.savepoints.copy(manifest, folder)
          resolve()
        }
        this.enqueue({ folder, isLast, completed, failed })
      })
      await copied
    } catch (error) {
      if (isLast) this.resume()
      throw error
    }
    return folder
  }

  /**
   * Takes the last checkpoint of a job that another process continues, at once and without a copy; its barriers overtake
   * records where they may. No subtask does anything after it, and no checkpoint is triggered, until `resume` or another
   * attempt. Throws as `triggerCheckpoint`.
   */
  async triggerLast(): Promise<CheckpointManifest> {
    try {
      return await new Promise((completed, failed) =>
        this.enqueue({ folder: undefined, isLast: true, overtakes: true, completed, failed }),
      )
    } catch (error) {
      this.resume()
      throw error
    }
  }

  /** Triggers checkpoints again, because the job did not end with its last savepoint. */
  resume(): void {
    this.halted = false
    this.schedule.consider()
  }

  /** A task's acknowledgement; the outcome says whether it counts. */
  onAck(ack: CheckpointAck): AckOutcome['kind'] {
    const outcome = judgeAck(this.facts(), ack)
    if (outcome.kind !== 'accepted' && outcome.kind !== 'completed') return outcome.kind
    this.statistics.onAck(ack, this.options.clock.nowMs())
    this.collecting.set(ack.checkpointId, outcome.checkpoint)
    if (outcome.kind === 'completed') {
      this.collecting.delete(ack.checkpointId)
      const run = this.runs.get(ack.checkpointId)!
      run.cancelTimeout()
      const acks = [...outcome.checkpoint.acks.values()]
      this.commits = this.commits.then(() => this.commit(run, acks))
    }
    return outcome.kind
  }

  /** A task's refusal. */
  onDecline(decline: CheckpointDecline): DeclineOutcome['kind'] {
    const outcome = judgeDecline(this.facts(), decline)
    if (outcome.kind === 'aborted') {
      this.fail(decline.checkpointId, 'declined', declinedError(decline))
    }
    return outcome.kind
  }

  private facts() {
    return { jobId: this.options.jobId, attempt: this.attempt, collecting: this.collecting }
  }

  private enqueue(request: CheckpointRequest): void {
    if (this.fencedBy !== undefined) request.failed(this.fencedBy)
    else if (this.attempt === undefined) {
      request.failed(new WeirError('CHECKPOINT_DECLINED', 'the job is not running; start it first'))
    } else {
      this.schedule.request(request)
    }
  }

  private trigger(request: CheckpointRequest | undefined): void {
    const { clock, mode, timeoutMs, job, alignedTimeoutMs } = this.options
    const checkpointId = this.nextId++
    this.halted = request?.isLast === true
    const isSavepoint = request?.folder !== undefined
    const full = isSavepoint || this.durable.needsFull
    const halts = this.halted && !isSavepoint ? { halts: true } : {}
    const aligned: Barrier = { checkpointId, timestampMs: clock.nowMs(), full, mode, ...halts }
    const barrier =
      isSavepoint || alignedTimeoutMs === undefined
        ? aligned
        : { ...aligned, alignedTimeoutMs: request?.overtakes === true ? 0 : alignedTimeoutMs }
    const cancelTimeout = clock.after(timeoutMs, () => this.onTimeout(checkpointId))
    this.runs.set(checkpointId, { barrier, attempt: this.attempt!, request, cancelTimeout })
    this.collecting.set(checkpointId, { checkpointId, tasks: this.tasks, acks: new Map() })
    this.statistics.onTriggered(barrier, this.tasks.size, isSavepoint)
    job.triggerBarrier(barrier)
  }

  private onTimeout(checkpointId: number): void {
    const outcome = judgeExpiry(this.facts(), checkpointId)
    if (outcome.kind !== 'expired') return
    const { timeoutMs } = this.options
    this.fail(checkpointId, 'expired', expiredError(checkpointId, timeoutMs, outcome.missing))
  }

  /** Stores a checkpoint that is acknowledged; commits run one after the other. */
  private async commit(run: CheckpointRun, acks: readonly CheckpointAck[]): Promise<void> {
    const { barrier, attempt } = run
    const { checkpointId } = barrier
    try {
      if (this.fencedBy !== undefined) throw this.fencedBy
      if (checkpointId <= this.durable.baseId) {
        this.fail(checkpointId, 'subsumed', subsumedError())
        return
      }
      this.complete(run, await this.durable.publish({ barrier, attempt, acks }))
    } catch (error) {
      this.failCommit(checkpointId, error)
      return
    }
    await this.durable.tidy()
  }

  private complete(run: CheckpointRun, manifest: CheckpointManifest): void {
    const { job, listener, jobId } = this.options
    const { checkpointId } = manifest
    this.failuresInARow = 0
    this.settle(checkpointId)
    this.statistics.onCompleted(manifest, checkpointFolder(jobId, checkpointId))
    for (const id of [...this.collecting.keys()]) {
      if (id < checkpointId) this.fail(id, 'subsumed', subsumedError())
    }
    job.notifyCompleted(checkpointId)
    listener.checkpointCompleted?.(manifest)
    run.request?.completed(manifest)
    this.schedule.consider()
  }

  private failCommit(checkpointId: number, cause: unknown): void {
    const error = asWeirError(cause, 'STORAGE_FAILED', 'the checkpoint was not stored')
    this.fail(checkpointId, commitFailureReason(error), error)
  }

  private fail(checkpointId: number, reason: CheckpointFailureReason, error: WeirError): void {
    const run = this.runs.get(checkpointId)
    if (run === undefined) return
    const { job, listener, tolerableFailures } = this.options
    run.cancelTimeout()
    this.collecting.delete(checkpointId)
    this.settle(checkpointId)
    this.statistics.onFailed(checkpointId, reason, error.message)
    job.notifyAborted(checkpointId)
    listener.checkpointFailed?.(checkpointId, reason, error)
    run.request?.failed(error)
    const decision = decideFailure(reason, this.failuresInARow, tolerableFailures)
    if (decision.kind === 'stop-coordinator') this.becomeFenced(error)
    else if (run.attempt === this.attempt) {
      this.failuresInARow = decision.failures
      if (decision.kind === 'fail-job') job.failJob(error)
    }
    this.schedule.consider()
  }

  private becomeFenced(error: WeirError): void {
    if (this.fencedBy !== undefined) return
    this.fencedBy = error
    for (const id of [...this.collecting.keys()]) this.fail(id, 'fenced', error)
    this.schedule.stop(error)
    this.options.job.failJob(error)
  }

  private settle(checkpointId: number): void {
    this.runs.delete(checkpointId)
    this.schedule.settled()
  }
}

function commitFailureReason(error: WeirError): CheckpointFailureReason {
  if (error.code === 'COORDINATOR_FENCED') return 'fenced'
  return error.code === 'TRANSACTION_ABORTED' ? 'outdated' : 'storage'
}
