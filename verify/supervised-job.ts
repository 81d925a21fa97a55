import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { openSync } from 'node:fs'
import { join } from 'node:path'
import type { JobProcessSettings, JobReport } from './job-messages.ts'
import type { Disturbance } from './observation.ts'
import type { QueryLine } from './query-line.ts'

const PROCESS = new URL('./job-process.ts', import.meta.url)
/** A supervisor that restarts at once would be kinder than they are. */
const RESTART_MS = 200

/** A job process that is started again whenever it ends, as an operator's supervisor does. */
export class SupervisedJob {
  readonly name: string
  readonly slots: number
  readonly disturbances: Disturbance[] = []
  /** Processes so far. */
  processes = 0
  /** Attempts that ran. */
  attempts = 0
  running = false
  /** When the newest completed checkpoint was triggered. */
  checkpointMs = 0
  private readonly settings: JobProcessSettings
  private readonly line: QueryLine
  private readonly log: number
  private child: ChildProcess | undefined
  private disturbedSince: number | undefined
  private stopping = false

  constructor(
    name: string,
    slots: number,
    settings: JobProcessSettings,
    line: QueryLine,
    folder: string,
  ) {
    this.name = name
    this.slots = slots
    this.settings = settings
    this.line = line
    this.log = openSync(join(folder, `${name}.log`), 'a')
  }

  start(): void {
    this.disturb(Date.now())
    this.processes += 1
    const child = fork(PROCESS, [JSON.stringify(this.settings)], {
      stdio: ['ignore', this.log, this.log, 'ipc'],
      // Ctrl-C is the verifier's to handle.
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
    if (report.kind === 'state') {
      this.checkpointMs = Math.max(this.checkpointMs, report.checkpointTriggeredMs)
      this.line.listen(report.ports)
      return
    }
    this.running = report.to === 'RUNNING'
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

  /** Every time in which live values may have gone back, the present one included. */
  allDisturbances(): Disturbance[] {
    const { disturbedSince, disturbances } = this
    if (disturbedSince === undefined) return disturbances
    return [...disturbances, { fromMs: disturbedSince, toMs: Number.POSITIVE_INFINITY }]
  }

  killSlot(slot: number): void {
    if (this.child?.connected) this.child.send({ killSlot: slot })
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

  /** Ends the process for good; one that does not end in time is killed, and false is returned. */
  async stop(signal: 'SIGKILL' | 'SIGTERM', limitMs = 30_000): Promise<boolean> {
    this.stopping = true
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
