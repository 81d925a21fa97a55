/** The newest values of a measurement, for quantiles of now: those of a histogram are since the start. */
export class RecentValues {
  private readonly values: Float64Array
  private count = 0
  /** The values in order, until the next one comes. */
  private sorted: Float64Array | undefined

  /** `kept`: number of values. */
  constructor(kept: number) {
    this.values = new Float64Array(kept)
  }

  /** Adds a value; the oldest is forgotten. */
  add(value: number): void {
    this.values[this.count % this.values.length] = value
    this.count += 1
    this.sorted = undefined
  }

  /** The value below which the share `q` (0..1) of the newest values is; NaN when there are none. */
  quantile(q: number): number {
    this.sorted ??= this.values.slice(0, this.count).sort()
    const known = this.sorted
    return known.length === 0 ? Number.NaN : known[Math.ceil(q * (known.length - 1))]!
  }
}
