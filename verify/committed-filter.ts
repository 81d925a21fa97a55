/** What the log says of a record, as kafkajs gives it. */
export interface RawRecord {
  readonly isControlRecord: boolean
  readonly key: Uint8Array | null
  readonly batchContext: { readonly producerId: string; readonly inTransaction: boolean }
}

/** Type of a control record that commits. */
const COMMIT = 1

/**
 * Which records of a topic are committed, decided from the whole log: a record of a transaction
 * counts once the marker after it says so.
 */
export class CommittedFilter<T> {
  private readonly pending = new Map<string, T[]>()

  /** Transactions without a marker so far. */
  get open(): number {
    return this.pending.size
  }

  /** Takes the next record of a partition; returns what is known to be committed by it. */
  take(partition: number, raw: RawRecord, record: T): readonly T[] {
    const { producerId, inTransaction } = raw.batchContext
    if (!inTransaction) return [record]
    const name = `${partition}/${producerId}`
    const before = this.pending.get(name) ?? []
    if (raw.isControlRecord) {
      this.pending.delete(name)
      return isCommit(raw.key) ? before : []
    }
    before.push(record)
    this.pending.set(name, before)
    return []
  }
}

/** Key of a control record: version int16, type int16, big-endian. */
function isCommit(key: Uint8Array | null): boolean {
  return key !== null && key.length >= 4 && (key[2]! << 8) + key[3]! === COMMIT
}
