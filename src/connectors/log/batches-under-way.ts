/**
 * Whether records that have waited for others long enough are sent now. While as many batches of their
 * partition as may be are under way they wait for one to arrive, and what comes until then goes with
 * them: so batches grow where the log is slower than the linger time, and fewer of them cost less. For
 * each partition of one producer.
 */
export class BatchesUnderWay {
  private readonly most: number
  private readonly underWay: Int32Array
  /** Partitions whose records wait for a batch to arrive and no longer. */
  private readonly overdue: Uint8Array

  /** `most`: batches of a partition under way beyond which records wait. */
  constructor(partitions: number, most: number) {
    this.most = most
    this.underWay = new Int32Array(partitions)
    this.overdue = new Uint8Array(partitions)
  }

  /** The linger time of a partition's records is over: whether they are sent now. */
  lingered(partition: number): boolean {
    if (this.underWay[partition]! < this.most) return true
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
    return this.underWay[partition]! < this.most && this.overdue[partition] === 1
  }
}
