import { messageOf, WeirError } from '../../core/errors.ts'
import {
  type FetchedBatches,
  PartitionReader,
  type PartitionReaderOptions,
} from './partition-reader.ts'

/**
 * Reads one partition ahead of its consumer: one chunk is consumed while the next is being read, in
 * two buffers that are used in turn, so what is held is bounded.
 */
export class SplitPrefetcher {
  readonly partition: number
  /** Offset before which this split ends; undefined when it does not. */
  readonly stopOffset: number | undefined
  private readonly reader: PartitionReader
  private readonly onReady: () => void
  private readonly free: Uint8Array<ArrayBuffer>[]
  private ready: FetchedBatches | undefined
  private fetchOffset: number
  private busy = false
  /** Something changed while a read was under way that may have missed it. */
  private again = false
  /** The last read reached what was the end of the log. */
  private caughtUp = false
  private closed = false
  private failure: unknown

  constructor(
    partition: number,
    reader: PartitionReader,
    start: number,
    stopOffset: number | undefined,
    bufferBytes: number,
    onReady: () => void,
  ) {
    this.partition = partition
    this.reader = reader
    this.fetchOffset = start
    this.stopOffset = stopOffset
    this.onReady = onReady
    this.free = [new Uint8Array(bufferBytes), new Uint8Array(bufferBytes)]
  }

  /** Opens the partition's files; see PartitionReader. */
  static open(path: string, options: PartitionReaderOptions): PartitionReader {
    return new PartitionReader(path, options)
  }

  /** Takes the chunk that was read, if any, and begins to read the next. Throws what reading threw. */
  take(): FetchedBatches | undefined {
    if (this.failure !== undefined) throw this.failure
    const chunk = this.ready
    this.ready = undefined
    // At the end of the log there is nothing to read ahead: `release` looks again.
    if (chunk !== undefined && !this.caughtUp) this.fill()
    return chunk
  }

  /** Whether `take` would give or throw something. */
  get isReady(): boolean {
    return this.ready !== undefined || this.failure !== undefined
  }

  /** Gives a consumed chunk's buffer back. */
  release(chunk: FetchedBatches): void {
    if (this.free.length < 2) this.free.push(chunk.bytes)
    this.fill()
  }

  /** Begins to read unless a read is under way, a chunk waits or the end was reached. */
  fill(): void {
    if (this.busy) this.again = true
    if (this.busy || this.closed || this.isReady) return
    if (this.stopOffset !== undefined && this.fetchOffset >= this.stopOffset) return
    const buffer = this.free.pop()
    if (buffer === undefined) return
    this.again = false
    if (this.fetchNow(buffer)) return
    this.busy = true
    void this.fetch(buffer)
  }

  /** Reads at once what can be; false when a read must be begun. */
  private fetchNow(buffer: Uint8Array<ArrayBuffer>): boolean {
    try {
      const chunk = this.reader.fetchNow(this.fetchOffset, buffer)
      if (chunk === 'later') return false
      this.caughtUp = true
      if (chunk === undefined) this.free.push(buffer)
      else this.setReady(chunk)
    } catch (error) {
      this.failure = asWeirError(error)
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
      this.failure = asWeirError(error)
    }
    this.busy = false
    if (this.closed) this.reader.close()
    else if (this.isReady) this.onReady()
    else if (this.again) this.fill()
  }

  /** Whether nothing is being read and nothing waits. */
  get isIdle(): boolean {
    return !this.busy && !this.isReady
  }

  /** Closes the files once no read is under way. */
  close(): void {
    if (this.closed) return
    this.closed = true
    if (!this.busy) this.reader.close()
  }
}

function asWeirError(error: unknown): WeirError {
  if (error instanceof WeirError) return error
  return new WeirError('CONNECTOR_FAILED', messageOf(error), { cause: error })
}
