/** A histogram as plain data: it can be sent to another thread or process. */
export interface HistogramSnapshot {
  /** Upper bounds of the buckets, ascending, inclusive; the last bucket, above all of them, has none. */
  readonly bounds: readonly number[]
  /** Observations of each bucket alone. [bounds + 1] */
  readonly counts: readonly number[]
  readonly sum: number
}

/**
 * Counts of observations in fixed buckets, so that histograms of several threads can be added. An
 * observation allocates nothing.
 */
export class FixedHistogram {
  private readonly bounds: readonly number[]
  private readonly counts: Float64Array
  private sum = 0

  /** `bounds` as in `HistogramSnapshot`. */
  constructor(bounds: readonly number[]) {
    this.bounds = bounds
    this.counts = new Float64Array(bounds.length + 1)
  }

  /** Counts one observation. */
  observe(value: number): void {
    const { bounds } = this
    let bucket = 0
    while (bucket < bounds.length && value > bounds[bucket]!) bucket += 1
    this.counts[bucket]! += 1
    this.sum += value
  }

  snapshot(): HistogramSnapshot {
    return { bounds: this.bounds, counts: [...this.counts], sum: this.sum }
  }
}

/** The histogram of the observations of both, which have the same bounds. */
export function addHistograms(a: HistogramSnapshot, b: HistogramSnapshot): HistogramSnapshot {
  return {
    bounds: a.bounds,
    counts: a.counts.map((count, bucket) => count + b.counts[bucket]!),
    sum: a.sum + b.sum,
  }
}
