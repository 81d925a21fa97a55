import { RecordBatchReader } from '../../batch/record-batch-reader.ts'
import type { PolledSplit } from '../splits/split-reader.ts'
import type { FetchedBatches } from './partition-reader.ts'
import type { SplitPrefetcher } from './split-prefetcher.ts'

/** A split with what is being decoded of it. */
export class LogSplit implements PolledSplit {
  readonly batch = new RecordBatchReader()
  nextOffset: number
  readonly prefetcher: SplitPrefetcher
  readonly stopListening: () => void
  private chunk: FetchedBatches | undefined
  /** Position in the chunk of the batch after the present one. */
  private at = 0
  private inBatch = false

  constructor(prefetcher: SplitPrefetcher, nextOffset: number, stopListening: () => void) {
    this.prefetcher = prefetcher
    this.nextOffset = nextOffset
    this.stopListening = stopListening
  }

  get partition(): number {
    return this.prefetcher.partition
  }

  get stopOffset(): number | undefined {
    return this.prefetcher.stopOffset
  }

  get isReady(): boolean {
    if (this.stopOffset !== undefined && this.nextOffset >= this.stopOffset) return false
    return this.chunk !== undefined || this.prefetcher.isReady
  }

  openBatch(): boolean {
    if (this.inBatch) return true
    for (;;) {
      if (this.chunk === undefined) {
        this.chunk = this.prefetcher.take()
        this.at = 0
      }
      const { chunk } = this
      if (chunk === undefined) return false
      if (this.openBatchOf(chunk)) return true
      this.nextOffset = chunk.nextOffset
      this.chunk = undefined
      this.prefetcher.release(chunk)
      if (this.stopOffset !== undefined && this.nextOffset >= this.stopOffset) return false
    }
  }

  private openBatchOf(chunk: FetchedBatches): boolean {
    const { batch } = this
    while (this.at < chunk.end) {
      this.at = batch.open(chunk.bytes, this.at, false)
      const aborted =
        batch.isTransactional && chunk.aborted.contains(batch.producerId, batch.baseOffset)
      if (!batch.isControl && !aborted) {
        this.inBatch = true
        return true
      }
      this.nextOffset = Math.max(this.nextOffset, batch.lastOffset + 1)
    }
    return false
  }

  closeBatch(): void {
    this.inBatch = false
    this.nextOffset = Math.max(this.nextOffset, this.batch.lastOffset + 1)
  }

  takeEndSeen(): undefined {
    return undefined
  }
}
