/**
 * Whether records that have waited for others long enough are sent now. While a batch of their
 * partition is under way they wait for it to arrive, and what comes until then goes with them: so
 * batches grow where the log is slower than the linger time, and fewer of them cost less. For each
 * partition of one producer.
 */
export class BatchesUnderWay {
  private readonly underWay: Int32Array
  /** Partitions whose records wait for a batch to arrive and no longer. */
  private readonly overdue: Uint8Array

  constructor(partitions: number) {
    this.underWay = new Int32Array(partitions)
    this.overdue = new Uint8Array(partitions)
  }

  /** The linger time of a partition's records is over: whether they are sent now. */
  lingered(partition: number): boolean {
    if (this.underWay[partition] === 0) return true
    this.overdue[partition] = 1
    return false
  }

  /** All records of a partition so far are on their way, as one batch more. */
  sent(partition: number): void {
    this.underWay[partition]! += 1
    this.overdue[partition] = 0
  }

  /** A batch arrived, or never will: whether records that waited for it are sent now. */
  arrived(partition: number): boolean {
    this.underWay[partition]! -= 1
    return this.underWay[partition] === 0 && this.overdue[partition] === 1
  }
}
