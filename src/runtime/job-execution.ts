import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { CheckpointCoordinator } from '../checkpoint/checkpoint-coordinator.ts'
import type { CheckpointStatisticsTracker } from '../checkpoint/checkpoint-statistics.ts'
import { messageOf, WeirError } from '../core/errors.ts'
import { MetricGroup, type MetricSnapshot } from '../core/metrics.ts'
import { graphFingerprint } from '../dataflow/graph-fingerprint.ts'
import type { JobResult } from '../dataflow/job-executor.ts'
import { ProgressBoard } from '../state/progress-board.ts'
import { AttemptExecution, type AttemptListener } from './attempt-execution.ts'
import { restartStrategyOf } from './configuration.ts'
import { chooseRestore, openJobCheckpoints } from './job-checkpoints.ts'
import { JobEnd, type StopOptions } from './job-end.ts'
import type { JobExecutionOptions } from './job-execution-options.ts'
import { type JobPlan, planJob, taskNames } from './job-plan.ts'
import { type JobFailure, JobRestarts } from './job-restarts.ts'
import { type JobStatus, type JobStatusListener, JobStatusMachine } from './job-status.ts'
import { ServingCatalog } from './serving-catalog.ts'
import { SlotPool } from './slot-pool.ts'
import type { SlotCommand, SlotReport } from './slot-protocol.ts'
import { stateDirectoryOf } from './state-directory.ts'

/** Source partitions whose progress is tracked for queries. */
const BOARD_PARTITIONS = 1024

export type { StopOptions } from './job-end.ts'
export type { JobExecutionOptions } from './job-execution-options.ts'
export type { JobFailure } from './job-restarts.ts'

type Ending = 'finished' | 'failed' | 'canceled' | 'suspended'

/**
 * Runs one job from submission to its end on the main thread: attempts, restarts from the last
 * completed checkpoint, checkpoints, savepoints and the states in between. Decisions are made in
 * `restart-strategy.ts`, `job-status.ts` and `checkpoint/protocol`; this class carries them out.
 */
export class JobExecution implements AttemptListener {
  readonly jobId: string
  readonly board: ProgressBoard
  /** Resolves when the job has FINISHED; rejects with JOB_FAILED, JOB_CANCELED. */
  readonly result: Promise<JobResult>
  private readonly options: JobExecutionOptions
  private readonly plan: JobPlan
  private readonly machine = new JobStatusMachine()
  private readonly jobMetrics = new MetricGroup()
  private readonly pool: SlotPool
  private readonly catalog: ServingCatalog
  private readonly restarts: JobRestarts
  private readonly regularEnd: JobEnd
  private readonly settleResult: PromiseWithResolvers<JobResult>
  private checkpoints: CheckpointCoordinator | undefined
  private current: AttemptExecution | undefined
  private attempts = 0
  private startedMs = 0
  private ending: Ending | undefined
  private statusWaiters: (() => void)[] = []

  constructor(options: JobExecutionOptions) {
    const { configuration, clock } = options
    this.options = options
    this.jobId = options.jobId
    this.plan = planJob(options.graph)
    const slots = Math.max(configuration.slots ?? 0, this.plan.slots)
    if (configuration.slots !== undefined && configuration.slots < this.plan.slots) {
      throw new WeirError(
        'INVALID_ARGUMENT',
        `the job needs ${this.plan.slots} slots and taskmanager.numberOfTaskSlots is ${configuration.slots}; raise it or lower the parallelism`,
      )
    }
    this.board = ProgressBoard.create(slots, BOARD_PARTITIONS)
    this.catalog = new ServingCatalog(this.board, options.serving)
    this.pool = new SlotPool(slots, options.startSlot, configuration, clock, {
      report: (slot, report) => this.onReport(slot, report),
      lost: (slot, error) => {
        this.catalog.slotDown(slot)
        this.current?.onLost(slot, error)
      },
      started: (slot, host) => this.catalog.attach(slot, host),
    })
    this.restarts = new JobRestarts(restartStrategyOf(configuration), clock, options.random)
    this.regularEnd = new JobEnd({
      checkpoints: () => this.checkpoints,
      isRunning: (attempt) => this.isRunning(attempt),
      finished: () => this.end('finished'),
    })
    this.settleResult = Promise.withResolvers()
    this.result = this.settleResult.promise
    // Whoever does not wait for the result sees the failure in the status.
    this.result.catch(() => {})
    this.jobMetrics.gauge('numRestarts', () => Math.max(0, this.attempts - 1))
    this.machine.onChange(() => {
      for (const wake of this.statusWaiters.splice(0)) wake()
    })
  }

  get status(): JobStatus {
    return this.machine.status
  }

  /** Attempt that runs or ran last, 0 before the first. */
  get attempt(): number {
    return this.attempts
  }

  /** Every failure so far, oldest first. */
  get failures(): readonly JobFailure[] {
    return this.restarts.failures
  }

  /** Statistics of checkpoints, for those who show them. */
  get checkpointStatistics(): CheckpointStatisticsTracker | undefined {
    return this.checkpoints?.statistics
  }

  /** Calls back after every change of state. */
  onStatus(listener: JobStatusListener): void {
    this.machine.onChange(listener)
  }

  /** Begins; `result` tells the end. */
  start(): void {
    this.startedMs = this.options.clock.monotonicMs()
    this.catalog.begin(this.options.graph.jobName)
    this.moveTo('INITIALIZING')
    // Threads come up while the checkpoint is looked for.
    this.pool.ensureStarted()
    void this.firstAttempt()
  }

  /** Resolves once the job is in one of the states; rejects when it has ended in another one. */
  async waitFor(...statuses: readonly JobStatus[]): Promise<JobStatus> {
    for (;;) {
      const { status } = this
      if (statuses.includes(status)) return status
      if (['FAILED', 'CANCELED', 'FINISHED', 'SUSPENDED'].includes(status)) {
        await this.result
        throw new WeirError('ILLEGAL_STATE', `the job is ${status}`)
      }
      await new Promise<void>((resolve) => this.statusWaiters.push(resolve))
    }
  }

  /** Takes a checkpoint now. Throws CHECKPOINT_DECLINED, CHECKPOINT_EXPIRED, ILLEGAL_STATE. */
  async triggerCheckpoint(): Promise<number> {
    return (await this.requireCheckpoints().triggerCheckpoint()).checkpointId
  }

  /** Takes a savepoint and returns its folder. Throws as `triggerCheckpoint`. */
  triggerSavepoint(folder?: string): Promise<string> {
    return this.requireCheckpoints().triggerSavepoint(folder)
  }

  /**
   * Takes a savepoint, commits and ends the job as FINISHED; returns the savepoint's folder. Throws as
   * `triggerCheckpoint`; the job then goes on. A job whose input ends meanwhile takes it last.
   */
  async stopWithSavepoint(options: StopOptions = {}): Promise<string> {
    const checkpoints = this.requireCheckpoints()
    return await this.regularEnd.stopWithSavepoint(this.requireRunning(), checkpoints, options)
  }

  /** Ends the job without a checkpoint; resolves when it is CANCELED. */
  async cancel(): Promise<void> {
    await this.end('canceled')
  }

  /** Leaves the job's checkpoints for another process to go on from. */
  async suspend(): Promise<void> {
    await this.end('suspended')
  }

  /** Metrics of the job and of every subtask that answers, under Flink's names. */
  async metrics(): Promise<MetricSnapshot> {
    // A job that is ending runs to the last, without an attempt.
    const slots = this.status === 'RUNNING' ? await this.current?.metrics() : {}
    return { ...slots, ...this.jobMetrics.snapshot() }
  }

  /** Ends a slot abruptly: for tests of recovery. */
  killSlot(slot: number): void {
    this.pool.hosts[slot]!.kill()
  }

  // What an attempt tells.

  failed(error: WeirError): void {
    void this.handleFailure(error)
  }

  running(): void {
    if (this.ending !== undefined) return
    this.moveTo('RUNNING')
    this.checkpoints?.start(this.attempts, taskNames(this.plan))
    this.regularEnd.running(this.current!)
  }

  ended(): void {
    void this.finish()
  }

  acknowledged(ack: Parameters<AttemptListener['acknowledged']>[0]): void {
    this.checkpoints?.onAck(ack)
  }

  declined(decline: Parameters<AttemptListener['declined']>[0]): void {
    this.checkpoints?.onDecline(decline)
  }

  other(slot: number, report: SlotReport): void {
    if (report.kind === 'operator-event') {
      this.options.coordinators?.[report.uid]?.handleEvent(report.subtask, report.event)
    } else this.catalog.onReport(slot, report)
  }

  private onReport(slot: number, report: SlotReport): void {
    if (report.attempt === this.current?.attempt) this.current.onReport(slot, report)
  }

  private async firstAttempt(): Promise<void> {
    try {
      this.checkpoints = await openJobCheckpoints(this.options, {
        board: this.board,
        metrics: this.jobMetrics,
        trigger: (barrier) => this.current?.trigger(barrier, this.regularEnd.stopping),
        toSlots: (make) => this.toSlots(make),
        fail: (error) => this.current?.fail(error),
      })
    } catch (error) {
      await this.handleFailure(asWeirError(error), true)
      return
    }
    await this.nextAttempt()
  }

  private toSlots(make: (attempt: number) => SlotCommand): void {
    this.current?.sendAll(make(this.attempts))
  }

  private async nextAttempt(): Promise<void> {
    this.attempts += 1
    const { attempts } = this
    try {
      const options = await this.prepareAttempt(attempts)
      if (this.ending !== undefined) return
      this.current = new AttemptExecution(options)
      this.startCoordinators()
      this.current.deploy()
    } catch (error) {
      await this.handleFailure(asWeirError(error), true)
    }
  }

  private async prepareAttempt(attempt: number) {
    const { options, checkpoints } = this
    const { jobId, graph, configuration, clock } = options
    const restore = await chooseRestore(options, checkpoints, this.board, attempt)
    this.pool.ensureStarted()
    return {
      jobId,
      jobName: graph.jobName,
      attempt,
      slots: this.pool.hosts,
      configuration,
      board: this.board.share,
      clock,
      fingerprint: graphFingerprint(graph),
      generation: checkpoints?.generation ?? 0,
      storageUrl: checkpoints === undefined ? undefined : options.storageUrl,
      restoredCheckpoint: restore.checkpointId,
      restoredSplits: restore.splits,
      plan: restore.plan,
      listener: this,
    }
  }

  private startCoordinators(): void {
    const { attempts } = this
    for (const [uid, coordinator] of Object.entries(this.options.coordinators ?? {})) {
      const node = this.options.graph.nodes.find((candidate) => candidate.uid === uid)
      if (node === undefined) continue
      coordinator.start({
        operatorUid: uid,
        parallelism: node.parallelism,
        attempt: attempts,
        board: this.board,
        sendEvent: (subtask, event) =>
          this.toSlots((attempt) => ({ kind: 'operator-event', attempt, uid, subtask, event })),
      })
    }
  }

  /** `fatal`: nothing is deployed, and another attempt would fail alike. */
  private async handleFailure(error: WeirError, fatal = false): Promise<void> {
    if (this.ending !== undefined) return
    this.restarts.note(this.attempts, error)
    this.moveTo('FAILING', error)
    this.regularEnd.failed(error)
    await this.closeAttempt()
    if (this.isEnding()) return
    const decision = this.restarts.decide(error, fatal)
    if (decision.kind === 'fail') this.giveUp(error, decision.reason)
    else {
      this.moveTo('RESTARTING')
      await this.restarts.wait(decision.delayMs)
      if (!this.isEnding()) await this.nextAttempt()
    }
  }

  private isEnding(): boolean {
    return this.ending !== undefined
  }

  private isRunning(attempt: AttemptExecution): boolean {
    return this.current === attempt && this.status === 'RUNNING' && !this.isEnding()
  }

  private giveUp(error: WeirError, reason: string): void {
    this.ending = 'failed'
    this.moveTo('FAILED', error)
    const message = `the job failed: ${error.message} (no restart: ${reason})`
    const failure = new WeirError('JOB_FAILED', message, { cause: error })
    this.regularEnd.reject(failure)
    void this.shutDown().then(() => this.settleResult.reject(failure))
  }

  private async closeAttempt(): Promise<void> {
    await this.checkpoints?.stop()
    const { current } = this
    if (current === undefined) return
    const silent = await current.close()
    this.current = undefined
    await this.pool.discard(silent)
  }

  private async finish(): Promise<void> {
    const attempt = this.current
    if (attempt === undefined) return
    try {
      await this.regularEnd.finish(attempt)
    } catch (error) {
      attempt.fail(asWeirError(error))
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
    await this.closeAttempt()
    await this.shutDown()
    const { jobName } = this.options.graph
    if (ending === 'finished') {
      this.moveTo('FINISHED')
      const runtimeMs = this.options.clock.monotonicMs() - this.startedMs
      this.settleResult.resolve({ jobName, runtimeMs })
      return
    }
    this.moveTo(ending === 'canceled' ? 'CANCELED' : 'SUSPENDED')
    const error = new WeirError('JOB_CANCELED', `the job ${jobName} was ${ending}`)
    this.regularEnd.reject(error)
    this.settleResult.reject(error)
  }

  private async shutDown(): Promise<void> {
    await this.checkpoints?.close()
    await this.pool.close()
    await this.options.storage?.close()
    const spilled = join(stateDirectoryOf(this.options.configuration), this.jobId)
    await rm(spilled, { recursive: true, force: true })
    this.catalog.close()
  }

  private requireCheckpoints(): CheckpointCoordinator {
    if (this.checkpoints !== undefined) return this.checkpoints
    throw new WeirError(
      'ILLEGAL_STATE',
      'the job takes no checkpoints: set execution.checkpointing.dir and start it',
    )
  }

  private requireRunning(): AttemptExecution {
    if (this.current !== undefined && this.isRunning(this.current)) return this.current
    const status = this.ending === undefined ? this.status : 'ending'
    throw new WeirError('ILLEGAL_STATE', `the job is ${status}, not RUNNING`)
  }

  private moveTo(status: JobStatus, cause?: unknown): void {
    this.machine.moveTo(status, this.attempts, this.options.clock.nowMs(), cause)
  }
}

function asWeirError(error: unknown): WeirError {
  if (error instanceof WeirError) return error
  return new WeirError('OPERATOR_FAILED', messageOf(error), { cause: error })
}
