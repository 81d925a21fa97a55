import { type Clock, sleep } from '../../../core/clock.ts'
import { WeirError } from '../../../core/errors.ts'
import type { LoadGenerator, LoadRun } from '../port/generator.ts'
import type { Load } from '../port/load.ts'
import { failedIn, joinWindows, type LoadWindow } from '../port/window.ts'
import {
  COMPARED_WINDOWS,
  isStable,
  type JudgedLatency,
  judgedMs,
  throughputOf,
} from './stability.ts'

/** Options of the measurement of one level. */
export interface MeasureOptions {
  /** Length of a window, ms. */
  readonly intervalMs: number
  /** Requests that a window has at least; it lasts that much longer. @default 0 */
  readonly windowRequests: number
  /** Highest difference of the last three windows, percent. */
  readonly stabilityPercentage: number
  readonly judged: JudgedLatency
  /** Windows after which the measurement ends without being stable. */
  readonly maxTrials: number
  /** Highest judged latency, ms. */
  readonly latencyThresholdMs: number | undefined
  readonly warmupRequests: number
  /** Requests of the whole measurement; without it, it ends when it is stable. */
  readonly requestCount: number | undefined
  /** Ends the measurement with what there is. */
  readonly interrupted: AbortSignal
  readonly clock: Clock
  /** Called after each window with its number, from 1. */
  readonly onWindow?: (load: Load, window: LoadWindow, number: number) => void
}

/** What was measured under one load. */
export interface LevelResult {
  readonly load: Load
  /** Whether the windows agree; a load with an end, whose requests all count, is stable. */
  readonly isStable: boolean
  readonly isInterrupted: boolean
  /** Windows that were measured; the last three count, or all of a load with an end. */
  readonly windows: number
  /** The windows that count, and the answers that came after them. */
  readonly measured: LoadWindow
  /** Answered requests per second in the windows that count. */
  readonly throughput: number
  /** The judged latency, ms. */
  readonly judgedMs: number
}

/** Failures of overload: they say something about the level, not about the settings. */
const OF_OVERLOAD: ReadonlySet<string> = new Set(['OVERLOADED', 'DEADLINE_EXCEEDED'])

/**
 * Measures one level: warm-up, then windows until the last three agree. Rejects with the error of the
 * requests when every request of a window failed, and not for overload.
 */
export async function measureLevel(
  generator: LoadGenerator,
  load: Load,
  options: MeasureOptions,
): Promise<LevelResult> {
  if (options.warmupRequests > 0) {
    const warmup = await generator.start(load, options.warmupRequests)
    await Promise.race([warmup.finished, aborted(options.interrupted)])
    await warmup.stop()
  }
  const run = await generator.start(load, options.requestCount)
  try {
    const measurement = new Measurement(run, load, options)
    return await measurement.result()
  } catch (error) {
    await run.stop()
    throw error
  }
}

class Measurement {
  private readonly run: LoadRun
  private readonly load: Load
  private readonly options: MeasureOptions
  private readonly windows: LoadWindow[] = []
  /** Whether the load ends by itself; then all its requests count. */
  private readonly hasEnd: boolean
  private isFinished = false

  constructor(run: LoadRun, load: Load, options: MeasureOptions) {
    this.run = run
    this.load = load
    this.options = options
    this.hasEnd = options.requestCount !== undefined || load.kind === 'trace'
    void run.finished.then(() => {
      this.isFinished = true
    })
  }

  async result(): Promise<LevelResult> {
    const { interrupted } = this.options
    do {
      const window = await this.window()
      this.windows.push(window)
      this.options.onWindow?.(this.load, window, this.windows.length)
      refuseIfNothingWorks(window)
    } while (!this.isFinished && !interrupted.aborted && (this.hasEnd || this.goesOn()))
    const isInterrupted = interrupted.aborted && !this.isFinished
    const counted = this.hasEnd ? this.windows : this.windows.slice(-COMPARED_WINDOWS)
    // Requests that were due in the windows are answered after them: without these, a stall at the end
    // would not show.
    const late = await this.run.stop()
    const inWindows = joinWindows(counted)
    const measured = { ...joinWindows([...counted, late]), durationMs: inWindows.durationMs }
    return {
      load: this.load,
      isStable: this.hasEnd ? !isInterrupted : this.isStable(),
      isInterrupted,
      windows: this.windows.length,
      measured: { ...measured, busyMs: inWindows.busyMs },
      throughput: throughputOf(inWindows),
      judgedMs: judgedMs(measured, this.options.judged),
    }
  }

  /** The next window: an interval, and longer until it has enough requests. */
  private async window(): Promise<LoadWindow> {
    const { interrupted, clock, intervalMs, windowRequests } = this.options
    const parts: LoadWindow[] = []
    let requests = 0
    do {
      await Promise.race([sleep(clock, intervalMs), this.run.finished, aborted(interrupted)])
      const part = await this.run.take()
      parts.push(part)
      requests += part.ok + failedIn(part)
    } while (requests < windowRequests && !this.isFinished && !interrupted.aborted)
    return joinWindows(parts)
  }

  private goesOn(): boolean {
    return this.windows.length < this.options.maxTrials && !this.isStable() && !this.isAbove()
  }

  private isStable(): boolean {
    const { judged, stabilityPercentage: percentage } = this.options
    return isStable(this.windows, { judged, percentage })
  }

  /** Whether all of the last windows are above the threshold: more windows would not change that. */
  private isAbove(): boolean {
    const { judged, latencyThresholdMs: limit } = this.options
    const last = this.windows.slice(-COMPARED_WINDOWS)
    if (limit === undefined || last.length < COMPARED_WINDOWS) return false
    return last.every((window) => !(judgedMs(window, judged) <= limit))
  }
}

/** Throws the error of the requests when all failed, and not for overload. */
function refuseIfNothingWorks({ ok, failures }: LoadWindow): void {
  const [worst] = Object.entries(failures).sort(([, a], [, b]) => b.count - a.count)
  if (ok > 0 || worst === undefined || OF_OVERLOAD.has(worst[0])) return
  const [code, { message, count }] = worst
  throw new WeirError(
    code as keyof typeof failures,
    `every request failed, ${count} of them with: ${message}`,
  )
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
