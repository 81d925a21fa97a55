import { MAX_TIMESTAMP, MIN_TIMESTAMP } from '../../core/time.ts'
import type { WatermarkAlignment } from '../../dataflow/watermark-strategy.ts'
import type { Source, SourceReader } from '../../operators/port/source.ts'
import type { SourceWatermarks } from './watermarks.ts'

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
 * A source subtask's part in watermark alignment: reports its watermark from time to time, says whether the subtask is
 * too far ahead of the others of its group, and holds back its partitions that are. Times are of the wall clock.
 */
export class SourceAlignment {
  private readonly intervalMs: number
  private readonly byPartition: boolean
  private readonly send: (report: SourceWatermarkReport) => void
  private allowed = MAX_TIMESTAMP
  /** Partitions that are too far ahead, of which the reader delivers none. */
  private heldBack: ReadonlySet<number> = new Set()
  private lastReportMs = Number.NEGATIVE_INFINITY

  constructor(
    alignment: WatermarkAlignment,
    boundedness: Source<unknown>['boundedness'],
    send: (report: SourceWatermarkReport) => void,
  ) {
    // A partition at its end has a last watermark for which the others of a bounded source would wait forever.
    this.byPartition = boundedness === 'unbounded'
    this.intervalMs = alignment.updateIntervalMs ?? DEFAULT_INTERVAL_MS
    this.send = send
  }

  /** The partitions that are held back. */
  get held(): ReadonlySet<number> {
    return this.heldBack
  }

  /** Holds back the partitions of a reader that are beyond what is allowed, and no others. */
  holdBack(
    reader: Pick<SourceReader<unknown>, 'holdBack'>,
    watermarks: Pick<SourceWatermarks, 'beyond'>,
  ): void {
    if (!this.byPartition || reader.holdBack === undefined) return
    const partitions = watermarks.beyond(this.allowed)
    const { size } = this.heldBack
    if (partitions.size === size && [...partitions].every((one) => this.heldBack.has(one))) return
    this.heldBack = partitions
    reader.holdBack(partitions)
  }

  /** A new reader holds no partition back. */
  readerOpened(): void {
    this.heldBack = new Set()
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
