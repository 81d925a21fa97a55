import type { FileSystem } from '../../../files/file-system.ts'
import {
  ABORTED_ENTRY_SIZE,
  ABORTED_HEADER_SIZE,
  type AbortedRange,
  abortedPath,
  encodeAborted,
  encodeAbortedHeader,
} from './aborted-index.ts'

/** Options of the transactions of one partition. */
export interface TransactionsOptions {
  readonly files: FileSystem
  /** Transactions that were open before: producer id and first possible offset. */
  readonly openTransactions: readonly (readonly [producerId: number, firstOffset: number])[]
}

/**
 * The transactions of one partition: the producers that may have an open one, with its first possible
 * offset, and the file of aborted ranges.
 */
export class PartitionTransactions {
  /** Ranges in the file. */
  abortedCount = 0
  private readonly files: FileSystem
  private readonly path: string
  /** Open transactions: producer id to the first offset they may have here. */
  private readonly opened: Map<number, number>
  /** The last write to the file, after which the next one begins. */
  private writes: Promise<void> = Promise.resolve()

  /** `path`: the partition's folder. */
  constructor(path: string, { files, openTransactions }: TransactionsOptions) {
    this.files = files
    this.path = path
    this.opened = new Map(openTransactions)
  }

  /** First offset of the oldest open transaction, or `endOffset` when none is open. */
  lastStable(endOffset: number): number {
    let stable = endOffset
    for (const first of this.opened.values()) if (first < stable) stable = first
    return stable
  }

  /** Records that `producerId` may have an open transaction from `firstOffset` on. */
  open(producerId: number, firstOffset: number): void {
    if (!this.opened.has(producerId)) this.opened.set(producerId, firstOffset)
  }

  /** Ends a producer's transaction here; called when its marker is written. */
  end(producerId: number): void {
    this.opened.delete(producerId)
  }

  /** Stores an aborted range, durably, before its marker is written. */
  addAborted(range: AbortedRange): Promise<void> {
    const adding = this.writes.then(() => this.write(range))
    this.writes = adding.catch(() => undefined)
    return adding
  }

  /** Resolves when no range is being stored. */
  async settled(): Promise<void> {
    await this.writes
  }

  private async write(range: AbortedRange): Promise<void> {
    const file = await this.files.open(abortedPath(this.path), 'change')
    try {
      if (this.abortedCount === 0) file.writeSync([encodeAbortedHeader()], 0)
      const position = ABORTED_HEADER_SIZE + this.abortedCount * ABORTED_ENTRY_SIZE
      file.writeSync([encodeAborted(range)], position)
      await file.datasync()
      if (this.abortedCount === 0) await this.files.syncFolder(this.path)
    } finally {
      await file.close()
    }
    this.abortedCount += 1
  }
}
