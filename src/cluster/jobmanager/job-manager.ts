import { randomBytes } from 'node:crypto'
import type { Cancel, Clock } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import type { Random } from '../../core/random.ts'
import { NO_FAILURES } from '../../runtime/configuration/restart-strategy.ts'
import type { Cluster, JobSubmission, Logs } from '../rest/port/cluster.ts'
import type { JobControl } from '../rest/port/job-control.ts'
import type { JobSnapshot, ProcessSnapshot } from '../rest/port/job-snapshot.ts'
import { requireJobShare } from './job-share.ts'
import type { JobLogs } from './logs.ts'
import { type JobEnvironment, ManagedJob } from './managed-job.ts'
import type { JobProgram } from './process/job-process.ts'
import { onFreeQueryPort } from './query-port.ts'
import type { JobRecord } from './store/job-record.ts'

/** Options of a JobManager. */
export interface JobManagerOptions
  extends Pick<JobEnvironment, 'argsOf' | 'strategyOf' | 'say' | 'store'> {
  readonly version: string
  readonly program: JobProgram
  readonly logs: JobLogs
  readonly configuration: Readonly<Record<string, string>>
  readonly clock: Clock
  readonly random: Random
  readonly process: () => ProcessSnapshot
  /** Jobs that may run at a time. */
  readonly maxJobs: number
  /** Checks a submission. Throws INVALID_ARGUMENT, UNKNOWN_OPTION, ACCESS_DENIED. */
  readonly check: (submission: JobSubmission) => void
}

/** Name of the JobManager's own log. */
export const OWN_LOG = 'jobmanager'

/** Runs many jobs, each in a separate process, and knows them again after its own end. */
export class JobManager implements Cluster {
  readonly isJobManager = true
  readonly version: string
  readonly configuration: Readonly<Record<string, string>>
  readonly process: () => ProcessSnapshot
  /** Resolves when a client has asked for the end of the cluster and every job has a last checkpoint. */
  readonly stopped: Promise<void>
  private readonly options: JobManagerOptions
  private readonly managed = new Map<string, ManagedJob>()
  private readonly settleStopped: PromiseWithResolvers<void>
  private ending: Promise<void> | undefined
  private stopShortening: Cancel = () => {}
  /** Submissions one after the other, so that no two choose the same port. */
  private submissions: Promise<unknown> = Promise.resolve()

  private constructor(options: JobManagerOptions) {
    this.options = options
    this.version = options.version
    this.configuration = options.configuration
    this.process = options.process
    this.settleStopped = Promise.withResolvers()
    this.stopped = this.settleStopped.promise
  }

  /** Reads the store and continues every job of it that has not ended. */
  static async start(options: JobManagerOptions): Promise<JobManager> {
    const manager = new JobManager(options)
    const { records, damaged } = await options.store.open()
    for (const error of damaged) options.say(`warning: ${error.code}: ${error.message}`)
    for (const record of records) manager.add(record)
    manager.stopShortening = options.logs.keepWithinSize(options.clock)
    const unfinished = [...manager.managed.values()].filter(({ hasEnded }) => !hasEnded)
    for (const job of unfinished) void job.resume()
    return manager
  }

  async jobs(): Promise<readonly JobSnapshot[]> {
    const newestFirst = [...this.managed.values()].sort((a, b) => b.submittedMs - a.submittedMs)
    return await Promise.all(newestFirst.map((job) => job.snapshot()))
  }

  job(id: string): JobControl | undefined {
    return this.managed.get(id)
  }

  submit(submission: JobSubmission, client?: string): Promise<string> {
    this.options.check(submission)
    const submitted = this.submissions.then(() => this.submitNow(submission, client))
    this.submissions = submitted.catch(() => {})
    return submitted
  }

  async rescale(jobId: string, parallelism: number): Promise<void> {
    const job = this.managed.get(jobId)
    if (job === undefined) throw new WeirError('NOT_FOUND', `no job has the id ${jobId}`)
    await job.rescale(parallelism)
  }

  async shutDown(): Promise<void> {
    // The client gets its answer before the port closes.
    void this.end()
  }

  /** Ends every process with a last checkpoint; `stopped` resolves. */
  end(): Promise<void> {
    this.ending ??= this.endAll()
    return this.ending
  }

  get logs(): Logs {
    return this.options.logs.of(OWN_LOG)
  }

  logsOf(jobId: string): Logs | undefined {
    return this.managed.has(jobId) ? this.options.logs.of(jobId) : undefined
  }

  private add(record: JobRecord): ManagedJob {
    const { process: jobManager, ...rest } = this.options
    const job = new ManagedJob(record, { ...rest, jobManager })
    this.managed.set(record.id, job)
    return job
  }

  private async submitNow(submission: JobSubmission, client?: string): Promise<string> {
    const { clock, store, maxJobs: most } = this.options
    const unfinished = [...this.managed.values()].filter(({ hasEnded }) => !hasEnded)
    requireJobShare({ running: unfinished.map((job) => job.client), client, most })
    const start = (queryPort?: number): Promise<ManagedJob> =>
      this.start({
        id: randomBytes(16).toString('hex'),
        submission,
        ...(client === undefined ? {} : { client }),
        queryPort,
        submittedMs: clock.nowMs(),
        hasEnded: false,
        earlierAttempts: 0,
        failures: [],
        restarts: NO_FAILURES,
        pid: undefined,
        snapshot: undefined,
      })
    const taken = [...this.managed.values()].flatMap(({ queryPort }) => queryPort ?? [])
    const hasPort = Object.hasOwn(submission.options, 'port')
    const job = await (hasPort ? start() : onFreeQueryPort(taken, start))
    for (const id of await store.dropOld()) this.managed.delete(id)
    return job.id
  }

  /** Starts a new job; one that cannot start is none of this JobManager. */
  private async start(record: JobRecord): Promise<ManagedJob> {
    const job = this.add(record)
    try {
      await job.submit()
      return job
    } catch (error) {
      this.managed.delete(job.id)
      throw error
    }
  }

  private async endAll(): Promise<void> {
    await this.submissions
    await Promise.all([...this.managed.values()].map((job) => job.suspend()))
    this.stopShortening()
    this.settleStopped.resolve()
  }
}
