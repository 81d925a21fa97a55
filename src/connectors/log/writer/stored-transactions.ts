import type { Clock } from '../../../core/clock.ts'
import { RecordBatchReader } from '../../../wire/batch/record-batch-reader.ts'
import { RecordBatchWriter } from '../../../wire/batch/record-batch-writer.ts'
import { PartitionReader } from '../storage/partition-reader.ts'
import type { PartitionWriter } from '../storage/partition-writer.ts'
import {
  decodeTransactionState,
  encodeTransactionState,
  type TransactionState,
} from './transaction-state.ts'

/** Where the states of transactions are stored. */
export interface StatesLog {
  readonly clock: Clock
  /** The one partition of the internal topic of states. */
  states(): Promise<PartitionWriter>
  /** Forces the states to the disk. */
  syncStates(): Promise<void>
}

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** The states of a log's transactions by id, each stored as a record of the internal topic. */
export class StoredTransactions {
  private readonly log: StatesLog
  private readonly states = new Map<string, TransactionState>()
  private nextProducerId = 1

  constructor(log: StatesLog) {
    this.log = log
  }

  /** Reads the stored states. */
  async load(): Promise<void> {
    const partition = await this.log.states()
    const reader = new PartitionReader(partition.path, {
      isolation: 'read_uncommitted',
      files: partition.files,
    })
    const records = new RecordBatchReader()
    try {
      const buffer = new Uint8Array(256 * 1024)
      let offset = reader.status().logStart
      for (;;) {
        const fetched = await reader.fetch(offset, buffer)
        if (fetched === undefined) return
        for (let at = 0; at < fetched.end; ) {
          at = records.open(fetched.bytes, at, false)
          while (records.next()) this.restore(records)
        }
        offset = fetched.nextOffset
      }
    } finally {
      reader.close()
    }
  }

  private restore(record: RecordBatchReader): void {
    const id = decoder.decode(record.key() ?? new Uint8Array(0))
    const value = record.value()
    if (value === null) {
      this.states.delete(id)
      return
    }
    const state = decodeTransactionState(value)
    this.states.set(id, state)
    this.nextProducerId = Math.max(this.nextProducerId, state.producerId + 1)
  }

  get(id: string): TransactionState | undefined {
    return this.states.get(id)
  }

  /** All states, which may be changed meanwhile. */
  all(): readonly TransactionState[] {
    return [...this.states.values()]
  }

  newProducerId(): number {
    return this.nextProducerId++
  }

  /** Forces the states to the disk. */
  sync(): Promise<void> {
    return this.log.syncStates()
  }

  async store(state: TransactionState): Promise<void> {
    await this.write(state.transactionalId, encodeTransactionState(state))
    this.states.set(state.transactionalId, state)
  }

  /** Stores all states again, after the partition that holds them has failed and was opened again. */
  async storeAgain(): Promise<void> {
    for (const state of this.all()) await this.store(state)
    await this.sync()
  }

  async remove(id: string): Promise<void> {
    this.states.delete(id)
    await this.write(id, null)
  }

  private async write(id: string, value: Uint8Array | null): Promise<void> {
    const writer = new RecordBatchWriter(1024)
    writer.append(encoder.encode(id), value, this.log.clock.nowMs())
    await (await this.log.states()).append(writer.take())
  }
}
