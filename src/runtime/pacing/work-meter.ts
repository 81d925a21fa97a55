import type { MetricGroup } from '../../core/metrics.ts'

/** Why a subtask waits while it does not process. */
export type WaitKind = 'idle' | 'backPressured'

/**
 * Divides a subtask's time into busy, idle and backpressured, under Flink's metric names. Each gauge
 * gives milliseconds per second, over the last second or longer.
 */
export class WorkMeter {
  private readonly totals = { busy: 0, idle: 0, backPressured: 0 }
  private readonly nowMs: () => number
  private waitingSince: number
  private waitKind: WaitKind = 'idle'

  constructor(metrics: MetricGroup, nowMs: () => number) {
    this.nowMs = nowMs
    this.waitingSince = nowMs()
    metrics.gauge(
      'busyTimeMsPerSecond',
      rateGauge(nowMs, () => this.totals.busy),
    )
    metrics.gauge(
      'idleTimeMsPerSecond',
      rateGauge(nowMs, () => this.total('idle')),
    )
    metrics.gauge(
      'backPressuredTimeMsPerSecond',
      rateGauge(nowMs, () => this.total('backPressured')),
    )
    metrics.gauge('accumulatedBusyTimeMs', () => this.totals.busy)
    metrics.gauge('accumulatedIdleTimeMs', () => this.total('idle'))
    metrics.gauge('accumulatedBackPressuredTimeMs', () => this.total('backPressured'))
  }

  /** The subtask processed from `startMs` to `endMs`; `next`: why it waits now. */
  worked(startMs: number, endMs: number, next: WaitKind): void {
    this.totals[this.waitKind] += Math.max(0, startMs - this.waitingSince)
    this.totals.busy += endMs - startMs
    this.waitingSince = endMs
    this.waitKind = next
  }

  /** The subtask did nothing, for this reason. */
  waits(nowMs: number, kind: WaitKind): void {
    if (kind === this.waitKind) return
    this.totals[this.waitKind] += nowMs - this.waitingSince
    this.waitingSince = nowMs
    this.waitKind = kind
  }

  private total(kind: WaitKind): number {
    const open = kind === this.waitKind ? this.nowMs() - this.waitingSince : 0
    return this.totals[kind] + open
  }
}

/** A gauge of the growth of `total` per second, over the last second or longer. */
export function rateGauge(nowMs: () => number, total: () => number): () => number {
  let fromMs = nowMs()
  let from = total()
  let rate = 0
  return () => {
    const elapsed = nowMs() - fromMs
    if (elapsed < 1000 && rate > 0) return rate
    if (elapsed <= 0) return rate
    const now = total()
    rate = ((now - from) * 1000) / elapsed
    if (elapsed >= 1000) {
      fromMs += elapsed
      from = now
    }
    return rate
  }
}
