import { MAX_TIMESTAMP, MIN_TIMESTAMP } from '../../core/time.ts'
import type { WatermarkAlignment } from '../../dataflow/watermark-strategy.ts'

/** From a source subtask to the groups of the job: its watermark, MAX_TIMESTAMP when it holds nothing back. */
export interface SourceWatermarkReport {
  readonly sourceWatermark: number
}

/** From the groups of the job to a source: the watermark beyond which it reads no more. */
export interface AllowedWatermark {
  readonly allowedWatermark: number
}

const DEFAULT_INTERVAL_MS = 1000

/**
 * A source subtask's part in watermark alignment: reports its watermark from time to time, and says whether the
 * subtask is too far ahead of the others of its group. Times are of the wall clock.
 */
export class SourceAlignment {
  private readonly intervalMs: number
  private readonly send: (report: SourceWatermarkReport) => void
  private allowed = MAX_TIMESTAMP
  private lastReportMs = Number.NEGATIVE_INFINITY

  constructor(alignment: WatermarkAlignment, send: (report: SourceWatermarkReport) => void) {
    this.intervalMs = alignment.updateIntervalMs ?? DEFAULT_INTERVAL_MS
    this.send = send
  }

  /** Takes what the groups of the job answer. */
  allow({ allowedWatermark }: AllowedWatermark): void {
    this.allowed = allowedWatermark
  }

  /** How far a watermark is beyond what is allowed, in ms; 0 or less: the source may read. */
  excessOf(watermark: number): number {
    return watermark - this.allowed
  }

  /** Reports the watermark if a report is due. One without records yet holds no other source back. */
  report(nowMs: number, watermark: number, idle: boolean): void {
    if (nowMs < this.lastReportMs + this.intervalMs) return
    if (watermark === MIN_TIMESTAMP && !idle) return
    this.lastReportMs = nowMs
    this.send({ sourceWatermark: idle ? MAX_TIMESTAMP : watermark })
  }

  /** The source has ended: the others no longer wait for it. */
  ended(): void {
    this.send({ sourceWatermark: MAX_TIMESTAMP })
  }

  /** When `report` must be called. */
  nextReportMs(nowMs: number): number {
    return Math.max(nowMs, this.lastReportMs + this.intervalMs)
  }
}
