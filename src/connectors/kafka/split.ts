import { readControlType } from '../../wire/batch/control-record.ts'
import {
  attributesOf,
  BATCH_PREFIX_SIZE,
  batchSizeAt,
  CONTROL_BIT,
  lastOffsetOf,
  leaderEpochOf,
  producerIdOf,
} from '../../wire/batch/record-batch-format.ts'
import { RecordBatchReader } from '../../wire/batch/record-batch-reader.ts'
import type { PolledSplit } from '../records/split-reader.ts'
import { AbortedTransactions } from './client/answers/aborted-transactions.ts'
import type { FetchedPartition } from './client/answers/fetch-answer.ts'

/** Options of a `KafkaSplit`. */
export interface KafkaSplitOptions {
  readonly partition: number
  /** Offset of the first record to deliver. */
  readonly nextOffset: number
  /** Epoch of the record before `nextOffset`; -1 (default) when it is not known. */
  readonly nextEpoch?: number
  /** End of a bounded read; undefined when it has no end. */
  readonly stopOffset: number | undefined
  /** The partition is fetched while fewer bytes of it are held. */
  readonly prefetchBytes: number
  readonly verifyChecksums: boolean
}

/** Batches of one fetch answer that are not delivered yet. */
interface Chunk {
  readonly bytes: Uint8Array
  /** Position after the last whole batch. */
  readonly end: number
  /** Offset after the last whole batch. */
  readonly nextOffset: number
  readonly aborted: AbortedTransactions
}

/** The end of a partition at a wall-clock time, ms. */
interface SeenEnd {
  readonly offset: number
  readonly atMs: number
}

/** More ends are joined: then the time of the last one counts for all of them. */
const MOST_ENDS = 32

/** One partition that is being read: fetched ahead and decoded in place. */
export class KafkaSplit implements PolledSplit {
  readonly partition: number
  /** End of a bounded read; undefined when it has no end. */
  readonly stopOffset: number | undefined
  /** Node that leads this partition, -1 while that is unknown. */
  leader = -1
  /** Epoch of that leadership. A broker that has become a follower refuses an earlier one. */
  leaderEpoch = -1
  /** Offset after the last delivered record. */
  nextOffset: number
  /** Epoch of the leader that stored the last delivered record; -1 when it is not known. */
  nextEpoch: number
  readonly batch = new RecordBatchReader()
  private readonly verifyChecksums: boolean
  private readonly prefetchBytes: number
  private readonly chunks: Chunk[] = []
  private fetchOffset: number
  private fetchEpoch: number
  private bufferedBytes = 0
  private at = 0
  private inBatch = false
  /** When it was confirmed that the leader leads and knows the end of the partition (`LeaderCheck`), ms. */
  confirmedAtMs = Number.POSITIVE_INFINITY
  /** Number of times that a leader was assigned or doubted. */
  assignment = 0
  /** Ends of the partition that the fetch position has not reached, ascending, at most `MOST_ENDS`. */
  private readonly ends: SeenEnd[] = []
  /** End of what can be read, of the last answer; -1 before the first. */
  private knownEnd = -1
  /** Latest wall-clock time whose end the fetch position has reached, -1 for none that was not taken. */
  private endSeenMs = -1

  constructor(options: KafkaSplitOptions) {
    this.partition = options.partition
    this.nextOffset = options.nextOffset
    this.fetchOffset = options.nextOffset
    this.nextEpoch = options.nextEpoch ?? -1
    this.fetchEpoch = this.nextEpoch
    this.stopOffset = options.stopOffset
    this.prefetchBytes = options.prefetchBytes
    this.verifyChecksums = options.verifyChecksums
  }

  /** Offset of the next fetch. */
  get fetchFrom(): number {
    return this.fetchOffset
  }

  /** Epoch of the record before the next fetch, -1 when it is not known. */
  get lastFetchedEpoch(): number {
    return this.fetchEpoch
  }

  /** Fetches the next time without the epoch, which the leader does not know. */
  forgetEpoch(): void {
    this.fetchEpoch = -1
  }

  /** Whether the leader is known to lead, and to know the end of the partition. */
  get isConfirmed(): boolean {
    return this.confirmedAtMs < Number.POSITIVE_INFINITY
  }

  /** The leader is not confirmed any more. */
  doubtLeader(): void {
    this.assignment += 1
    this.confirmedAtMs = Number.POSITIVE_INFINITY
  }

  /** Bytes that are fetched and not delivered. */
  get heldBytes(): number {
    return this.bufferedBytes
  }

  /** Whether there is room to fetch ahead, and something to fetch. */
  get wantsMore(): boolean {
    if (this.stopOffset !== undefined && this.fetchOffset >= this.stopOffset) return false
    return this.bufferedBytes < this.prefetchBytes
  }

  get pendingOffsets(): number {
    return Math.max(0, Math.min(this.knownEnd, this.stopOffset ?? Infinity) - this.nextOffset)
  }

  get isAtEnd(): boolean {
    return this.stopOffset !== undefined && this.nextOffset >= this.stopOffset
  }

  /** Whether a poll delivers records or progress of this split. */
  get isReady(): boolean {
    return !this.isAtEnd && (this.chunks.length > 0 || this.endSeenMs >= 0)
  }

  /**
   * Adds the answer to a fetch from offset `from`, which was true at `asOfMs`; -1 where that is not
   * certain. Returns whether it has records or the end.
   */
  accept(from: number, fetched: FetchedPartition, asOfMs: number): boolean {
    if (from !== this.fetchOffset) return false
    const { records } = fetched
    this.knownEnd = fetched.limit
    let end = 0
    let last = from - 1
    let lastBatch = 0
    while (end + BATCH_PREFIX_SIZE <= records.length) {
      const size = batchSizeAt(records, end, records.length)
      if (end + size > records.length) break
      last = lastOffsetOf(records, end)
      lastBatch = end
      end += size
    }
    if (end > 0) {
      // Gaps and markers move the position too, so it is never computed from the number of records.
      this.fetchOffset = Math.max(from, last + 1)
      this.fetchEpoch = leaderEpochOf(records, lastBatch)
      this.bufferedBytes += end
      const aborted = new AbortedTransactions(fetched.aborted)
      this.chunks.push({ bytes: records, end, nextOffset: this.fetchOffset, aborted })
    }
    if (asOfMs >= 0 && fetched.highWatermark >= 0) this.trackEnd(fetched.highWatermark, asOfMs)
    return end > 0 || this.endSeenMs >= 0
  }

  /**
   * Tracks the end of the partition at a time. It counts as seen when the fetch position reaches it: a
   * reader of committed records stops before an undecided transaction, while records after it are stored.
   */
  private trackEnd(offset: number, atMs: number): void {
    const { ends } = this
    const last = ends.at(-1)
    if (last !== undefined && (last.offset >= offset || ends.length === MOST_ENDS)) ends.pop()
    ends.push({ offset: Math.max(offset, last?.offset ?? 0), atMs })
    while (ends.length > 0 && ends[0]!.offset <= this.fetchOffset) {
      this.endSeenMs = ends.shift()!.atMs
    }
  }

  /**
   * Drops what is fetched and not delivered, because the log was truncated at `offset`. Returns whether records
   * from there on were delivered; then reading can continue there by `seek`.
   */
  truncate(offset: number): boolean {
    this.chunks.length = 0
    this.bufferedBytes = 0
    this.at = 0
    this.inBatch = false
    this.seek(this.nextOffset)
    this.fetchEpoch = this.nextEpoch
    return offset < this.nextOffset
  }

  /** Continues at another offset, when the old one is out of range. */
  seek(offset: number): void {
    this.fetchOffset = offset
    this.fetchEpoch = -1
    this.ends.length = 0
    this.endSeenMs = -1
    if (this.chunks.length > 0) return
    if (this.nextOffset !== offset) this.nextEpoch = -1
    this.nextOffset = offset
  }

  /** When all records up to the end are delivered: the time at which that was the end. Returned once. */
  takeEndSeen(): number | undefined {
    if (this.endSeenMs < 0 || this.chunks.length > 0) return undefined
    const seen = this.endSeenMs
    this.endSeenMs = -1
    return seen
  }

  /** Opens the next batch with records to deliver; false when more must be fetched first. */
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
      this.nextEpoch = leaderEpochOf(bytes, at)
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

  /** Closes the open batch, whose records are all delivered. */
  closeBatch(): void {
    this.inBatch = false
    this.nextOffset = Math.max(this.nextOffset, this.batch.lastOffset + 1)
  }
}
