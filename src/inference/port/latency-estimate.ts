/** Time of a batch: an affine mean, and how far the slow runs are above it. */
export interface LatencyEstimate {
  /** Time of a run without items, ms. */
  readonly fixedMs: number
  /** Time of one more item, ms. */
  readonly itemMs: number
  /** 99th percentile of observed time over fitted time, from 1 to 1.5. */
  readonly ratio: number
  /** Largest batch that was observed, items; 0 before the first run. */
  readonly largest: number
}
