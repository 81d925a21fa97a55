import type { ErrorCode } from '../../../core/errors.ts'
import { LatencyHistogram, type LatencySnapshot } from './latency-histogram.ts'
import type { Outcome } from './target.ts'

/** A request that is sent later than this after its time is late, ms. */
export const LATE_MS = 1

/** Failures with one code. */
export interface FailureCount {
  readonly count: number
  /** The message of the first one. */
  readonly message: string
}

/** What happened in a stretch of time, as plain data. */
export interface LoadWindow {
  readonly durationMs: number
  readonly sent: number
  /** Requests that were answered. */
  readonly ok: number
  /** Answered requests in which a mean row stood in for a missing one. */
  readonly cold: number
  /** Requests that the server refused because of its load; `failures` counts them, too. */
  readonly rejected: number
  readonly failures: Readonly<Partial<Record<ErrorCode, FailureCount>>>
  /** Requests that the generator sent late by its own fault. */
  readonly late: number
  readonly maxLatenessMs: number
  /** Requests that were sent late because too many waited for an answer. */
  readonly heldBack: number
  /** Time in which the generator's threads were busy, ms; the mean over the threads. */
  readonly busyMs: number
  /** Latencies of the answers, and of the requests that got none before their deadline. */
  readonly latency: LatencySnapshot
}

/** Records what happens to requests, one window after the other. */
export class LoadRecorder {
  private sentCount = 0
  private ok = 0
  private cold = 0
  private rejected = 0
  private failures: Partial<Record<ErrorCode, FailureCount>> = {}
  private late = 0
  private maxLatenessMs = 0
  private heldBack = 0
  private latency = new LatencyHistogram()

  /** A request was sent `latenessMs` after its time. */
  sent(latenessMs: number): void {
    this.sentCount += 1
    if (latenessMs <= LATE_MS) return
    this.late += 1
    if (latenessMs > this.maxLatenessMs) this.maxLatenessMs = latenessMs
  }

  /** A request was sent late because too many waited for an answer. */
  sentHeldBack(): void {
    this.sentCount += 1
    this.heldBack += 1
  }

  /** A request ended `latencyMs` after its time. */
  ended(outcome: Outcome, latencyMs: number): void {
    if (outcome.kind === 'ok') {
      this.ok += 1
      if (outcome.isCold) this.cold += 1
      this.latency.record(latencyMs)
    } else this.failed(outcome, latencyMs)
  }

  /**
   * Failures are often fast and would flatter the latencies, so they have none. A request without an
   * answer before its deadline took at least that long.
   */
  private failed({ kind, error }: Exclude<Outcome, { kind: 'ok' }>, latencyMs: number): void {
    if (kind === 'rejected') this.rejected += 1
    if (error.code === 'DEADLINE_EXCEEDED') this.latency.record(latencyMs)
    const before = this.failures[error.code]
    const message = before?.message ?? error.message
    this.failures[error.code] = { count: (before?.count ?? 0) + 1, message }
  }

  /** The window so far, of `durationMs`; the next window starts. */
  take(durationMs: number, busyMs: number): LoadWindow {
    const { ok, cold, rejected, failures, late, maxLatenessMs, heldBack } = this
    const counts = { ok, cold, rejected, failures, late, maxLatenessMs, heldBack }
    const latency = this.latency.snapshot()
    const window = { durationMs, busyMs, sent: this.sentCount, ...counts, latency }
    Object.assign(this, new LoadRecorder())
    return window
  }
}

/** Windows one after the other, as one: durations add up. */
export function joinWindows(windows: readonly LoadWindow[]): LoadWindow {
  const total = (pick: (window: LoadWindow) => number): number =>
    windows.reduce((sum, window) => sum + pick(window), 0)
  const latency = new LatencyHistogram()
  for (const window of windows) latency.add(window.latency)
  return {
    durationMs: total((window) => window.durationMs),
    busyMs: total((window) => window.busyMs),
    sent: total((window) => window.sent),
    ok: total((window) => window.ok),
    cold: total((window) => window.cold),
    rejected: total((window) => window.rejected),
    failures: addFailures(windows.map((window) => window.failures)),
    late: total((window) => window.late),
    maxLatenessMs: Math.max(0, ...windows.map((window) => window.maxLatenessMs)),
    heldBack: total((window) => window.heldBack),
    latency: latency.snapshot(),
  }
}

/** Windows of several threads at the same time, as one: durations are their mean. */
export function overlayWindows(windows: readonly LoadWindow[]): LoadWindow {
  const joined = joinWindows(windows)
  const threads = Math.max(1, windows.length)
  return { ...joined, durationMs: joined.durationMs / threads, busyMs: joined.busyMs / threads }
}

/** Requests that failed in a window. */
export function failedIn({ failures }: Pick<LoadWindow, 'failures'>): number {
  return Object.values(failures).reduce((sum, { count }) => sum + count, 0)
}

function addFailures(all: readonly LoadWindow['failures'][]): LoadWindow['failures'] {
  const sums: Partial<Record<ErrorCode, FailureCount>> = {}
  for (const failures of all) {
    for (const [code, { count, message }] of Object.entries(failures)) {
      const before = sums[code as ErrorCode]
      sums[code as ErrorCode] = {
        count: (before?.count ?? 0) + count,
        message: before?.message ?? message,
      }
    }
  }
  return sums
}
