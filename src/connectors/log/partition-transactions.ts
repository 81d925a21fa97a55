import * as fs from 'node:fs'
import * as fsp from 'node:fs/promises'
import {
  ABORTED_ENTRY_SIZE,
  ABORTED_HEADER_SIZE,
  type AbortedRange,
  abortedPath,
  encodeAborted,
  encodeAbortedHeader,
} from './aborted-index.ts'

/**
 * The transactions of one partition: which producers may have one open, from what offset on, and the
 * file of the ranges that were aborted.
 */
export class PartitionTransactions {
  /** Ranges in the file. */
  abortedCount = 0
  private readonly path: string
  private readonly syncEveryWrite: boolean
  /** Open transactions: producer id to the first offset they may have here. */
  private readonly opened: Map<number, number>
  /** The last write to the file; the next one follows it. */
  private writes: Promise<void> = Promise.resolve()

  /** `path` is the partition's folder, `open` the producers with a transaction from before. */
  constructor(
    path: string,
    open: readonly (readonly [producerId: number, firstOffset: number])[],
    syncEveryWrite: boolean,
  ) {
    this.path = path
    this.opened = new Map(open)
    this.syncEveryWrite = syncEveryWrite
  }

  /** The offset below `endOffset` that no open transaction reaches. */
  lastStable(endOffset: number): number {
    let stable = endOffset
    for (const first of this.opened.values()) if (first < stable) stable = first
    return stable
  }

  /** Notes that `producerId` may have an open transaction from `firstOffset` on. */
  open(producerId: number, firstOffset: number): void {
    if (!this.opened.has(producerId)) this.opened.set(producerId, firstOffset)
  }

  /** Ends a producer's transaction here; called when its marker is written. */
  end(producerId: number): void {
    this.opened.delete(producerId)
  }

  /** Stores an aborted range before its marker is written. */
  addAborted(range: AbortedRange): Promise<void> {
    const adding = this.writes.then(() => this.write(range))
    this.writes = adding.catch(() => undefined)
    return adding
  }

  private async write(range: AbortedRange): Promise<void> {
    const file = await fsp.open(abortedPath(this.path), fs.constants.O_RDWR | fs.constants.O_CREAT)
    try {
      if (this.abortedCount === 0)
        await file.write(encodeAbortedHeader(), 0, ABORTED_HEADER_SIZE, 0)
      const position = ABORTED_HEADER_SIZE + this.abortedCount * ABORTED_ENTRY_SIZE
      await file.write(encodeAborted(range), 0, ABORTED_ENTRY_SIZE, position)
      if (this.syncEveryWrite) await file.datasync()
    } finally {
      await file.close()
    }
    this.abortedCount += 1
  }
}
