/**
 * How many records to process between two looks at the clock: as many as fit into about a quarter of
 * a millisecond, from what the last ones took, so that slow operators yield in time and fast ones do
 * not pay for the clock.
 */
export class StepSize {
  private static readonly TARGET_MS = 0.25
  private readonly most: number
  private size = 1

  constructor(most = 256) {
    this.most = most
  }

  /** Records until the next look. */
  get records(): number {
    return this.size
  }

  /** `records` took `elapsedMs` and gave `emitted` records. */
  observe(records: number, elapsedMs: number, emitted = records): void {
    if (records === 0) return
    const byTime =
      elapsedMs <= 0 ? this.size * 2 : Math.floor((records * StepSize.TARGET_MS) / elapsedMs)
    const byFanOut = Math.floor((this.most * records) / Math.max(emitted, 1))
    const wanted = Math.min(byTime, byFanOut, this.size * 2, this.most)
    this.size = Math.max(1, wanted)
  }
}
