import {
  attributesOf,
  CONTROL_BIT,
  lastOffsetOf,
  producerIdOf,
  TRANSACTIONAL_BIT,
} from '../../batch/record-batch-format.ts'

/** An aborted transaction that a fetch answer names; its data begins at `firstOffset`. */
export interface AbortedTransaction {
  readonly producerId: number
  readonly firstOffset: number
}

/**
 * The read_committed filter over the batches of one fetch answer, which must be shown to it in
 * order. A producer can have aborted, committed and again aborted within one answer, and an abort
 * marker may lie beyond it, so the state per producer is whether its *present* transaction is an
 * aborted one: from the first offset that the broker names up to the abort marker. Source: KIP-98,
 * "consumer: reading transactional messages".
 */
export class AbortedTransactions {
  private readonly pending: readonly AbortedTransaction[]
  private next = 0
  private readonly aborted = new Set<number>()

  constructor(transactions: readonly AbortedTransaction[]) {
    this.pending = [...transactions].sort((a, b) => a.firstOffset - b.firstOffset)
  }

  /** Whether the data batch at `at` belongs to an aborted transaction. */
  drops(bytes: Uint8Array, at: number): boolean {
    this.advance(lastOffsetOf(bytes, at))
    if (this.aborted.size === 0 || (attributesOf(bytes, at) & TRANSACTIONAL_BIT) === 0) return false
    return (
      (attributesOf(bytes, at) & CONTROL_BIT) === 0 && this.aborted.has(producerIdOf(bytes, at))
    )
  }

  /**
   * The abort marker at `offset` was met: what this producer sends from here on is another
   * transaction.
   */
  ended(producerId: number, offset: number): void {
    this.advance(offset)
    this.aborted.delete(producerId)
  }

  private advance(lastOffset: number): void {
    while (this.next < this.pending.length) {
      const transaction = this.pending[this.next]!
      if (transaction.firstOffset > lastOffset) return
      this.aborted.add(transaction.producerId)
      this.next += 1
    }
  }
}

/** The filter of an answer that names no aborted transaction, or for read_uncommitted. */
export const NO_ABORTED_TRANSACTIONS: readonly AbortedTransaction[] = []
