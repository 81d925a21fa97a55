import {
  attributesOf,
  CONTROL_BIT,
  lastOffsetOf,
  producerIdOf,
  TRANSACTIONAL_BIT,
} from '../../../../wire/batch/record-batch-format.ts'

/** An aborted transaction in a fetch answer; its data begins at `firstOffset`. */
export interface AbortedTransaction {
  readonly producerId: number
  readonly firstOffset: number
}

/**
 * The read_committed filter over the batches of one fetch answer, which must pass it in order. One
 * answer can have several transactions of a producer, aborted and committed ones, and an abort marker
 * can follow in a later answer. So the state of a producer is whether its *current* transaction was
 * aborted: from the first offset that the broker names up to the abort marker. Source: KIP-98,
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
   * Handles the abort marker at `offset`: later batches of this producer belong to another
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

/** The transactions of an answer without aborted ones, or for read_uncommitted. */
export const NO_ABORTED_TRANSACTIONS: readonly AbortedTransaction[] = []
