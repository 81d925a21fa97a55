import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { CheckpointCoordinator } from '../checkpoint/checkpoint-coordinator.ts'
import type { CheckpointStatisticsTracker } from '../checkpoint/checkpoint-statistics.ts'
import type { CheckpointStorage } from '../checkpoint/checkpoint-storage.ts'
import { planRestore } from '../checkpoint/protocol/restore-plan.ts'
import type { Clock } from '../core/clock.ts'
import { messageOf, WeirError } from '../core/errors.ts'
import { MetricGroup, type MetricSnapshot } from '../core/metrics.ts'
import type { Random } from '../core/random.ts'
import { graphFingerprint } from '../dataflow/graph-fingerprint.ts'
import type { JobResult } from '../dataflow/job-executor.ts'
import type { StreamGraph } from '../dataflow/stream-graph.ts'
import { ProgressBoard } from '../state/progress-board.ts'
import { AttemptExecution, type AttemptListener } from './attempt-execution.ts'
import type { JobConfiguration } from './configuration.ts'
import { type JobPlan, planJob, taskNames } from './job-plan.ts'
import { type JobStatus, type JobStatusListener, JobStatusMachine } from './job-status.ts'
import type { OperatorCoordinators } from './operator-coordinator.ts'
import { decideRestart, NO_FAILURES, type RestartHistory } from './restart-strategy.ts'
import { ServingCatalog } from './serving-catalog.ts'
import type { ServingGateway } from './serving-gateway.ts'
import type { StartSlot } from './slot-host.ts'
import { SlotPool } from './slot-pool.ts'
import type { SlotReport } from './slot-protocol.ts'
import { stateDirectoryOf } from './state-directory.ts'

/** Source partitions whose progress is tracked for queries. */
const BOARD_PARTITIONS = 1024
/** Last checkpoints that are tried at the end of all input before the job counts as failed. */
const FINAL_CHECKPOINTS = 3
/** Number under which a job without checkpoints commits at its end. */
const DIRECT_COMMIT = 1

/** What a job is run with. */
export interface JobExecutionOptions {
  /** 32 hexadecimal digits. */
  readonly jobId: string
  readonly graph: StreamGraph
  readonly configuration: JobConfiguration
  readonly startSlot: StartSlot
  readonly clock: Clock
  readonly random: Random
  /**
   * The main thread's own handle on checkpoint storage, closed with the job; undefined for a job
   * without checkpoints.
   */
  readonly storage?: CheckpointStorage | undefined
  /** What slots open the same storage with; required with `storage`. */
  readonly storageUrl?: string | undefined
  /** Folder of a savepoint or checkpoint to begin from, a path of checkpoint storage. */
  readonly restoreFrom?: string | undefined
  readonly allowNonRestoredState?: boolean | undefined
  readonly coordinators?: OperatorCoordinators | undefined
  readonly serving?: ServingGateway | undefined
}

/** How a job is stopped. */
export interface StopOptions {
  /** Folder of checkpoint storage below which the savepoint goes. @default 'savepoints' */
  readonly folder?: string
  /** Let every window and timer fire first, as at the end of all input. @default false */
  readonly drain?: boolean
}

/** A failure as the job's history keeps it. */
export interface JobFailure {
  readonly attempt: number
  readonly atMs: number
  readonly error: WeirError
}

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
  readonly failures: JobFailure[] = []
  private readonly options: JobExecutionOptions
  private readonly plan: JobPlan
  private readonly machine = new JobStatusMachine()
  private readonly jobMetrics = new MetricGroup()
  private readonly pool: SlotPool
  private readonly catalog: ServingCatalog
  private readonly settleResult: PromiseWithResolvers<JobResult>
  private checkpoints: CheckpointCoordinator | undefined
  private current: AttemptExecution | undefined
  private attempts = 0
  private history: RestartHistory = NO_FAILURES
  private startedMs = 0
  private stopping = false
  private drainFolder: string | undefined
  private drained: PromiseWithResolvers<string> | undefined
  private ending: Ending | undefined
  private cancelDelay: (() => void) | undefined
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

  /** Takes a savepoint, commits and ends the job as FINISHED; returns the savepoint's folder. */
  async stopWithSavepoint(options: StopOptions = {}): Promise<string> {
    const checkpoints = this.requireCheckpoints()
    const attempt = this.requireRunning()
    if (options.drain === true) {
      this.drainFolder = options.folder ?? 'savepoints'
      this.drained = Promise.withResolvers()
      attempt.sendAll({ kind: 'drain', attempt: attempt.attempt })
      return this.drained.promise
    }
    this.stopping = true
    try {
      const folder = await checkpoints.triggerSavepoint(options.folder)
      await attempt.committed(checkpoints.latest!.checkpointId)
      this.requireRunning()
      await this.end('finished')
      return folder
    } catch (error) {
      attempt.sendAll({ kind: 'resume', attempt: attempt.attempt })
      throw error
    } finally {
      this.stopping = false
    }
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
    const slots = this.status === 'RUNNING' ? await this.current!.metrics() : {}
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
    if (this.drained !== undefined) this.toSlots((attempt) => ({ kind: 'drain', attempt }))
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
      await this.openCheckpoints()
    } catch (error) {
      await this.handleFailure(asWeirError(error), true)
      return
    }
    await this.nextAttempt()
  }

  private async openCheckpoints(): Promise<void> {
    const { storage, storageUrl, jobId, graph, clock, random, configuration } = this.options
    if (storage === undefined || storageUrl === undefined) return
    const { intervalMs, mode, timeoutMs, minPauseMs, tolerableFailures, retained } =
      configuration.checkpoints
    this.checkpoints = await CheckpointCoordinator.open({
      jobId,
      jobName: graph.jobName,
      storage,
      clock,
      random,
      gateway: {
        triggerBarrier: (barrier) => this.current?.trigger(barrier, this.stopping),
        notifyCompleted: (checkpointId) => this.checkpointCompleted(checkpointId),
        notifyAborted: (checkpointId) =>
          this.toSlots((attempt) => ({ kind: 'checkpoint-aborted', attempt, checkpointId })),
        failJob: (error) => this.current?.fail(error),
      },
      mode,
      timeoutMs,
      minPauseMs,
      tolerableFailures,
      retained,
      metrics: this.jobMetrics,
      ...(intervalMs === undefined ? {} : { intervalMs }),
    })
  }

  private checkpointCompleted(checkpointId: number): void {
    const triggeredAtMs = this.checkpoints?.latest?.triggeredAtMs ?? 0
    this.board.setCompletedCheckpoint(checkpointId, triggeredAtMs)
    this.toSlots((attempt) => ({ kind: 'checkpoint-completed', attempt, checkpointId }))
  }

  private toSlots(make: (attempt: number) => Parameters<AttemptExecution['sendAll']>[0]): void {
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
    const first = attempt === 1 ? options.restoreFrom : undefined
    const manifest = await checkpoints?.restorePoint(attempt, first)
    const plan =
      manifest === undefined
        ? new Map()
        : planRestore(manifest, graph.nodes, {
            allowNonRestoredState: options.allowNonRestoredState ?? false,
          })
    if (manifest !== undefined) {
      this.board.setCompletedCheckpoint(manifest.checkpointId, manifest.triggeredAtMs)
    }
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
      restoredCheckpoint: manifest?.checkpointId ?? 0,
      plan,
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
    const { clock, random, configuration } = this.options
    this.failures.push({ attempt: this.attempts, atMs: clock.nowMs(), error })
    this.moveTo('FAILING', error)
    await this.closeAttempt()
    if (this.isEnding()) return
    const { decision, history } = decideRestart(
      configuration.restart,
      this.history,
      clock.monotonicMs(),
      random,
    )
    this.history = history
    if (fatal && !error.retryable) this.giveUp(error, messageOf(error))
    else if (decision.kind === 'fail') this.giveUp(error, decision.reason)
    else {
      this.moveTo('RESTARTING')
      await this.delay(decision.delayMs)
      if (!this.isEnding()) await this.nextAttempt()
    }
  }

  private isEnding(): boolean {
    return this.ending !== undefined
  }

  private delay(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.options.clock.after(delayMs, resolve)
      this.cancelDelay = () => {
        cancel()
        resolve()
      }
    })
  }

  private giveUp(error: WeirError, reason: string): void {
    this.ending = 'failed'
    this.moveTo('FAILED', error)
    const message = `the job failed: ${error.message} (no restart: ${reason})`
    const failure = new WeirError('JOB_FAILED', message, { cause: error })
    this.drained?.reject(failure)
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

  /** Every input has ended: a last checkpoint (or the savepoint of a drain), then everything closes. */
  private async finish(): Promise<void> {
    const attempt = this.current
    if (attempt === undefined) return
    try {
      if (this.checkpoints === undefined) {
        attempt.sendAll({ kind: 'commit', attempt: attempt.attempt, checkpointId: DIRECT_COMMIT })
        await attempt.committed(DIRECT_COMMIT)
      } else {
        const folder = await this.lastCheckpoint(this.checkpoints, attempt)
        if (folder !== undefined) this.drained?.resolve(folder)
      }
    } catch (error) {
      attempt.fail(asWeirError(error))
      return
    }
    if (this.current === attempt && this.status === 'RUNNING') await this.end('finished')
  }

  private async lastCheckpoint(
    checkpoints: CheckpointCoordinator,
    attempt: AttemptExecution,
  ): Promise<string | undefined> {
    for (let tries = 1; ; tries++) {
      try {
        const folder =
          this.drainFolder === undefined
            ? void (await checkpoints.triggerCheckpoint())
            : await checkpoints.triggerSavepoint(this.drainFolder)
        await attempt.committed(checkpoints.latest!.checkpointId)
        return folder ?? undefined
      } catch (error) {
        if (tries === FINAL_CHECKPOINTS || this.current !== attempt) throw error
      }
    }
  }

  private async end(ending: Exclude<Ending, 'failed'>): Promise<void> {
    if (this.ending !== undefined) return
    this.ending = ending
    this.cancelDelay?.()
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
    this.drained?.reject(error)
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
    if (this.current !== undefined && this.status === 'RUNNING') return this.current
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
