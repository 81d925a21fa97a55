import { readControlType } from '../../batch/control-record.ts'
import {
  attributesOf,
  BATCH_PREFIX_SIZE,
  batchSizeAt,
  CONTROL_BIT,
  lastOffsetOf,
  producerIdOf,
} from '../../batch/record-batch-format.ts'
import { RecordBatchReader } from '../../batch/record-batch-reader.ts'
import type { PolledSplit } from '../splits/split-reader.ts'
import { AbortedTransactions } from './aborted-transactions.ts'
import type { FetchedPartition } from './fetch-request.ts'

/** Batches of one fetch answer that are still to be delivered. */
interface Chunk {
  readonly bytes: Uint8Array
  /** Position after the last whole batch. */
  readonly end: number
  /** Offset after the last whole batch. */
  readonly nextOffset: number
  readonly aborted: AbortedTransactions
}

/** What is known of one partition that is being read: fetched ahead, decoded in place. */
export class KafkaSplit implements PolledSplit {
  readonly partition: number
  /** End of a bounded read; undefined when it goes on. */
  readonly stopOffset: number | undefined
  /** Node that is asked for this partition, -1 while that is being found out. */
  leader = -1
  /** Offset after the last delivered record. */
  nextOffset: number
  readonly batch = new RecordBatchReader()
  private readonly verifyChecksums: boolean
  private readonly prefetchBytes: number
  private readonly chunks: Chunk[] = []
  private fetchOffset: number
  private bufferedBytes = 0
  private at = 0
  private inBatch = false
  /** Wall-clock time at which the fetch position was the partition's end, -1 when it was not. */
  private endSeenMs = -1

  constructor(
    partition: number,
    nextOffset: number,
    stopOffset: number | undefined,
    prefetchBytes: number,
    verifyChecksums: boolean,
  ) {
    this.partition = partition
    this.nextOffset = nextOffset
    this.fetchOffset = nextOffset
    this.stopOffset = stopOffset
    this.prefetchBytes = prefetchBytes
    this.verifyChecksums = verifyChecksums
  }

  /** Offset that the next fetch asks for. */
  get fetchFrom(): number {
    return this.fetchOffset
  }

  /** Bytes that are fetched and not yet delivered. */
  get heldBytes(): number {
    return this.bufferedBytes
  }

  /** Whether there is room to fetch ahead, and something to fetch. */
  get isHungry(): boolean {
    if (this.stopOffset !== undefined && this.fetchOffset >= this.stopOffset) return false
    return this.bufferedBytes < this.prefetchBytes
  }

  get isAtEnd(): boolean {
    return this.stopOffset !== undefined && this.nextOffset >= this.stopOffset
  }

  /** Whether a poll has something to do here. */
  get isReady(): boolean {
    return !this.isAtEnd && (this.chunks.length > 0 || this.endSeenMs >= 0)
  }

  /** Takes in an answer to a fetch from `from`; false when it says nothing new. */
  accept(from: number, fetched: FetchedPartition, nowMs: number): boolean {
    if (from !== this.fetchOffset) return false
    const { records } = fetched
    let end = 0
    let last = from - 1
    while (end + BATCH_PREFIX_SIZE <= records.length) {
      const size = batchSizeAt(records, end, records.length)
      if (end + size > records.length) break
      last = lastOffsetOf(records, end)
      end += size
    }
    if (end > 0) {
      // A gap or a marker moves the position as a record does: never offset arithmetic.
      this.fetchOffset = Math.max(from, last + 1)
      this.bufferedBytes += end
      const aborted = new AbortedTransactions(fetched.aborted)
      this.chunks.push({ bytes: records, end, nextOffset: this.fetchOffset, aborted })
    }
    if (this.fetchOffset >= fetched.limit && fetched.limit >= 0) this.endSeenMs = nowMs
    return end > 0 || this.endSeenMs >= 0
  }

  /** Begins again at another offset, after the old one was found to be out of range. */
  seek(offset: number): void {
    this.fetchOffset = offset
    if (this.chunks.length === 0) this.nextOffset = offset
  }

  /** When everything fetched is delivered and that was the end at the time: that time, once. */
  takeEndSeen(): number | undefined {
    if (this.endSeenMs < 0 || this.chunks.length > 0) return undefined
    const seen = this.endSeenMs
    this.endSeenMs = -1
    return seen
  }

  /** Moves to the next batch with records to deliver; false when more must be fetched first. */
  openBatch(): boolean {
    if (this.inBatch) return true
    for (;;) {
      const chunk = this.chunks[0]
      if (chunk === undefined) return false
      if (this.openBatchOf(chunk)) return true
      this.nextOffset = Math.max(this.nextOffset, chunk.nextOffset)
      this.bufferedBytes -= chunk.end
      this.at = 0
      this.chunks.shift()
    }
  }

  private openBatchOf({ bytes, end, aborted }: Chunk): boolean {
    while (this.at < end) {
      const at = this.at
      const isControl = (attributesOf(bytes, at) & CONTROL_BIT) !== 0
      const next = at + batchSizeAt(bytes, at, end)
      if (isControl) this.readMarker(bytes, at, aborted)
      else if (!aborted.drops(bytes, at)) {
        this.at = this.batch.open(bytes, at, this.verifyChecksums)
        this.inBatch = true
        return true
      }
      this.nextOffset = Math.max(this.nextOffset, lastOffsetOf(bytes, at) + 1)
      this.at = next
    }
    return false
  }

  private readMarker(bytes: Uint8Array, at: number, aborted: AbortedTransactions): void {
    this.batch.open(bytes, at, this.verifyChecksums)
    if (!this.batch.next() || readControlType(this.batch) !== 'abort') return
    aborted.ended(producerIdOf(bytes, at), lastOffsetOf(bytes, at))
  }

  /** The records of the open batch are all delivered. */
  closeBatch(): void {
    this.inBatch = false
    this.nextOffset = Math.max(this.nextOffset, this.batch.lastOffset + 1)
  }
}
