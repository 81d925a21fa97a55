import type { ObservedRun } from './batching-facts.ts'

/** Largest batch, learned from runs. */
export interface SizeLimit {
  readonly items: number
  observe(run: ObservedRun): void
}

/** Settings of `AimdLimit`. */
export interface AimdOptions {
  readonly maxItems: number
  /** Items added after a full batch in time. */
  readonly increase: number
  /** Factor after a batch over the goal. */
  readonly decrease: number
}

/**
 * Additive increase, multiplicative decrease (Crankshaw et al., "Clipper", NSDI 2017, 4.3.1). A batch below
 * the limit and in time says nothing.
 */
export class AimdLimit implements SizeLimit {
  private readonly options: AimdOptions
  private limit = 1

  constructor(options: AimdOptions) {
    this.options = options
  }

  get items(): number {
    return this.limit
  }

  observe({ items, runMs, sloMs }: ObservedRun): void {
    const { maxItems, increase, decrease } = this.options
    if (runMs > sloMs) this.limit = Math.max(1, Math.floor(this.limit * decrease))
    else if (items >= this.limit) this.limit = Math.min(maxItems, this.limit + increase)
  }
}

/** Runs that the regression looks at. */
const SAMPLES = 1000
/** Runs between two regressions. */
const FIT_EVERY = 20
/** Rounds of the regression; each moves the line towards the quantile. */
const ROUNDS = 60

/**
 * Limit from a quantile regression of run time on batch size over the last 1,000 runs (Clipper, 4.3.1): the
 * line minimises the pinball loss by iteratively reweighted least squares, and the limit is the size at
 * which it reaches the goal. Before there are two sizes, the limit doubles from 1.
 */
export class QuantileLimit implements SizeLimit {
  private readonly maxItems: number
  private readonly quantile: number
  private readonly sizes = new Float64Array(SAMPLES)
  private readonly times = new Float64Array(SAMPLES)
  private runs = 0
  private limit = 1
  private largest = 0

  constructor(maxItems: number, quantile: number) {
    this.maxItems = maxItems
    this.quantile = quantile
  }

  get items(): number {
    return this.limit
  }

  observe({ items, runMs, sloMs }: ObservedRun): void {
    this.sizes[this.runs % SAMPLES] = items
    this.times[this.runs % SAMPLES] = runMs
    this.runs++
    if (runMs > sloMs && items <= this.limit) this.limit = Math.max(1, Math.floor(items / 2))
    else if (items >= this.limit && items > this.largest) this.limit = this.atMost(items * 2)
    this.largest = Math.max(this.largest, items)
    if (this.runs % FIT_EVERY === 0) this.refit(sloMs)
  }

  private refit(sloMs: number): void {
    const line = quantileLine(this.sizes, this.times, Math.min(this.runs, SAMPLES), this.quantile)
    if (line === undefined) return
    const reached = line.slope <= 0 ? this.maxItems : (sloMs - line.start) / line.slope
    // Beyond twice the largest size that was seen the line is a guess.
    this.limit = this.atMost(Math.min(reached, this.largest * 2))
  }

  private atMost(items: number): number {
    return Math.max(1, Math.min(this.maxItems, Math.floor(items)))
  }
}

/**
 * Line whose values `quantile` of the times stay below; undefined when all sizes are equal. Iteratively
 * reweighted least squares: a miss r weighs |quantile - (r < 0)| / |r|.
 */
export function quantileLine(
  sizes: ArrayLike<number>,
  times: ArrayLike<number>,
  count: number,
  quantile: number,
): { readonly start: number; readonly slope: number } | undefined {
  let start = 0
  let slope = 0
  let isKnown = false
  for (let round = 0; round < ROUNDS; round++) {
    let [w, wx, wxx, wy, wxy] = [0, 0, 0, 0, 0]
    for (let i = 0; i < count; i++) {
      const x = sizes[i]!
      const y = times[i]!
      const miss = y - (start + slope * x)
      const side = miss < 0 ? 1 - quantile : quantile
      const weight = isKnown ? side / Math.max(Math.abs(miss), 1e-6 + 1e-4 * y) : 1
      w += weight
      wx += weight * x
      wxx += weight * x * x
      wy += weight * y
      wxy += weight * x * y
    }
    const spread = w * wxx - wx * wx
    if (!(spread > 1e-9 * w * wxx)) return undefined
    slope = (w * wxy - wx * wy) / spread
    start = (wy - slope * wx) / w
    isKnown = true
  }
  return { start, slope }
}
