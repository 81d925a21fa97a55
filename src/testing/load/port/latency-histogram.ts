/** Bits of a bucket's place within its power of two: the relative error is below 2^-7, 0.8 %. */
const PRECISION_BITS = 7
const HALF = 1 << PRECISION_BITS
const MAX_MICROSECONDS = 0xffffffff
const BUCKETS = bucketOf(MAX_MICROSECONDS) + 1

/** Highest relative error of a percentile of `LatencyHistogram`. */
export const RELATIVE_ERROR = 1 / HALF

/** A histogram of latencies as plain data: it can be sent to another thread. */
export interface LatencySnapshot {
  /** Latencies of each bucket. [buckets] */
  readonly counts: Float64Array
  /** Sum of the latencies, ms. */
  readonly sumMs: number
  readonly maxMs: number
}

/**
 * Latencies from 1 µs to 71 minutes in buckets whose width is at most 1/128 of their value (after Gil
 * Tene's HdrHistogram). Recording allocates nothing. Sum and maximum are exact.
 */
export class LatencyHistogram {
  private readonly counts = new Float64Array(BUCKETS)
  private total = 0
  private sumMs = 0
  private highestMs = 0

  /** Counts one latency. */
  record(latencyMs: number): void {
    this.counts[bucketOf(Math.min(MAX_MICROSECONDS, Math.max(0, Math.round(latencyMs * 1000))))]! +=
      1
    this.total += 1
    this.sumMs += latencyMs
    if (latencyMs > this.highestMs) this.highestMs = latencyMs
  }

  /** Adds the latencies of another histogram. */
  add({ counts, sumMs, maxMs }: LatencySnapshot): void {
    for (let i = 0; i < BUCKETS; i++) {
      this.counts[i]! += counts[i]!
      this.total += counts[i]!
    }
    this.sumMs += sumMs
    this.highestMs = Math.max(this.highestMs, maxMs)
  }

  /** Number of latencies. */
  get count(): number {
    return this.total
  }

  /** Mean, ms; NaN without latencies. */
  get meanMs(): number {
    return this.sumMs / this.total
  }

  /** The highest latency, ms; NaN without latencies. */
  get maxMs(): number {
    return this.total === 0 ? Number.NaN : this.highestMs
  }

  /** The latency in ms that `percent` (0..100) of the latencies do not exceed; NaN without latencies. */
  percentileMs(percent: number): number {
    if (this.total === 0) return Number.NaN
    const rank = Math.max(1, Math.ceil((percent / 100) * this.total))
    let seen = 0
    for (let i = 0; i < BUCKETS; i++) {
      seen += this.counts[i]!
      if (seen >= rank) return Math.min(highestOf(i) / 1000, this.highestMs)
    }
    return this.highestMs
  }

  snapshot(): LatencySnapshot {
    return { counts: this.counts.slice(), sumMs: this.sumMs, maxMs: this.highestMs }
  }
}

/** Values below 256 have a bucket each; above, each power of two has 128 buckets. */
function bucketOf(microseconds: number): number {
  const shift = Math.max(0, 31 - Math.clz32(microseconds) - PRECISION_BITS)
  return shift * HALF + (microseconds >>> shift)
}

/** The highest value of a bucket, microseconds. */
function highestOf(bucket: number): number {
  const shift = Math.max(0, Math.floor(bucket / HALF) - 1)
  return (bucket - shift * HALF + 1) * 2 ** shift - 1
}
