import { RecordBatchReader } from '../../batch/record-batch-reader.ts'
import type { PolledSplit } from '../records/split-reader.ts'
import type { SplitPrefetcher } from './split-prefetcher.ts'
import type { FetchedBatches } from './storage/fetched-batches.ts'

/** One partition that is being read, with the chunk that is being decoded. */
export class LogSplit implements PolledSplit {
  readonly batch = new RecordBatchReader()
  nextOffset: number
  readonly prefetcher: SplitPrefetcher
  readonly stopListening: () => void
  private chunk: FetchedBatches | undefined
  /** Position in the chunk of the batch after the current one. */
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

  get pendingOffsets(): number {
    return this.prefetcher.pendingFrom(this.nextOffset)
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

  takeEndSeen(): number | undefined {
    const { prefetcher } = this
    const { endOffset, endSeenMs } = prefetcher
    if (endOffset < 0 || this.nextOffset < endOffset) return undefined
    prefetcher.endOffset = -1
    return endSeenMs
  }
}
