/**
 * Number of records to process between two reads of the clock: as many as fit into about a quarter of
 * a millisecond, measured on the last records. So slow operators yield in time, and fast ones do not
 * pay for reading the clock.
 */
export class StepSize {
  private static readonly TARGET_MS = 0.25
  private readonly most: number
  private size = 1

  constructor(most = 256) {
    this.most = most
  }

  /** Records until the next read of the clock. */
  get records(): number {
    return this.size
  }

  /** Records a measurement: `records` took `elapsedMs` and emitted `emitted` records. */
  observe(records: number, elapsedMs: number, emitted = records): void {
    if (records === 0) return
    const byTime =
      elapsedMs <= 0 ? this.size * 2 : Math.floor((records * StepSize.TARGET_MS) / elapsedMs)
    const byFanOut = Math.floor((this.most * records) / Math.max(emitted, 1))
    const wanted = Math.min(byTime, byFanOut, this.size * 2, this.most)
    this.size = Math.max(1, wanted)
  }
}
