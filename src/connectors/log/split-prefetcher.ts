import type { Clock } from '../../core/clock.ts'
import { asWeirError } from '../../core/errors.ts'
import type { FetchedBatches } from './storage/fetched-batches.ts'
import type { PartitionReader } from './storage/partition-reader.ts'

/** Options of a `SplitPrefetcher`. */
export interface SplitPrefetcherOptions {
  readonly partition: number
  readonly reader: PartitionReader
  /** Offset of the first record to read. */
  readonly start: number
  /** Offset before which the split ends; undefined when it has no end. */
  readonly stopOffset: number | undefined
  /** Bytes of each of the two buffers. */
  readonly bufferBytes: number
  /** Clock of the times at which the end was seen. */
  readonly clock: Clock
  /** Called when `take` has a chunk or throws. */
  readonly onReady: () => void
}

/**
 * Reads one partition ahead of its consumer: one chunk is consumed while the next one is being read.
 * Two buffers are used in turn, so the memory is bounded.
 */
export class SplitPrefetcher {
  readonly partition: number
  /** Offset before which the split ends; undefined when it has no end. */
  readonly stopOffset: number | undefined
  private readonly reader: PartitionReader
  private readonly clock: Clock
  private readonly onReady: () => void
  private readonly free: Uint8Array<ArrayBuffer>[]
  private ready: FetchedBatches | undefined
  private fetchOffset: number
  private busy = false
  /** The partition changed during a read, which may have missed the change. */
  private changed = false
  /** Whether the last read reached the end of the partition. */
  private caughtUp = false
  /** Time of the last look at the end, ms of the wall clock; NaN after a change that no look has seen. */
  private endLookedMs = Number.NaN
  private closed = false
  private failure: unknown
  /** Offset that was the end of the partition, and the wall-clock time in ms of that look; -1: none. */
  endOffset = -1
  endSeenMs = -1

  constructor(options: SplitPrefetcherOptions) {
    const { bufferBytes } = options
    this.partition = options.partition
    this.reader = options.reader
    this.fetchOffset = options.start
    this.stopOffset = options.stopOffset
    this.clock = options.clock
    this.onReady = options.onReady
    this.free = [new Uint8Array(bufferBytes), new Uint8Array(bufferBytes)]
  }

  /** Returns the chunk that was read, if any, and begins to read the next one. Throws the read's error. */
  take(): FetchedBatches | undefined {
    if (this.failure !== undefined) throw this.failure
    const chunk = this.ready
    this.ready = undefined
    // At the end of the partition there is nothing to read ahead: `release` tries again.
    if (chunk !== undefined && !this.caughtUp) this.fill()
    return chunk
  }

  /** Whether `take` returns a chunk or throws. */
  get isReady(): boolean {
    return this.ready !== undefined || this.failure !== undefined
  }

  /** Returns the buffer of a consumed chunk for the next read. */
  release(chunk: FetchedBatches): void {
    if (this.free.length < 2) this.free.push(chunk.bytes)
    this.fill()
  }

  /** Offsets from `offset` to the end of what can be read; NaN when the end cannot be read. */
  pendingFrom(offset: number): number {
    if (this.closed) return 0
    try {
      return Math.max(0, Math.min(this.reader.limit(), this.stopOffset ?? Infinity) - offset)
    } catch {
      // The next read reports the damage; reading metrics must not fail the slot.
      return Number.NaN
    }
  }

  /**
   * Begins to read, unless a read is in progress, a chunk is ready, the split has ended, or the end was seen in this
   * millisecond. A look is a call of the system, and a waiting source looks several times in a row.
   */
  fill(): void {
    if (this.clock.nowMs() !== this.endLookedMs) this.fillNow()
  }

  /** As `fill`, when the partition is known to have changed. */
  fillNow(): void {
    this.endLookedMs = Number.NaN
    if (this.busy) this.changed = true
    if (this.busy || this.closed || this.isReady) return
    if (this.stopOffset !== undefined && this.fetchOffset >= this.stopOffset) return
    const buffer = this.free.pop()
    if (buffer === undefined) return
    this.changed = false
    if (this.fetchNow(buffer)) return
    this.busy = true
    void this.fetch(buffer)
  }

  /** Reads in this thread if few bytes are left; false when an asynchronous read is needed. */
  private fetchNow(buffer: Uint8Array<ArrayBuffer>): boolean {
    try {
      const nowMs = this.clock.nowMs()
      const chunk = this.reader.fetchNow(this.fetchOffset, buffer)
      if (chunk === 'later') return false
      this.caughtUp = true
      this.endLookedMs = nowMs
      this.endOffset = chunk === undefined ? this.fetchOffset : chunk.nextOffset
      this.endSeenMs = nowMs
      if (chunk === undefined) this.free.push(buffer)
      else this.setReady(chunk)
    } catch (error) {
      this.failure = asWeirError(error, 'CONNECTOR_FAILED')
    }
    if (this.isReady) this.onReady()
    return true
  }

  private setReady(chunk: FetchedBatches): void {
    this.ready = chunk
    this.fetchOffset = chunk.nextOffset
  }

  private async fetch(buffer: Uint8Array<ArrayBuffer>): Promise<void> {
    try {
      const chunk = await this.reader.fetch(this.fetchOffset, buffer)
      if (chunk === undefined) {
        this.free.push(buffer)
      } else {
        this.caughtUp = false
        this.setReady(chunk)
      }
    } catch (error) {
      this.failure = asWeirError(error, 'CONNECTOR_FAILED')
    }
    this.busy = false
    if (this.closed) this.reader.close()
    else if (this.isReady) this.onReady()
    else if (this.changed) this.fillNow()
  }

  /** Whether no read is in progress and no chunk is ready. */
  get isIdle(): boolean {
    return !this.busy && !this.isReady
  }

  /** Closes the files, after the read in progress. */
  close(): void {
    if (this.closed) return
    this.closed = true
    if (!this.busy) this.reader.close()
  }
}
