import { FixedHistogram, type HistogramSnapshot } from '../../../core/prometheus/histogram.ts'

/** Durations and sizes of completed checkpoints. */
export interface CheckpointHistograms {
  /** From trigger to completion. */
  readonly durationSeconds: HistogramSnapshot
  /** Bytes that the checkpoints added. */
  readonly sizeBytes: HistogramSnapshot
}

const DURATION_BOUNDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 600]
/** 1 KiB to 64 GiB, each bound four times the one before. */
const SIZE_BOUNDS = Array.from({ length: 14 }, (_, i) => 1024 * 4 ** i)

/** Counts the completed checkpoints of a job by duration and size. */
export class CompletedCheckpoints {
  private readonly durations = new FixedHistogram(DURATION_BOUNDS)
  private readonly sizes = new FixedHistogram(SIZE_BOUNDS)

  add(durationMs: number, bytes: number): void {
    this.durations.observe(durationMs / 1000)
    this.sizes.observe(bytes)
  }

  snapshot(): CheckpointHistograms {
    return { durationSeconds: this.durations.snapshot(), sizeBytes: this.sizes.snapshot() }
  }
}
