import { asWeirError, WeirError } from '../../core/errors.ts'
import { MetricGroup, type MetricSnapshot } from '../../core/metrics.ts'
import type { JobResult } from '../../dataflow/stream-graph.ts'
import { mergeAccumulators } from '../../operators/accumulators/merge.ts'
import type { AccumulatorPart } from '../../operators/port/accumulator.ts'
import type { ProgressBoard } from '../../state/catalog/progress-board.ts'
import type { CheckpointCoordinator } from '../checkpoint/coordinator/coordinator.ts'
import type { CheckpointStatisticsTracker } from '../checkpoint/coordinator/statistics.ts'
import type { CheckpointManifest } from '../checkpoint/protocol/checkpoint-types.ts'
import { type JobConfiguration, restartStrategyOf } from '../configuration/configuration.ts'
import type { JobWait } from '../protocol/waits.ts'
import type { JobPlan } from '../subtask/job-plan.ts'
import type { AttemptExecution, AttemptListener } from './attempt-execution.ts'
import { JobAttempts } from './attempts.ts'
import { fallBackFrom, noCheckpoints, openJobCheckpoints } from './checkpoints.ts'
import { type FinishListener, JobEnd, type StopOptions, type StoredCheckpoint } from './end.ts'
import type { JobExecutionOptions } from './execution-options.ts'
import { type FailurePhase, type JobFailure, JobRestarts } from './restarts.ts'
import { accumulatorResults, FinishedJob, jobEnded, jobFailed } from './result.ts'
import { type JobStatus, type JobStatusListener, JobStatusMachine } from './status.ts'
import { type JobWarning, JobWarnings } from './warnings.ts'

export type { StopOptions, StoredCheckpoint } from './end.ts'
export type { JobExecutionOptions } from './execution-options.ts'
export type { JobFailure } from './restarts.ts'
export type { JobWarning } from './warnings.ts'

type Ending = 'finished' | 'failed' | 'canceled' | 'suspended'

/**
 * Runs one job from submission to its end on the main thread: its states, restarts from the last completed checkpoint,
 * checkpoints, savepoints and the end. `JobAttempts` runs the attempts; decisions are made in `restart-strategy.ts`,
 * `status.ts` and `runtime/checkpoint/protocol`.
 *
 * Above 300 lines because every public operation on a job is here; all depend on one status, attempt and ending.
 */
export class JobExecution implements AttemptListener {
  readonly jobId: string
  /** Resolves when the job has FINISHED; rejects with JOB_FAILED, JOB_CANCELED. */
  readonly result: Promise<JobResult>
  private readonly options: JobExecutionOptions
  private readonly machine = new JobStatusMachine()
  private readonly jobMetrics = new MetricGroup()
  private readonly warnings: JobWarnings
  private readonly attempts: JobAttempts
  private readonly restarts: JobRestarts
  private readonly regularEnd: JobEnd
  private readonly settleResult: PromiseWithResolvers<JobResult>
  private checkpoints: CheckpointCoordinator | undefined
  private startedMs = 0
  private ending: Ending | undefined

  /** Throws INVALID_ARGUMENT when the configuration has fewer slots than the job needs, INVALID_GRAPH where uids are missing. */
  constructor(options: JobExecutionOptions) {
    const { configuration, clock, random, jobId } = options
    this.options = options
    this.jobId = jobId
    this.warnings = new JobWarnings(clock, this.jobMetrics)
    this.attempts = new JobAttempts(options, this)
    this.restarts = new JobRestarts(restartStrategyOf(configuration), clock, random)
    this.regularEnd = new JobEnd({
      checkpoints: () => this.checkpoints,
      storage: options.storage,
      isRunning: (attempt) => this.isRunning(attempt),
      finished: () => this.end('finished'),
      suspended: () => this.end('suspended'),
    })
    this.settleResult = Promise.withResolvers()
    this.result = this.settleResult.promise
    // A caller that does not wait for the result sees the failure in the status.
    this.result.catch(() => {})
    this.machine.timestamps.CREATED = clock.nowMs()
    this.jobMetrics.gauge('numRestarts', () => Math.max(0, this.attempt - 1))
  }

  /** Board of the job's slots, shared with query threads. */
  get board(): ProgressBoard {
    return this.attempts.board
  }

  get status(): JobStatus {
    return this.machine.status
  }

  /** Attempt that runs or ran last, 0 before the first. */
  get attempt(): number {
    return this.attempts.count
  }

  /** Every failure so far, oldest first. */
  get failures(): readonly JobFailure[] {
    return this.restarts.failures
  }

  /** What the job waits for now. */
  get waits(): readonly JobWait[] {
    return this.warnings.waits.all
  }

  /** Statistics of checkpoints; undefined for a job that takes none. */
  get checkpointStatistics(): CheckpointStatisticsTracker | undefined {
    return this.checkpoints?.statistics
  }

  /** Time of the last change to each state, ms since 1970. */
  get timestamps(): Readonly<Partial<Record<JobStatus, number>>> {
    return this.machine.timestamps
  }

  /** The chains and channels of the job. */
  get plan(): JobPlan {
    return this.attempts.plan
  }

  get configuration(): JobConfiguration {
    return this.options.configuration
  }

  /** V8's CPU profile of a slot over some time, as JSON. Throws UNSUPPORTED for a slot without a thread, and where Node cannot. */
  profile(slot: number, durationMs: number): Promise<string> {
    return this.attempts.profile(slot, durationMs)
  }

  /** Records that an operator has received in the attempt, estimated, by key group; empty without keyed input or attempt. */
  async keyGroupRecords(uid: string): Promise<MetricSnapshot> {
    return this.status === 'RUNNING' ? await this.attempts.keyGroupRecords(uid) : {}
  }

  /** Calls `listener` after every change of state. */
  onStatus(listener: JobStatusListener): void {
    this.machine.onChange(listener)
  }

  /** Calls `listener` for every warning about checkpoints, those from before this call included. */
  onWarning(listener: (warning: JobWarning) => void): void {
    this.warnings.onWarning(listener)
  }

  /** See `JobEnd.onFinishing`. */
  onFinishing(listener: FinishListener): void {
    this.regularEnd.onFinishing(listener)
  }

  /** Begins; `result` settles at the end. */
  start(): void {
    this.startedMs = this.options.clock.monotonicMs()
    this.moveTo('INITIALIZING')
    this.attempts.begin()
    void this.nextAttempt()
  }

  /** Resolves once the job is in one of the states; rejects when it has ended in another one. */
  async waitFor(...statuses: readonly JobStatus[]): Promise<JobStatus> {
    const status = await this.machine.reaches(statuses)
    if (statuses.includes(status)) return status
    await this.result
    throw new WeirError('ILLEGAL_STATE', `the job is ${status}`)
  }

  /** Takes a checkpoint, as its coordinator does. Throws CHECKPOINT_DECLINED, CHECKPOINT_EXPIRED, ILLEGAL_STATE. */
  async triggerCheckpoint(overtakes = false): Promise<number> {
    return (await this.requireCheckpoints().triggerCheckpoint(overtakes)).checkpointId
  }

  /** Takes a checkpoint, with the storage of its files; `committed`: when its sinks have, too. Throws as `triggerCheckpoint`. */
  async takeCheckpoint(committed = false): Promise<StoredCheckpoint> {
    const manifest = await this.requireCheckpoints().triggerCheckpoint()
    if (committed) await this.attempts.current?.committed(manifest.checkpointId)
    return { manifest, storage: this.options.storage! }
  }

  /** Checkpoints that a restart may restore, oldest first. Throws ILLEGAL_STATE. */
  get retainedCheckpoints(): readonly CheckpointManifest[] {
    return this.requireCheckpoints().retained
  }

  /** Takes a savepoint and returns its folder. Throws as `triggerCheckpoint`. */
  triggerSavepoint(folder?: string): Promise<string> {
    return this.requireCheckpoints().triggerSavepoint(folder)
  }

  /**
   * Takes a savepoint, commits and ends the job as FINISHED; returns the savepoint's folder. Throws as
   * `triggerCheckpoint`; the job then continues. If all input ends meanwhile, the savepoint is taken
   * at the end of input.
   */
  async stopWithSavepoint(options: StopOptions = {}): Promise<string> {
    const checkpoints = this.requireCheckpoints()
    return await this.regularEnd.stopWithSavepoint(this.requireRunning(), checkpoints, options)
  }

  /**
   * Takes a last checkpoint, after which nothing is processed, and ends the job as SUSPENDED; returns its id. Another
   * execution of the job goes on there: nothing is lost or done twice. Throws as `stopWithSavepoint`; the job then continues.
   */
  async release(): Promise<number> {
    return await this.regularEnd.release(this.requireRunning(), this.requireCheckpoints())
  }

  /** Ends the job without a checkpoint; resolves when it is CANCELED. */
  async cancel(): Promise<void> {
    await this.end('canceled')
  }

  /** Ends the job and keeps its checkpoints, from which another process can continue it. */
  async suspend(): Promise<void> {
    await this.end('suspended')
  }

  /** Metrics of the job and of every subtask that answers, under Flink's names. */
  async metrics(): Promise<MetricSnapshot> {
    // A job that is ending is RUNNING until the end, without an attempt.
    const slots = this.status === 'RUNNING' ? await this.attempts.metrics() : {}
    return { ...slots, ...this.jobMetrics.snapshot() }
  }

  /** The accumulators of every subtask of the attempt that runs or ran last, as the slots last reported them. */
  get accumulatorParts(): readonly AccumulatorPart[] {
    return this.attempts.accumulatorParts
  }

  /**
   * Results of the job's accumulators by name, as they are now or were at the end of the last attempt. Throws
   * STATE_CONFLICT, OPERATOR_FAILED for an accumulator that cannot be merged.
   */
  async accumulators(): Promise<Readonly<Record<string, unknown>>> {
    if (this.status === 'RUNNING') await this.attempts.metrics()
    return accumulatorResults(mergeAccumulators(this.accumulatorParts))
  }

  /** Ends a slot abruptly: for tests of recovery. */
  killSlot(slot: number): void {
    this.attempts.killSlot(slot)
  }

  failed(error: WeirError): void {
    void this.handleFailure(error, this.status === 'RUNNING' ? 'running' : 'starting')
  }

  running(): void {
    if (this.ending !== undefined) return
    this.moveTo('RUNNING')
    this.checkpoints?.start(this.attempt, this.attempts.tasks)
    this.regularEnd.running(this.attempts.current!)
  }

  ended(): void {
    void this.finish()
  }

  warned(warning: WeirError): void {
    this.warnings.report('slot', warning)
  }

  private openCheckpoints(): Promise<CheckpointCoordinator | undefined> {
    const { attempts, regularEnd } = this
    return openJobCheckpoints(this.options, {
      board: this.board,
      metrics: this.jobMetrics,
      warnings: this.warnings,
      trigger: (barrier) => attempts.trigger(barrier, regularEnd.stopping),
      toSlots: (make) => attempts.toSlots(make),
      fail: (error) => attempts.current?.fail(error),
    })
  }

  private async nextAttempt(): Promise<void> {
    const { attempts } = this
    try {
      // Storage may have been away at the last attempt: without its checkpoints no attempt begins.
      this.checkpoints ??= await this.openCheckpoints()
      const { checkpoints } = this
      const restore = await attempts.prepareNext(checkpoints)
      if (!this.isEnding()) attempts.deploy(restore, checkpoints)
    } catch (error) {
      await this.handleFailure(asWeirError(error, 'OPERATOR_FAILED'), 'not-deployed')
    }
  }

  private async handleFailure(error: WeirError, phase: FailurePhase): Promise<void> {
    if (this.ending !== undefined) return
    this.restarts.record(this.attempt, error)
    this.moveTo('FAILING', error)
    this.regularEnd.failed(error)
    await this.closeAttempt()
    if (this.isEnding()) return
    const fallback = phase === 'starting' ? await fallBackFrom(error, this.checkpoints) : 'none'
    if (this.isEnding()) return
    if (fallback instanceof WeirError) this.giveUp(fallback, 'no older checkpoint can be restored')
    else if (fallback === 'older-checkpoint') await this.restartAfter(0)
    else {
      const decision = this.restarts.decide(error, phase, this.board.completedCheckpoint())
      if (decision.kind === 'fail') this.giveUp(error, decision.reason)
      else await this.restartAfter(decision.delayMs)
    }
  }

  private async restartAfter(delayMs: number): Promise<void> {
    this.moveTo('RESTARTING', undefined, delayMs)
    await this.restarts.wait(delayMs)
    if (!this.isEnding()) await this.nextAttempt()
  }

  private readonly isEnding = (): boolean => this.ending !== undefined

  private isRunning(attempt: AttemptExecution): boolean {
    return this.attempts.current === attempt && this.status === 'RUNNING' && !this.isEnding()
  }

  private giveUp(error: WeirError, reason: string): void {
    this.ending = 'failed'
    this.moveTo('FAILED', error)
    const failure = jobFailed(error, reason)
    this.regularEnd.reject(failure)
    // The job has failed, whatever cannot be closed.
    void this.shutDown()
      .catch(() => undefined)
      .then(() => this.settleResult.reject(failure))
  }

  /** Returns what the first operator threw that could not be closed. */
  private async closeAttempt(): Promise<WeirError | undefined> {
    await this.checkpoints?.stop()
    this.warnings.waits.attemptEnded()
    return await this.attempts.close()
  }

  private async finish(): Promise<void> {
    const attempt = this.attempts.current
    if (attempt === undefined) return
    try {
      await this.regularEnd.finish(attempt)
    } catch (error) {
      attempt.fail(asWeirError(error, 'OPERATOR_FAILED'))
    }
  }

  private async end(ending: Exclude<Ending, 'failed'>): Promise<void> {
    if (this.ending !== undefined) {
      await this.result.catch(() => {})
      return
    }
    this.ending = ending
    this.restarts.stopWaiting()
    if (ending === 'canceled') this.moveTo('CANCELLING')
    const failure = await this.closeAttempt()
    if (ending === 'finished' && failure === undefined) await this.regularEnd.callListeners()
    // After a failure or on a user's request the job ends for that reason, whatever could not be closed.
    if (ending === 'finished' && failure !== undefined) return await this.failAtEnd(failure)
    await this.shutDown()
    const { jobName } = this.options.graph
    if (ending === 'finished') {
      this.moveTo('FINISHED')
      const runtimeMs = this.options.clock.monotonicMs() - this.startedMs
      this.settleResult.resolve(new FinishedJob(jobName, runtimeMs, this.accumulatorParts))
      return
    }
    this.moveTo(ending === 'canceled' ? 'CANCELED' : 'SUSPENDED')
    const error = jobEnded(jobName, ending)
    this.regularEnd.reject(error)
    this.settleResult.reject(error)
  }

  /** An operator could not be closed. Another attempt would not change the results. */
  private async failAtEnd(error: WeirError): Promise<void> {
    this.restarts.record(this.attempt, error)
    this.moveTo('FAILING', error)
    this.giveUp(error, 'close threw it after all results were committed')
    await this.result
  }

  private async shutDown(): Promise<void> {
    await this.checkpoints?.close()
    await this.attempts.shutDown()
    await this.checkpoints?.release()
    await this.options.storage?.close()
  }

  private requireCheckpoints(): CheckpointCoordinator {
    if (this.checkpoints === undefined) throw noCheckpoints()
    return this.checkpoints
  }

  private requireRunning(): AttemptExecution {
    const { current } = this.attempts
    if (current !== undefined && this.isRunning(current)) return current
    const status = this.ending === undefined ? this.status : 'ending'
    throw new WeirError('ILLEGAL_STATE', `the job is ${status}, not RUNNING`)
  }

  private moveTo(status: JobStatus, cause?: unknown, delayMs?: number): void {
    this.machine.moveTo(status, {
      attempt: this.attempt,
      atMs: this.options.clock.nowMs(),
      cause,
      ...(delayMs === undefined ? {} : { delayMs }),
    })
  }
}
