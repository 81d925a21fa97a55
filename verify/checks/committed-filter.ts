/** Properties of a record in the log, from kafkajs. */
export interface RawRecord {
  readonly isControlRecord: boolean
  readonly key: Uint8Array | null
  readonly batchContext: { readonly producerId: string; readonly inTransaction: boolean }
}

/** Type of a control record that commits. */
const COMMIT = 1

/**
 * A filter of committed records of a whole topic. A record of a transaction is committed when the next marker
 * of its producer says so.
 */
export class CommittedFilter<T> {
  private readonly pending = new Map<string, T[]>()

  /** Number of transactions without a marker so far. */
  get open(): number {
    return this.pending.size
  }

  /** Number of records of those transactions. */
  get openRecords(): number {
    let records = 0
    for (const pending of this.pending.values()) records += pending.length
    return records
  }

  /** Takes the next record of a partition. Returns the records that are committed by it. */
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
