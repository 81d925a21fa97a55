/** A record that was sent to a log. */
export interface SentRecord {
  readonly id: number
  readonly topic: string
  readonly partition: number
  readonly key: string
  readonly transactional: boolean
  /** Set when the append is acknowledged. */
  offset: number | undefined
  /** Whether the log has acknowledged that the record survives a power cut. */
  durable: boolean
  /** How its transaction ended; `either` while the end is under way. */
  outcome: 'open' | 'either' | 'committed' | 'aborted'
  /** Whether it was taken out of the partition; `either` while that is under way, and after a crash then. */
  erased: 'no' | 'either' | 'yes'
}

/** Records of a partition as a reader sees them: offset to id. */
export interface ReadRecords {
  readonly start: number
  readonly end: number
  readonly ids: ReadonlyMap<number, number>
}

/** What a check compares. */
export interface ReadPartition {
  readonly committed: ReadRecords
  readonly all: ReadRecords
  /** Whether only the last record of a key must be there. */
  readonly compacted: boolean
}

/** Records that were sent, and what the log has said about each. */
export class LogLedger {
  readonly violations: string[] = []
  private readonly sent: SentRecord[] = []

  send(record: Pick<SentRecord, 'topic' | 'partition' | 'key' | 'transactional'>): SentRecord {
    const { length } = this.sent
    const sent: SentRecord = {
      ...record,
      id: length,
      offset: undefined,
      durable: false,
      outcome: record.transactional ? 'open' : 'committed',
      erased: 'no',
    }
    this.sent.push(sent)
    return sent
  }

  durable(records: readonly SentRecord[]): void {
    for (const record of records) record.durable = true
  }

  decide(records: readonly SentRecord[], outcome: SentRecord['outcome']): void {
    for (const record of records) record.outcome = outcome
  }

  /** The records of a key of a partition that have an offset and are not erased for certain. */
  ofKey(topic: string, partition: number, key: string): readonly SentRecord[] {
    return this.sent.filter(
      (one) =>
        one.topic === topic &&
        one.partition === partition &&
        one.key === key &&
        one.offset !== undefined &&
        one.erased !== 'yes',
    )
  }

  erase(records: readonly SentRecord[], erased: SentRecord['erased']): void {
    for (const record of records) record.erased = erased
  }

  /** After a crash a record that is not durable may be gone, and its offset is given again. */
  crashed(): void {
    for (const record of this.sent) if (!record.durable) record.offset = undefined
  }

  check(topic: string, partition: number, { committed, all, compacted }: ReadPartition): void {
    const name = `${topic}/${partition}`
    const seen = new Set<number>()
    for (const [offset, id] of all.ids) {
      const record = this.sent[id]
      if (record === undefined || record.topic !== topic || record.partition !== partition) {
        this.violations.push(`${name}: record ${id} at ${offset} was never sent there`)
      } else if (record.erased === 'yes') {
        this.violations.push(`${name}: record ${id} at ${offset} was erased and is there`)
      } else if (seen.has(id)) this.violations.push(`${name}: record ${id} is there twice`)
      seen.add(id)
    }
    for (const [offset, id] of committed.ids) {
      const outcome = this.sent[id]?.outcome
      if (outcome === 'open' || outcome === 'aborted') {
        this.violations.push(`${name}: record ${id} at ${offset} is visible, it is ${outcome}`)
      }
      if (all.ids.get(offset) !== id) this.violations.push(`${name}: two records at ${offset}`)
    }
    const mine = this.sent.filter((one) => one.topic === topic && one.partition === partition)
    for (const record of mine) {
      const { offset, durable, outcome, id, key } = record
      if (!durable || offset === undefined || offset < all.start) continue
      if (record.erased !== 'no' || (outcome === 'aborted' && compacted)) continue
      const wanted = outcome === 'committed' && offset < committed.end ? committed : all
      if (wanted.ids.get(offset) === id) continue
      const later = (other: SentRecord): boolean =>
        other.key === key && [...all.ids].some(([at, seenId]) => seenId === other.id && at > offset)
      if (compacted && mine.some(later)) continue
      this.violations.push(
        `${name}: durable record ${id} at ${offset} (${outcome}) is not there; found ${wanted.ids.get(offset)}, range ${all.start} to ${all.end}, committed to ${committed.end}`,
      )
    }
  }
}
