import { checkArgument } from '../../core/options/shape.ts'
import { DirectWriter } from '../../operators/basic/direct-writer.ts'
import {
  type DeliveryGuarantee,
  GUARANTEE,
  type Sink,
  type SinkWriter,
  type SinkWriterContext,
} from '../../operators/port/sink.ts'

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** State that the writers of one sink share. */
interface MemorySinkStore<T> {
  readonly visible: T[]
  readonly prepared: Map<string, readonly T[]>
  nextTransaction: number
}

/**
 * Sink that collects the results of a job whose slots run in the calling thread. Exactly-once: values
 * appear in `values` only when their checkpoint is committed.
 */
export class MemorySink<T> implements Sink<T> {
  readonly guarantee: DeliveryGuarantee
  private readonly store: MemorySinkStore<T> = {
    visible: [],
    prepared: new Map(),
    nextTransaction: 1,
  }

  constructor(guarantee: DeliveryGuarantee = 'at-least-once') {
    checkArgument('new MemorySink', 'guarantee', GUARANTEE, guarantee)
    this.guarantee = guarantee
  }

  /** The visible results in the order in which they became visible. */
  get values(): readonly T[] {
    return this.store.visible
  }

  /** Transactions that are prepared and neither committed nor aborted. */
  get preparedCount(): number {
    return this.store.prepared.size
  }

  createWriter(): SinkWriter<T> {
    return this.guarantee === 'exactly-once'
      ? new TransactionalWriter(this.store)
      : new MemoryWriter(this.store)
  }
}

class MemoryWriter<T> extends DirectWriter<T> {
  private readonly store: MemorySinkStore<T>

  constructor(store: MemorySinkStore<T>) {
    super()
    this.store = store
  }

  override write(value: T): void {
    this.store.visible.push(value)
  }
}

class TransactionalWriter<T> extends DirectWriter<T> {
  private readonly transactions: MemorySinkStore<T>
  private uncommitted: T[] = []
  private prefix = ''

  constructor(store: MemorySinkStore<T>) {
    super()
    this.transactions = store
  }

  override async open(
    context?: SinkWriterContext,
    restored: readonly Uint8Array[] = [],
  ): Promise<void> {
    this.prefix = `${context?.jobName}/${context?.operatorUid}/${context?.subtask}/`
    await this.commit(restored)
  }

  override write(value: T): void {
    this.uncommitted.push(value)
  }

  override prepareCommit(): Promise<readonly Uint8Array[]> {
    if (this.uncommitted.length === 0) return Promise.resolve([])
    const id = `${this.prefix}${this.transactions.nextTransaction++}`
    this.transactions.prepared.set(id, this.uncommitted)
    this.uncommitted = []
    return Promise.resolve([encoder.encode(id)])
  }

  override commit(committables: readonly Uint8Array[] = []): Promise<void> {
    for (const committable of committables) {
      const id = decoder.decode(committable)
      const values = this.transactions.prepared.get(id) ?? []
      this.transactions.prepared.delete(id)
      for (const value of values) this.transactions.visible.push(value)
    }
    return Promise.resolve()
  }
}
