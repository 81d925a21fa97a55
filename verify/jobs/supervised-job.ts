import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { openSync } from 'node:fs'
import { join } from 'node:path'
import type { Disturbance } from '../checks/observation.ts'
import type { QueryLine } from '../world/query-line.ts'
import type { JobProcessSettings, JobReport } from './messages.ts'

/** Delay of a restart, as of a real supervisor. */
const RESTART_MS = 200
/** Time after a freeze within which the job reports that it restarts, if it does. */
const FROZEN_MS = 500

/** Options of a supervised job. */
export interface SupervisedJobOptions {
  readonly name: string
  readonly slots: number
  readonly settings: JobProcessSettings
  /** Gets a proxy for each query port of the job. */
  readonly line: QueryLine
  /** Folder of the log file. */
  readonly folder: string
  /** The program of its process. */
  readonly program: string
}

/** A job process that starts again whenever it ends, as under a supervisor. */
export class SupervisedJob {
  readonly name: string
  slots: number
  readonly disturbances: Disturbance[] = []
  /** Number of processes so far. */
  processes = 0
  /** Number of messages from processes so far. */
  reports = 0
  /** Number of attempts that ran. */
  attempts = 0
  running = false
  /** Why the job did not run, each time that it did not. */
  readonly causes: string[] = []
  /** When the newest completed checkpoint was triggered. */
  checkpointMs = 0
  private settings: JobProcessSettings
  private readonly program: string
  private readonly line: QueryLine
  private readonly log: number
  private child: ChildProcess | undefined
  private disturbedSince: number | undefined
  private stopping = false
  /** A process that was replaced and has not ended. */
  private frozen: ChildProcess | undefined
  private readonly stateFolder: string
  private replacements = 0

  constructor({ name, slots, settings, line, folder, program }: SupervisedJobOptions) {
    this.name = name
    this.slots = slots
    this.settings = settings
    this.stateFolder = settings.configuration['state.backend.directory']!
    this.program = program
    this.line = line
    this.log = openSync(join(folder, `${name}.log`), 'a')
  }

  /** Starts the process. */
  start(): void {
    this.disturb(Date.now())
    this.processes += 1
    const child = fork(this.program, [JSON.stringify(this.settings)], {
      stdio: ['ignore', this.log, this.log, 'ipc'],
      // Ctrl-C reaches only the verifier.
      detached: true,
    })
    this.child = child
    child.on('message', (report: JobReport) => {
      if (this.child === child) this.onReport(report)
    })
    child.on('exit', () => this.onExit(child))
    child.on('error', () => undefined)
  }

  private onReport(report: JobReport): void {
    this.reports += 1
    if (report.kind === 'state') {
      this.checkpointMs = Math.max(this.checkpointMs, report.checkpointTriggeredMs)
      this.line.listen(report.ports)
      return
    }
    this.running = report.to === 'RUNNING'
    if (report.cause !== undefined) this.causes.push(report.cause)
    if (!this.running) {
      this.disturb(report.atMs)
      return
    }
    this.attempts += 1
    if (this.disturbedSince === undefined) return
    this.disturbances.push({ fromMs: this.disturbedSince, toMs: report.atMs })
    this.disturbedSince = undefined
  }

  private disturb(atMs: number): void {
    this.disturbedSince ??= atMs
  }

  private onExit(child: ChildProcess): void {
    if (this.child !== child) return
    this.disturb(Date.now())
    this.running = false
    this.child = undefined
    if (!this.stopping) setTimeout(() => this.restart(), RESTART_MS)
  }

  private restart(): void {
    if (!this.stopping && this.child === undefined) this.start()
  }

  /** All times in which live values can go back, including the current one. */
  allDisturbances(): Disturbance[] {
    const { disturbedSince, disturbances } = this
    if (disturbedSince === undefined) return disturbances
    return [...disturbances, { fromMs: disturbedSince, toMs: Number.POSITIVE_INFINITY }]
  }

  /** Id of the job, which its checkpoint folder is named after. */
  get jobId(): string {
    return this.settings.jobId
  }

  /** The next process runs at this parallelism. */
  rescale(slots: number): void {
    this.slots = slots
    const configuration = {
      ...this.settings.configuration,
      'parallelism.default': String(slots),
    }
    this.settings = { ...this.settings, configuration }
  }

  /** The next process runs with these options of the job. */
  reconfigure(jobOptions: Readonly<Record<string, unknown>>): void {
    this.settings = { ...this.settings, jobOptions: { ...this.settings.jobOptions, ...jobOptions } }
  }

  /** Stops the process without its notice, as a suspended virtual machine, and lets it go on. */
  async freeze(ms: number): Promise<void> {
    await this.freezeDuring(() => new Promise((resolve) => setTimeout(resolve, ms)))
  }

  /** Stops the process without its notice as long as some work takes, and lets it go on. */
  async freezeDuring(work: () => Promise<void>): Promise<void> {
    const { child } = this
    if (child === undefined) return
    this.disturb(Date.now())
    child.kill('SIGSTOP')
    try {
      await work()
    } finally {
      child.kill('SIGCONT')
    }
    // The attempt may survive without a report.
    if (this.running && this.disturbedSince !== undefined) {
      this.disturbances.push({ fromMs: this.disturbedSince, toMs: Date.now() + FROZEN_MS })
      this.disturbedSince = undefined
    }
  }

  /** Kills one slot of the job. */
  killSlot(slot: number): void {
    if (this.child?.connected) this.child.send({ killSlot: slot })
  }

  /** Bootstrap port of queries; another one after `replaceFrozen`. */
  get port(): number {
    return this.settings.port
  }

  /**
   * Freezes the process, starts the next one as on another machine, at another query port, and wakes the
   * frozen one when the next has completed a checkpoint. The frozen one must end by itself;
   * returns whether it did within `limitMs`.
   */
  async replaceFrozen(port: number, limitMs: number): Promise<boolean> {
    const { child: frozen } = this
    if (frozen === undefined) return true
    this.disturb(Date.now())
    frozen.kill('SIGSTOP')
    const ended = once(frozen, 'exit')
    this.frozen = frozen
    this.running = false
    this.replacements += 1
    const folder = `${this.stateFolder}-${this.replacements}`
    const configuration = { ...this.settings.configuration, 'state.backend.directory': folder }
    this.settings = { ...this.settings, configuration, port }
    this.start()
    const sinceMs = Date.now()
    await this.waitFor(() => this.running && this.checkpointMs > sinceMs, limitMs)
    frozen.kill('SIGCONT')
    const late = setTimeout(() => frozen.kill('SIGKILL'), limitMs)
    const [code] = (await ended) as [number | null]
    clearTimeout(late)
    this.frozen = undefined
    return code !== null
  }

  private async waitFor(check: () => boolean, limitMs: number): Promise<void> {
    const giveUpAt = performance.now() + limitMs
    while (!check() && performance.now() < giveUpAt) {
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }

  /** Sends a signal to the process and waits for its end. */
  async signal(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const { child } = this
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    this.disturb(Date.now())
    const ended = once(child, 'exit')
    child.kill(signal)
    await ended
  }

  /** Ends the process without a restart. A process that does not end in time is killed; then returns false. */
  async stop(signal: 'SIGKILL' | 'SIGTERM', limitMs = 120_000): Promise<boolean> {
    this.stopping = true
    this.frozen?.kill('SIGKILL')
    let late = false
    const limit = setTimeout(() => {
      late = true
      this.child?.kill('SIGKILL')
    }, limitMs)
    await this.signal(signal)
    clearTimeout(limit)
    return !late
  }
}
