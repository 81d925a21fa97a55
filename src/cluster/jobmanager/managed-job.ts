import { type Cancel, type Clock, orAfter } from '../../core/clock.ts'
import { type ErrorCode, isWeirError, messageOf, WeirError } from '../../core/errors.ts'
import type { MetricSnapshot } from '../../core/metrics.ts'
import type { Random } from '../../core/random.ts'
import type { RestartStrategyOptions } from '../../runtime/configuration/restart-strategy.ts'
import type { JobStatus } from '../../runtime/job/status.ts'
import type { JobSubmission } from '../rest/port/cluster.ts'
import type { CpuProfile, JobControl, StopRequest } from '../rest/port/job-control.ts'
import type { JobData } from '../rest/port/job-data.ts'
import type { JobSnapshot, ProcessSnapshot } from '../rest/port/job-snapshot.ts'
import type { JobLogs } from './logs.ts'
import { JobProcess, type JobProgram, type ProcessEnd } from './process/job-process.ts'
import { awaitLeftOver } from './process/left-over.ts'
import type { JobRecord } from './store/job-record.ts'
import type { JobStore } from './store/job-store.ts'
import { decideAfterExit, type ExitDecision, exitText } from './supervision/exit-decision.ts'
import { jobSnapshotOf, recordAfterLoss } from './supervision/job-snapshot.ts'
import { requireRescalable, withParallelism } from './supervision/rescaling.ts'

/** Parts of the JobManager that its jobs use. */
export interface JobEnvironment {
  readonly store: JobStore
  readonly logs: JobLogs
  readonly program: JobProgram
  readonly clock: Clock
  readonly random: Random
  readonly jobManager: () => ProcessSnapshot
  /** Arguments of the command that runs a job. */
  readonly argsOf: (record: JobRecord) => readonly string[]
  readonly strategyOf: (record: JobRecord) => RestartStrategyOptions
  readonly say: (sentence: string) => void
}

/** Time between two tries to start a process when the system refuses one. */
const RETRY_MS = 5000
/** Time after which a process that was asked to end is killed. */
const END_TIMEOUT_MS = 60_000
/** Time after which a caller hears that a job is stopped or cancelled, although its process has not ended. */
const PORTS_CLOSED_MS = 10_000

/**
 * One job of the JobManager and the process that runs it: starts the process, starts another one when it is
 * lost, and writes each change into the store before it acts on it.
 */
export class ManagedJob implements JobControl {
  private readonly environment: JobEnvironment
  private record: JobRecord
  private process: JobProcess | undefined
  /** State while no process runs. */
  private withoutProcess: JobStatus | undefined
  private sinceMs: number
  private cancelRestart: Cancel = () => {}
  private isRescaling = false
  /** Submission to go back to when the job does not start with another parallelism. */
  private fallback: JobSubmission | undefined
  /** Whether the JobManager ends, so that no other process is started. */
  private isSuspended = false

  constructor(record: JobRecord, environment: JobEnvironment) {
    this.record = record
    this.environment = environment
    this.sinceMs = environment.clock.nowMs()
    if (!record.hasEnded)
      this.withoutProcess = record.snapshot === undefined ? 'CREATED' : 'RESTARTING'
  }

  get id(): string {
    return this.record.id
  }

  get submittedMs(): number {
    return this.record.submittedMs
  }

  get hasEnded(): boolean {
    return this.record.hasEnded
  }

  /** Whose share of jobs it takes; undefined for a user of this machine. */
  get client(): string | undefined {
    return this.record.client
  }

  /** Query port that the JobManager chose for it, as long as the job has not ended. */
  get queryPort(): number | undefined {
    return this.hasEnded ? undefined : this.record.queryPort
  }

  /** Starts the job for the first time. Throws what keeps it from starting; it is then not stored. */
  async submit(): Promise<void> {
    const process = this.spawn()
    try {
      await process.started
    } catch (error) {
      await process.ended
      throw error
    }
    this.environment.store.put(this.record)
    this.withoutProcess = undefined
    this.save({ pid: process.pid, snapshot: process.lastSnapshot })
    this.watch(process)
  }

  /** Continues a job that an earlier JobManager has run, when the process of that one has ended. */
  async resume(): Promise<void> {
    const { pid } = this.record
    if (pid !== undefined) await awaitLeftOver(pid, this.id, this.environment.clock)
    this.restart()
  }

  async snapshot(): Promise<JobSnapshot> {
    const sent = await this.sentSnapshot()
    const { record, withoutProcess, sinceMs } = this
    const { clock, jobManager } = this.environment
    return jobSnapshotOf(sent, {
      record,
      withoutProcess,
      sinceMs,
      nowMs: clock.nowMs(),
      jobManager: jobManager(),
    })
  }

  async cancel(): Promise<void> {
    if (this.hasEnded) throw new WeirError('ILLEGAL_STATE', `job ${this.id} has ended`)
    const { process } = this
    if (process !== undefined) {
      await process.cancel()
      return await this.awaitEnd(process)
    }
    this.cancelRestart()
    this.endWithoutProcess('CANCELED')
  }

  checkpoint(): Promise<number> {
    return this.running().checkpoint()
  }

  savepoint(folder: string | undefined): Promise<string> {
    return this.running().savepoint(folder)
  }

  async stop(request: StopRequest): Promise<string> {
    const process = this.running()
    const savepoint = await process.stop(request)
    await this.awaitEnd(process)
    return savepoint
  }

  /**
   * Ends the process after a checkpoint, and starts one with another parallelism, which continues there. The record
   * has the new parallelism before the process ends: a crash in between loses nothing. Throws as `Cluster.rescale`.
   */
  async rescale(parallelism: number): Promise<void> {
    const process = this.running()
    if (this.isRescaling) {
      throw new WeirError('ILLEGAL_STATE', `job ${this.id} is being rescaled; try again later`)
    }
    this.isRescaling = true
    try {
      // A job that was just submitted has no operators yet.
      await process.runs
      const before = await this.snapshot()
      requireRescalable(before, parallelism)
      if (before.parallelism === parallelism) return
      // The job goes on if it cannot take a checkpoint.
      await process.checkpoint()
      if (this.process !== process) throw processLost(this.id)
      const { submission } = this.record
      this.save({ submission: withParallelism(submission, parallelism) })
      await this.endGently(process)
      this.fallback = submission
      await this.startAgain()
    } finally {
      this.isRescaling = false
      this.fallback = undefined
    }
  }

  get data(): JobData {
    return this.running().data
  }

  keyGroupRecords(uid: string): Promise<MetricSnapshot> {
    return this.running().keyGroupRecords(uid)
  }

  profile(slot: number, durationMs: number): Promise<CpuProfile> {
    return this.running().profile(slot, durationMs)
  }

  /** Ends the process with a last checkpoint; the next JobManager continues the job. */
  async suspend(): Promise<void> {
    this.isSuspended = true
    this.cancelRestart()
    if (this.process !== undefined) await this.endGently(this.process)
  }

  private async endGently(process: JobProcess): Promise<void> {
    process.end()
    const cancelKill = this.environment.clock.after(END_TIMEOUT_MS, () => process.end('kill'))
    await process.ended
    cancelKill()
  }

  /** Starts a process and waits until its job runs. Throws why it does not. */
  private async startAgain(): Promise<void> {
    if (this.hasEnded) throw new WeirError('ILLEGAL_STATE', `job ${this.id} has ended meanwhile`)
    if (this.isSuspended) return
    this.cancelRestart()
    if (this.process === undefined) this.restart()
    const process = this.running()
    try {
      await process.runs
    } catch (error) {
      // What follows the end of the process is decided first.
      await process.ended
      throw error
    }
  }

  /** Waits for the end of a process whose job has ended: until then it has its ports. */
  private async awaitEnd(process: JobProcess): Promise<void> {
    await orAfter(this.environment.clock, PORTS_CLOSED_MS, process.ended, () => {})
  }

  private spawn(): JobProcess {
    const { logs, program, argsOf } = this.environment
    const log = logs.openLog(this.id)
    try {
      const process = new JobProcess({ jobId: this.id, program, args: argsOf(this.record), log })
      this.process = process
      return process
    } finally {
      logs.closeLog(log)
    }
  }

  private restart(): void {
    const { say, clock } = this.environment
    try {
      const process = this.spawn()
      this.save({ pid: process.pid })
      this.watch(process)
    } catch (error) {
      say(`job ${this.id}: no process can be started: ${messageOf(error)}; trying again`)
      this.cancelRestart = clock.after(RETRY_MS, () => this.restart())
    }
  }

  /** Acts on the end of a process. */
  private watch(process: JobProcess): void {
    let startError: ErrorCode | undefined
    process.started.then(
      (snapshot) => {
        // Until now the job was restarting: the last snapshot is that of the lost process.
        this.withoutProcess = undefined
        this.save({ snapshot })
      },
      (error: unknown) => {
        if (isWeirError(error) && error.code !== 'UNAVAILABLE') startError = error.code
      },
    )
    void process.ended.then((end) => this.onEnd(process, end, startError))
  }

  private onEnd(process: JobProcess, end: ProcessEnd, startError: ErrorCode | undefined): void {
    const { clock, random, strategyOf } = this.environment
    this.process = undefined
    const sent = process.lastSnapshot
    const { decision, history } = decideAfterExit(
      { lastStatus: sent?.status, isRequested: process.isEndRequested, startError, ...end },
      {
        strategy: strategyOf(this.record),
        history: this.record.restarts,
        nowMs: clock.nowMs(),
        random,
      },
    )
    if (this.fallback !== undefined && isFailedStart(decision, sent, startError)) {
      this.lose(sent, end, startError)
      this.enter('RESTARTING')
      this.save({ submission: this.fallback })
      this.fallback = undefined
      this.say(end, 'it goes on with the parallelism that it had')
      this.restart()
      return
    }
    switch (decision.kind) {
      case 'ended':
        this.save({ hasEnded: true, pid: undefined, snapshot: sent })
        return
      case 'suspended':
        this.enter(this.isRescaling ? 'RESTARTING' : 'SUSPENDED')
        this.save({ pid: undefined })
        return
      case 'restart':
        this.lose(sent, end, startError)
        this.enter('RESTARTING')
        this.save({ restarts: history })
        this.say(end, `another process starts in ${decision.delayMs / 1000} s`)
        this.cancelRestart = clock.after(decision.delayMs, () => this.restart())
        return
      case 'failed':
        this.lose(sent, end, startError)
        this.say(end, `the job has failed: ${decision.reason}`)
        this.endWithoutProcess('FAILED')
    }
  }

  private lose(
    sent: JobSnapshot | undefined,
    end: ProcessEnd,
    startError: ErrorCode | undefined,
  ): void {
    const why =
      startError === undefined ? exitText(end) : `it could not start the job: ${startError}`
    this.record = recordAfterLoss(this.record, sent, {
      atMs: this.environment.clock.nowMs(),
      code: startError ?? 'JOB_PROCESS_LOST',
      message: `the process of the job was lost: ${why}; see its log`,
    })
  }

  private endWithoutProcess(status: 'CANCELED' | 'FAILED'): void {
    this.enter(status)
    this.save({ hasEnded: true, pid: undefined })
  }

  private enter(status: JobStatus): void {
    this.withoutProcess = status
    this.sinceMs = this.environment.clock.nowMs()
  }

  private say(end: ProcessEnd, next: string): void {
    this.environment.say(`job ${this.id}: its process was lost (${exitText(end)}); ${next}`)
  }

  /** Changes the record. If the disk refuses it, the change is in memory only: the job goes on. */
  private save(changes: Partial<JobRecord>): void {
    this.record = { ...this.record, ...changes }
    try {
      this.environment.store.put(this.record)
    } catch (error) {
      this.environment.say(`warning: ${messageOf(error)}`)
    }
  }

  /** What the process says now; what it said last if it does not answer any more. */
  private async sentSnapshot(): Promise<JobSnapshot | undefined> {
    const { process, record } = this
    if (process === undefined) return record.snapshot
    if (process.lastSnapshot === undefined) return record.snapshot
    return await process.snapshot().catch(() => process.lastSnapshot)
  }

  private running(): JobProcess {
    if (this.process !== undefined) return this.process
    const status = this.withoutProcess ?? this.record.snapshot?.status ?? 'CREATED'
    throw new WeirError('ILLEGAL_STATE', `job ${this.id} is ${status}, not RUNNING`)
  }
}

function processLost(id: string): WeirError {
  return new WeirError('UNAVAILABLE', `the process of job ${id} was lost meanwhile; try again`)
}

/** Whether a job has failed because it cannot start. */
function isFailedStart(
  { kind }: ExitDecision,
  sent: JobSnapshot | undefined,
  startError: ErrorCode | undefined,
): boolean {
  return kind === 'ended'
    ? sent?.status === 'FAILED'
    : kind === 'failed' && startError !== undefined
}
