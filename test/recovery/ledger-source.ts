import type {
  PollResult,
  Source,
  SourceOutput,
  SourceReader,
  SourceSplit,
} from '../../src/operators/port/source.ts'

/** One entry of the ledger. All entries of a key are in one partition, so their order is fixed. */
export interface Entry {
  readonly key: string
  readonly amount: number
  /** Event time, ms. */
  readonly at: number
}

/** Number of partitions of the source. */
export const PARTITIONS = 3
/** Number of entries of each partition. */
export const ENTRIES_PER_PARTITION = 200

/** The entry at an index of a partition. Times increase, with a pause after every 37th entry. */
export function entryAt(index: number, partition: number): Entry {
  const mixed = Math.imul(index * PARTITIONS + partition + 1, 0x9e3779b1) >>> 8
  const at = index * 10 + Math.floor(index / 37) * 1000
  return { key: `p${partition}k${mixed % 7}`, amount: mixed % 100, at }
}

/** A limit of the source, so that a test takes a checkpoint at a known position. */
export class LedgerGate {
  /** Number of entries of each partition that the source can read. */
  limit = 0
  private readonly waiters: (() => void)[] = []

  /** Raises the limit and wakes the readers. */
  raise(limit: number): void {
    this.limit = limit
    for (const wake of this.waiters.splice(0)) wake()
  }

  /** Resolves when the limit is raised. */
  raised(): Promise<void> {
    return new Promise((resolve) => this.waiters.push(resolve))
  }
}

class LedgerReader implements SourceReader<Entry> {
  private readonly gate: LedgerGate
  private splits: SourceSplit[] = []

  constructor(gate: LedgerGate) {
    this.gate = gate
  }

  async open(): Promise<void> {}

  async addSplits(splits: readonly SourceSplit[]): Promise<void> {
    for (const { partition, nextOffset } of splits) {
      this.splits.push({ partition, nextOffset: Math.max(nextOffset, 0) })
    }
  }

  poll(output: SourceOutput<Entry>): PollResult {
    let delivered = false
    this.splits = this.splits.map(({ partition, nextOffset }) => {
      if (nextOffset >= this.gate.limit) return { partition, nextOffset }
      const entry = entryAt(nextOffset, partition)
      output.collect(entry, entry.at, partition, nextOffset)
      delivered = true
      return { partition, nextOffset: nextOffset + 1 }
    })
    if (this.splits.every(({ nextOffset }) => nextOffset >= ENTRIES_PER_PARTITION)) return 'ended'
    return delivered ? 'more' : 'idle'
  }

  available(): Promise<void> {
    return this.gate.raised()
  }

  snapshot(): SourceSplit[] {
    return this.splits
  }

  checkpointCompleted(): void {}

  async close(): Promise<void> {}
}

/** The source of the ledger, which reads up to the limit of the gate. */
export function ledgerSource(gate: LedgerGate): Source<Entry> {
  return {
    boundedness: 'bounded',
    discoveryIntervalMs: undefined,
    discover: async () => Array.from({ length: PARTITIONS }, (_, partition) => partition),
    createReader: () => new LedgerReader(gate),
  }
}
