/**
 * Counts the batches in flight of each partition of one producer, and decides when records whose
 * linger time is over are sent. While the maximum number of batches is in flight, they wait for an
 * acknowledgement, and newer records join their batch. So batches grow where the log is slower than
 * the linger time: fewer and larger batches cost less.
 */
export class InFlightBatches {
  private readonly maximum: number
  private counts: Int32Array
  /** 1 for partitions whose records wait only for an acknowledgement. */
  private overdue: Uint8Array

  /** `maximum`: batches in flight of a partition from which on records wait. */
  constructor(partitions: number, maximum: number) {
    this.maximum = maximum
    this.counts = new Int32Array(partitions)
    this.overdue = new Uint8Array(partitions)
  }

  /** Counts for more partitions. */
  grow(partitions: number): void {
    const { counts, overdue } = this
    this.counts = new Int32Array(partitions)
    this.counts.set(counts)
    this.overdue = new Uint8Array(partitions)
    this.overdue.set(overdue)
  }

  /** Whether records of a partition are sent now that their linger time is over. */
  lingerElapsed(partition: number): boolean {
    if (this.counts[partition]! < this.maximum) return true
    this.overdue[partition] = 1
    return false
  }

  /** Counts a batch with all gathered records of a partition. */
  sent(partition: number): void {
    this.counts[partition]! += 1
    this.overdue[partition] = 0
  }

  /** Counts out a batch that was acknowledged or failed. Returns whether waiting records are sent now. */
  completed(partition: number): boolean {
    this.counts[partition]! -= 1
    return this.counts[partition]! < this.maximum && this.overdue[partition] === 1
  }
}
