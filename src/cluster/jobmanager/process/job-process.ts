import { type ChildProcess, fork } from 'node:child_process'
import { WeirError } from '../../../core/errors.ts'
import type { MetricSnapshot } from '../../../core/metrics.ts'
import { isTerminal } from '../../../runtime/job/status.ts'
import type { CpuProfile, JobControl, StopRequest } from '../../rest/port/job-control.ts'
import type { JobData } from '../../rest/port/job-data.ts'
import type { JobSnapshot } from '../../rest/port/job-snapshot.ts'
import { errorOf } from './error-message.ts'
import { JOB_ID_VARIABLE } from './job-identity.ts'
import type { JobCall, JobCommand, JobReport } from './messages.ts'

/** The program that runs a job: `weir` itself. */
export interface JobProgram {
  /** File of the program's entry. */
  readonly script: string
  /** Flags of Node. */
  readonly nodeFlags: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Options of the process of a job. */
export interface JobProcessOptions {
  readonly jobId: string
  readonly program: JobProgram
  readonly args: readonly string[]
  /** Open file that takes the output of the process. */
  readonly log: number
}

/** How a process ended. */
export interface ProcessEnd {
  readonly code: number | null
  readonly signal: string | null
}

/** The process of a job, as the JobManager sees it. Calls throw UNAVAILABLE once the process has ended. */
export class JobProcess implements JobControl {
  readonly id: string
  /** Resolves when the process has ended. */
  readonly ended: Promise<ProcessEnd>
  /** The last snapshot that the process sent. */
  lastSnapshot: JobSnapshot | undefined
  /** Whether this side asked the process to end. */
  isEndRequested = false
  private readonly child: ChildProcess
  private readonly startedJob = Promise.withResolvers<JobSnapshot>()
  private readonly runningJob = Promise.withResolvers<void>()
  private readonly waiting = new Map<number, PromiseWithResolvers<unknown>>()
  private requests = 0
  /** A snapshot that is on its way: one page of a dashboard asks for it several times at once. */
  private coming: Promise<JobSnapshot> | undefined

  constructor({ jobId, program, args, log }: JobProcessOptions) {
    this.id = jobId
    this.startedJob.promise.catch(() => {})
    this.runningJob.promise.catch(() => {})
    this.child = fork(program.script, [...args], {
      execArgv: [...program.nodeFlags],
      env: { ...program.env, [JOB_ID_VARIABLE]: jobId },
      stdio: ['ignore', log, log, 'ipc'],
      serialization: 'advanced',
      // Ctrl-C in a terminal reaches the whole group: the JobManager ends its jobs itself, in order.
      detached: true,
    })
    this.child.on('message', (report) => this.onReport(report as JobReport))
    this.ended = new Promise((resolve) => {
      this.child.on('error', () => this.onEnd(resolve, { code: null, signal: 'none' }))
      this.child.on('exit', (code, signal) => this.onEnd(resolve, { code, signal }))
    })
  }

  get pid(): number | undefined {
    return this.child.pid
  }

  /** Resolves when the job is started. Throws what kept it from it. */
  get started(): Promise<JobSnapshot> {
    return this.startedJob.promise
  }

  /** Resolves when the job runs for the first time. Throws what kept it from it. */
  get runs(): Promise<void> {
    return this.runningJob.promise
  }

  snapshot(): Promise<JobSnapshot> {
    this.coming ??= this.requestSnapshot().finally(() => {
      this.coming = undefined
    })
    return this.coming
  }

  async cancel(): Promise<void> {
    await this.call({ method: 'cancel' })
  }

  async checkpoint(): Promise<number> {
    return (await this.call({ method: 'checkpoint' })) as number
  }

  async savepoint(folder: string | undefined): Promise<string> {
    return (await this.call({ method: 'savepoint', folder })) as string
  }

  async stop(request: StopRequest): Promise<string> {
    return (await this.call({ method: 'stop', request })) as string
  }

  get data(): JobData {
    return remoteJobData((of, request) => this.call({ method: 'data', of, request }))
  }

  async keyGroupRecords(uid: string): Promise<MetricSnapshot> {
    return (await this.call({ method: 'keyGroupRecords', uid })) as MetricSnapshot
  }

  async profile(slot: number, durationMs: number): Promise<CpuProfile> {
    return (await this.call({ method: 'profile', slot, durationMs })) as CpuProfile
  }

  /** Asks the process to take a last checkpoint and to end; `kill` ends it at once. */
  end(how: 'gently' | 'kill' = 'gently'): void {
    this.isEndRequested = true
    this.child.kill(how === 'kill' ? 'SIGKILL' : 'SIGTERM')
  }

  private async requestSnapshot(): Promise<JobSnapshot> {
    this.lastSnapshot = (await this.call({ method: 'snapshot' })) as JobSnapshot
    return this.lastSnapshot
  }

  private call(call: JobCall): Promise<unknown> {
    const request = ++this.requests
    const answer = Promise.withResolvers<unknown>()
    if (!this.child.connected) return Promise.reject(this.goneError())
    this.waiting.set(request, answer)
    this.child.send({ kind: 'call', request, call } satisfies JobCommand, (error) => {
      if (error !== null) this.settle(request)?.reject(this.goneError())
    })
    return answer.promise
  }

  private onReport(report: JobReport): void {
    switch (report.kind) {
      case 'started':
      case 'changed':
        this.lastSnapshot = report.snapshot
        this.startedJob.resolve(report.snapshot)
        this.settleRunning(report.snapshot)
        return
      case 'not-started':
        this.startedJob.reject(errorOf(report.error))
        this.runningJob.reject(errorOf(report.error))
        return
      case 'reply':
        this.settle(report.request)?.resolve(report.value)
        return
      case 'failure':
        this.settle(report.request)?.reject(errorOf(report.error))
    }
  }

  private settleRunning({ id, status, failures }: JobSnapshot): void {
    if (status === 'RUNNING' || status === 'FINISHED') this.runningJob.resolve()
    if (!isTerminal(status)) return
    const why = failures.at(-1)?.message ?? 'it says no reason'
    this.runningJob.reject(new WeirError('ILLEGAL_STATE', `job ${id} is ${status}: ${why}`))
  }

  private settle(request: number): PromiseWithResolvers<unknown> | undefined {
    const answer = this.waiting.get(request)
    this.waiting.delete(request)
    return answer
  }

  private onEnd(resolve: (end: ProcessEnd) => void, end: ProcessEnd): void {
    const gone = this.goneError()
    this.startedJob.reject(gone)
    this.runningJob.reject(gone)
    for (const request of [...this.waiting.keys()]) this.settle(request)?.reject(gone)
    resolve(end)
  }

  private goneError(): WeirError {
    return new WeirError('UNAVAILABLE', `the process of job ${this.id} has ended; its log says why`)
  }
}

/** Sends a request to the process of a job; resolves with its answer. */
type Ask = (of: keyof JobData, request: object) => Promise<unknown>

/** State, models and topics of a job in another process. */
function remoteJobData(ask: Ask): JobData {
  const method = <M extends keyof JobData>(of: M): JobData[M] => {
    const call = (request: object): Promise<unknown> => ask(of, request)
    return call as unknown as JobData[M]
  }
  return {
    states: method('states'),
    entry: method('entry'),
    rows: method('rows'),
    models: method('models'),
    difference: method('difference'),
    promote: method('promote'),
    rollBack: method('rollBack'),
    recommendations: method('recommendations'),
    servedModels: method('servedModels'),
    topics: method('topics'),
  }
}
