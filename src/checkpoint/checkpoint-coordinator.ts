import type { Cancel } from '../core/clock.ts'
import { isWeirError, requireArgument, WeirError } from '../core/errors.ts'
import { CheckpointCompactor } from './checkpoint-compactor.ts'
import {
  commitError,
  declinedError,
  expiredError,
  stoppedError,
  subsumedError,
} from './checkpoint-errors.ts'
import { CheckpointGarbage } from './checkpoint-garbage.ts'
import { CheckpointLineage } from './checkpoint-lineage.ts'
import { checkpointFolder, compactedPath } from './checkpoint-paths.ts'
import { CheckpointRepository, type RepositoryContent } from './checkpoint-repository.ts'
import type { CheckpointRequest, CheckpointRun } from './checkpoint-run.ts'
import { CheckpointStatisticsTracker } from './checkpoint-statistics.ts'
import {
  type CheckpointCoordinatorOptions,
  type ResolvedCoordinatorOptions,
  resolveCoordinatorOptions,
} from './coordinator-options.ts'
import {
  type AckOutcome,
  type CollectingCheckpoint,
  type DeclineOutcome,
  judgeAck,
  judgeDecline,
  judgeExpiry,
} from './protocol/acknowledge.ts'
import { assembleOperators } from './protocol/assemble.ts'
import type {
  Barrier,
  CheckpointAck,
  CheckpointDecline,
  CheckpointManifest,
} from './protocol/checkpoint-types.ts'
import { type CheckpointFailureReason, decideFailure } from './protocol/failure-decision.ts'
import { decideTrigger, type TriggerDecision } from './protocol/trigger-decision.ts'
import { SavepointCopies } from './savepoint-copies.ts'

/**
 * Triggers checkpoints, collects acknowledgements, makes manifests durable and deletes what they
 * make superfluous: the shell around the pure decisions in `protocol/`. One per job and process; it
 * lives through the attempts of the job:
 *
 *   open -> restorePoint(attempt) -> start(attempt, tasks) -> stop -> restorePoint(attempt + 1) ...
 */
export class CheckpointCoordinator {
  /** Past checkpoints. */
  readonly statistics: CheckpointStatisticsTracker
  private readonly options: ResolvedCoordinatorOptions
  private readonly repository: CheckpointRepository
  private readonly garbage: CheckpointGarbage
  private readonly compactor: CheckpointCompactor
  private readonly lineage: CheckpointLineage
  private nextId: number
  private attempt: number | undefined
  private compactions = 0
  private tasks: ReadonlySet<string> = new Set()
  private readonly collecting = new Map<number, CollectingCheckpoint>()
  private readonly runs = new Map<number, CheckpointRun>()
  private readonly queue: CheckpointRequest[] = []
  private commits: Promise<void> = Promise.resolve()
  private readonly savepoints: SavepointCopies
  private failuresInARow = 0
  private lastTriggeredAtMs = 0
  private lastSettledAtMs: number | undefined
  private cancelTrigger: Cancel = () => {}
  private fencedBy: WeirError | undefined

  private constructor(
    options: ResolvedCoordinatorOptions,
    repository: CheckpointRepository,
    content: RepositoryContent,
  ) {
    this.options = options
    this.repository = repository
    this.statistics = new CheckpointStatisticsTracker(options.metrics)
    this.nextId = content.highestId + 1
    const warn = (warning: WeirError): void => options.listener.warning?.(warning)
    this.garbage = new CheckpointGarbage(repository, warn, content.leftovers)
    const { storage, random, jobId } = options
    this.savepoints = new SavepointCopies({ storage, garbage: this.garbage, random, jobId })
    this.lineage = new CheckpointLineage({ storage, repository, garbage: this.garbage, content })
    this.compactor = new CheckpointCompactor({
      storage,
      policy: options.compaction,
      garbage: this.garbage,
      warn,
      nextPath: () => compactedPath(jobId, repository.generation, ++this.compactions),
    })
  }

  /** Takes over the job's folder (fencing older coordinators) and finds its checkpoints. */
  static async open(options: CheckpointCoordinatorOptions): Promise<CheckpointCoordinator> {
    const resolved = resolveCoordinatorOptions(options)
    const repository = await CheckpointRepository.claim(resolved.storage, resolved.jobId)
    const content = await repository.load((warning) => resolved.listener.warning?.(warning))
    return new CheckpointCoordinator(resolved, repository, content)
  }

  /** This coordinator's generation; part of every segment's path. */
  get generation(): number {
    return this.repository.generation
  }

  /** The newest completed checkpoint of the job. */
  get latest(): CheckpointManifest | undefined {
    return this.lineage.completed.at(-1)
  }

  /** Checkpoints that are kept, oldest first. */
  get retained(): readonly CheckpointManifest[] {
    return this.lineage.completed
  }

  /**
   * What the attempt has to restore: the savepoint or checkpoint in `from` if given, otherwise the
   * last completed checkpoint, or undefined to start from nothing. The choice is durable when this
   * returns; checkpoints newer than it are never used again. Call `stop` first, and restore only
   * after it. Throws ILLEGAL_STATE, CHECKPOINT_NOT_FOUND, COORDINATOR_FENCED, STORAGE_FAILED.
   */
  async restorePoint(attempt: number, from?: string): Promise<CheckpointManifest | undefined> {
    if (this.attempt !== undefined) {
      throw new WeirError('ILLEGAL_STATE', 'stop the running attempt before restoring another')
    }
    await this.commits
    const manifest = await this.lineage.goOn(attempt, from)
    if (manifest !== undefined) {
      this.nextId = Math.max(this.nextId, manifest.checkpointId + 1)
      this.statistics.onRestored(this.options.clock.nowMs())
    }
    await this.lineage.sweep()
    return manifest
  }

  /** Starts checkpointing an attempt whose tasks (`<operator uid>#<subtask>`) all run. */
  start(attempt: number, tasks: readonly string[]): void {
    if (this.attempt !== undefined || attempt !== this.lineage.restoredAttempt) {
      throw new WeirError('ILLEGAL_STATE', `call stop and restorePoint(${attempt}) before start`)
    }
    requireArgument(tasks.length > 0, 'a job has at least one task')
    this.attempt = attempt
    this.tasks = new Set(tasks)
    this.failuresInARow = 0
    this.lastTriggeredAtMs = this.options.clock.monotonicMs()
    this.lastSettledAtMs = undefined
    this.considerTrigger()
  }

  /**
   * Ends the attempt: checkpoints under way are aborted, unless all acknowledgements are in; for
   * those it waits. Idempotent.
   */
  async stop(): Promise<void> {
    this.attempt = undefined
    this.cancelTrigger()
    const stopped = stoppedError()
    for (const id of [...this.collecting.keys()]) this.fail(id, 'stopped', stopped)
    for (const request of this.queue.splice(0)) request.failed(stopped)
    await this.commits
  }

  /** Stops and waits for savepoint copies and compaction. The storage stays open. */
  async close(): Promise<void> {
    await this.stop()
    await this.compactor.close()
    await this.savepoints.idle()
  }

  /** Takes a checkpoint as soon as possible. Throws CHECKPOINT_DECLINED or CHECKPOINT_EXPIRED. */
  triggerCheckpoint(): Promise<CheckpointManifest> {
    return new Promise((completed, failed) =>
      this.enqueue({ folder: undefined, completed, failed }),
    )
  }

  /**
   * Takes a checkpoint of all state and copies it to a self-contained folder below `parent` (a path
   * of checkpoint storage, by default the options' `savepointFolder`), whose path it returns. Throws as `triggerCheckpoint`, STORAGE_FAILED.
   */
  async triggerSavepoint(parent: string = this.options.savepointFolder): Promise<string> {
    const folder = this.savepoints.newFolder(parent)
    let copied: Promise<void> = Promise.resolve()
    await new Promise<void>((resolve, failed) => {
      const completed = (manifest: CheckpointManifest): void => {
        copied = this.savepoints.copy(manifest, folder)
        resolve()
      }
      this.enqueue({ folder, completed, failed })
    })
    await copied
    return folder
  }

  /** A task's acknowledgement; those that do not count are told by the outcome. */
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
      this.queue.push(request)
      this.considerTrigger()
    }
  }

  private considerTrigger(): void {
    this.cancelTrigger()
    const decision = this.decide()
    switch (decision.kind) {
      case 'savepoint':
        this.trigger(this.takeRequest((request) => request.folder !== undefined))
        break
      case 'requested':
        this.trigger(this.takeRequest(() => true))
        break
      case 'periodic':
        this.lastTriggeredAtMs = this.options.clock.monotonicMs()
        this.trigger(undefined)
        break
      case 'wait': {
        const delayMs = Math.max(1, decision.untilMs - this.options.clock.monotonicMs())
        this.cancelTrigger = this.options.clock.after(delayMs, () => this.considerTrigger())
        return
      }
      default:
        return
    }
    this.considerTrigger()
  }

  private decide(): TriggerDecision {
    const savepoints = this.queue.filter((request) => request.folder !== undefined).length
    return decideTrigger(
      {
        nowMs: this.options.clock.monotonicMs(),
        running: this.attempt !== undefined && this.fencedBy === undefined,
        pending: this.runs.size,
        queuedSavepoints: savepoints,
        queuedRequests: this.queue.length - savepoints,
        lastTriggeredAtMs: this.lastTriggeredAtMs,
        lastSettledAtMs: this.lastSettledAtMs,
      },
      this.options,
    )
  }

  private takeRequest(wanted: (request: CheckpointRequest) => boolean): CheckpointRequest {
    return this.queue.splice(this.queue.findIndex(wanted), 1)[0]!
  }

  private trigger(request: CheckpointRequest | undefined): void {
    const { clock, mode, timeoutMs, gateway } = this.options
    const checkpointId = this.nextId++
    const isSavepoint = request?.folder !== undefined
    const full = isSavepoint || this.lineage.needsFull
    const barrier: Barrier = { checkpointId, timestampMs: clock.nowMs(), full, mode }
    const cancelTimeout = clock.after(timeoutMs, () => this.onTimeout(checkpointId))
    this.runs.set(checkpointId, { barrier, attempt: this.attempt!, request, cancelTimeout })
    this.collecting.set(checkpointId, { checkpointId, tasks: this.tasks, acks: new Map() })
    this.statistics.onTriggered(barrier, this.tasks.size, isSavepoint)
    gateway.triggerBarrier(barrier)
  }

  private onTimeout(checkpointId: number): void {
    const outcome = judgeExpiry(this.facts(), checkpointId)
    if (outcome.kind !== 'expired') return
    const { timeoutMs } = this.options
    this.fail(checkpointId, 'expired', expiredError(checkpointId, timeoutMs, outcome.missing))
  }

  /** Runs alone: commits are queued. */
  private async commit(run: CheckpointRun, acks: readonly CheckpointAck[]): Promise<void> {
    const { checkpointId } = run.barrier
    const taken = [...this.compactor.finished]
    try {
      if (this.fencedBy !== undefined) throw this.fencedBy
      if (checkpointId <= (this.lineage.base?.checkpointId ?? 0)) {
        this.fail(checkpointId, 'subsumed', subsumedError())
        return
      }
      const { operators, unusedOutputs } = assembleOperators({
        acks,
        previous: this.lineage.base,
        compactions: taken,
      })
      const { jobId, jobName, clock } = this.options
      const manifest: CheckpointManifest = {
        jobId,
        jobName,
        attempt: run.attempt,
        generation: this.generation,
        checkpointId,
        kind: 'checkpoint',
        triggeredAtMs: run.barrier.timestampMs,
        completedAtMs: clock.nowMs(),
        operators,
      }
      // Until this is known to have failed entirely the manifest may exist.
      this.garbage.doom(checkpointId)
      await this.repository.publish(manifest)
      this.garbage.undoom(checkpointId)
      this.compactor.settle(taken)
      this.garbage.know(unusedOutputs)
      this.complete(run, manifest)
    } catch (error) {
      this.failCommit(checkpointId, error)
      return
    }
    await this.lineage.collect(this.options.retained)
    if (this.lineage.base !== undefined) this.compactor.consider(this.lineage.base)
  }

  private complete(run: CheckpointRun, manifest: CheckpointManifest): void {
    const { gateway, listener, jobId } = this.options
    const { checkpointId } = manifest
    this.lineage.add(manifest, run.barrier.full)
    this.failuresInARow = 0
    this.settle(checkpointId)
    this.statistics.onCompleted(manifest, checkpointFolder(jobId, checkpointId))
    for (const id of [...this.collecting.keys()]) {
      if (id < checkpointId) this.fail(id, 'subsumed', subsumedError())
    }
    gateway.notifyCompleted(checkpointId)
    listener.checkpointCompleted?.(manifest)
    run.request?.completed(manifest)
    this.considerTrigger()
  }

  private failCommit(checkpointId: number, cause: unknown): void {
    const reason = isWeirError(cause, 'COORDINATOR_FENCED') ? 'fenced' : 'storage'
    this.fail(checkpointId, reason, commitError(cause))
  }

  private fail(checkpointId: number, reason: CheckpointFailureReason, error: WeirError): void {
    const run = this.runs.get(checkpointId)
    if (run === undefined) return
    const { gateway, listener, tolerableFailures } = this.options
    run.cancelTimeout()
    this.collecting.delete(checkpointId)
    this.settle(checkpointId)
    this.statistics.onFailed(checkpointId, reason, error.message)
    gateway.notifyAborted(checkpointId)
    listener.checkpointFailed?.(checkpointId, reason, error)
    run.request?.failed(error)
    const decision = decideFailure(reason, this.failuresInARow, tolerableFailures)
    if (decision.kind === 'stop-coordinator') this.becomeFenced(error)
    else if (run.attempt === this.attempt) {
      this.failuresInARow = decision.failures
      if (decision.kind === 'fail-job') gateway.failJob(error)
    }
    this.considerTrigger()
  }

  private becomeFenced(error: WeirError): void {
    if (this.fencedBy !== undefined) return
    this.fencedBy = error
    for (const id of [...this.collecting.keys()]) this.fail(id, 'fenced', error)
    for (const request of this.queue.splice(0)) request.failed(error)
    this.options.gateway.failJob(error)
  }

  private settle(checkpointId: number): void {
    this.runs.delete(checkpointId)
    this.lastSettledAtMs = this.options.clock.monotonicMs()
  }
}
