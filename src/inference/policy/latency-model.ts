import type { LatencyEstimate } from '../port/latency-estimate.ts'

/** Estimate before the first run: no time at all, so that nothing is shed. */
const UNKNOWN_LATENCY: LatencyEstimate = { fixedMs: 0, itemMs: 0, ratio: 1, largest: 0 }

/** Mean time of a batch, ms. */
export const meanMs = (estimate: LatencyEstimate, items: number): number =>
  estimate.fixedMs + estimate.itemMs * items

/** Time that 99 of 100 batches of this size stay below, ms. */
export const slowMs = (estimate: LatencyEstimate, items: number): number =>
  meanMs(estimate, items) * estimate.ratio

/** Largest batch whose slow time is at most `budgetMs`; may be below 1. */
export function itemsWithin(estimate: LatencyEstimate, budgetMs: number): number {
  if (estimate.itemMs <= 0) {
    return slowMs(estimate, 0) <= budgetMs ? Number.POSITIVE_INFINITY : 0
  }
  return Math.floor((budgetMs / estimate.ratio - estimate.fixedMs) / estimate.itemMs)
}

/** Weight of a run after one more run. */
const FORGETTING = 0.98
/** Ratios that are kept. */
const RATIOS = 128
/** Runs between two looks at the ratios. */
const LOOK_EVERY = 8
const QUANTILE = 0.99
/**
 * Largest ratio. Runs that take longer met a pause of the machine, which adds to a run and does not multiply it:
 * smaller batches meet it as often. A larger ratio would shed what is in time (figures: docs/decisions/inference-queue.md#the-queue).
 */
const LARGEST_RATIO = 1.5

/**
 * Latency model of one model on one worker: weighted least squares of run time on batch size with
 * exponential forgetting, and the 99th percentile of the ratio of the last runs to the fit.
 */
export class LatencyModel {
  private weight = 0
  private sumItems = 0
  private sumItems2 = 0
  private sumMs = 0
  private sumItemsMs = 0
  private largest: number
  private fixedMs: number
  private itemMs: number
  private ratio: number
  private readonly ratios = new Float64Array(RATIOS)
  private runs = 0

  /** Starts from an estimate of another worker or of a profile. */
  constructor(start: LatencyEstimate = UNKNOWN_LATENCY) {
    this.fixedMs = start.fixedMs
    this.itemMs = start.itemMs
    this.ratio = Math.max(1, start.ratio)
    this.largest = start.largest
    if (start.largest > 0) {
      this.add(1, meanMs(start, 1))
      if (start.largest > 1) this.add(start.largest, meanMs(start, start.largest))
    }
  }

  get estimate(): LatencyEstimate {
    const { fixedMs, itemMs, ratio, largest } = this
    return { fixedMs, itemMs, ratio, largest }
  }

  /** Learns from a run. */
  observe(items: number, runMs: number): void {
    this.largest = Math.max(this.largest, items)
    this.add(items, runMs)
    this.fit()
    const fitted = Math.max(this.fixedMs + this.itemMs * items, 1e-6)
    this.ratios[this.runs++ % RATIOS] = runMs / fitted
    if (this.runs % LOOK_EVERY === 0) this.ratio = this.slowRatio()
  }

  private add(items: number, runMs: number): void {
    this.weight = this.weight * FORGETTING + 1
    this.sumItems = this.sumItems * FORGETTING + items
    this.sumItems2 = this.sumItems2 * FORGETTING + items * items
    this.sumMs = this.sumMs * FORGETTING + runMs
    this.sumItemsMs = this.sumItemsMs * FORGETTING + items * runMs
  }

  /** Runs of one size say nothing of the slope: then it stays, and the fixed part follows. */
  private fit(): void {
    const meanItems = this.sumItems / this.weight
    const mean = this.sumMs / this.weight
    const variance = this.sumItems2 / this.weight - meanItems * meanItems
    if (variance > 1e-3 * meanItems * meanItems) {
      const covariance = this.sumItemsMs / this.weight - meanItems * mean
      this.itemMs = Math.max(0, covariance / variance)
    }
    // Neither part of a time is negative: a line that falls below 0 is replaced by one through 0.
    if (this.itemMs * meanItems > mean) this.itemMs = mean / meanItems
    this.fixedMs = mean - this.itemMs * meanItems
  }

  private slowRatio(): number {
    const known = this.ratios.slice(0, Math.min(this.runs, RATIOS)).sort()
    const slow = known[Math.floor((known.length - 1) * QUANTILE)]!
    return Math.min(LARGEST_RATIO, Math.max(1, slow))
  }
}
