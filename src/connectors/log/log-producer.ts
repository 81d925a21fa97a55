import type { Codec } from '../../batch/compression.ts'
import { partitionOf } from '../../batch/java-partitioner.ts'
import type { RecordHeader } from '../../batch/record-batch-format.ts'
import { type FinishOptions, RecordBatchWriter } from '../../batch/record-batch-writer.ts'
import { requireArgument, WeirError } from '../../core/errors.ts'
import type { SentUnderIdentity } from '../transactions/two-phase-sink-writer.ts'
import { BatchesUnderWay } from './batches-under-way.ts'
import type { LogBackend, ProducerIdentity } from './log-backend.ts'

/** How records are gathered into batches. */
export interface ProducerOptions {
  /** A batch is sent when it reaches this size; default 256 KiB. */
  readonly batchBytes?: number
  /** `ready()` turns false when more than this is on its way; default 8 MiB. */
  readonly maxInFlightBytes?: number
  readonly codec?: Codec
}

/** Where a record goes; by key hash (Java-compatible) or, without a key, spread by batch. */
export interface SendOptions {
  readonly partition?: number
  readonly headers?: readonly RecordHeader[]
}

const NOTHING_KNOWN: SentUnderIdentity = {}
const NO_OPTIONS: SendOptions = {}
const NO_HEADERS: readonly RecordHeader[] = []
const DEFAULT_BATCH_BYTES = 256 * 1024
const DEFAULT_IN_FLIGHT_BYTES = 8 * 1024 * 1024
/** While one batch is being written, the next may be on its way to the log's thread. */
const MOST_UNDER_WAY = 2

/** Gathers records of one topic into batches per partition and appends them to the log. */
export class EmbeddedLogProducer {
  private readonly backend: LogBackend
  private readonly topic: string
  private readonly partitions: number
  private readonly batchBytes: number
  private readonly maxInFlightBytes: number
  private readonly codec: Codec
  private readonly writers: (RecordBatchWriter | undefined)[]
  private readonly spare: ArrayBuffer[] = []
  private transaction: ProducerIdentity | undefined
  private sticky = 0
  private inFlightBytes = 0
  private inFlight = new Set<Promise<unknown>>()
  private readonly underWay: BatchesUnderWay
  private failure: unknown
  private waiting: (() => void)[] = []

  constructor(
    backend: LogBackend,
    topic: string,
    partitions: number,
    options: ProducerOptions = {},
  ) {
    this.backend = backend
    this.topic = topic
    this.partitions = partitions
    this.batchBytes = options.batchBytes ?? DEFAULT_BATCH_BYTES
    this.maxInFlightBytes = options.maxInFlightBytes ?? DEFAULT_IN_FLIGHT_BYTES
    this.codec = options.codec ?? 'none'
    this.writers = new Array<RecordBatchWriter | undefined>(partitions).fill(undefined)
    this.underWay = new BatchesUnderWay(partitions, MOST_UNDER_WAY)
  }

  /** Adds a record; it is sent with its batch or at `flush`. Throws what an earlier append threw. */
  send(
    key: Uint8Array | null,
    value: Uint8Array | null,
    timestamp: number,
    options: SendOptions = NO_OPTIONS,
  ): void {
    const headers = options.headers ?? NO_HEADERS
    this.sendRecord(key, value, timestamp, options.partition ?? -1, headers)
  }

  /** As `send`, without an options object; partition -1 chooses by key. */
  sendRecord(
    key: Uint8Array | null,
    value: Uint8Array | null,
    timestamp: number,
    chosen: number,
    headers: readonly RecordHeader[],
  ): void {
    if (this.failure !== undefined) throw this.failure
    const partition = chosen === -1 ? this.choose(key) : chosen
    requireArgument(
      partition >= 0 && partition < this.partitions,
      `topic "${this.topic}" has no partition ${partition}`,
    )
    let writer = this.writers[partition]
    if (writer === undefined) {
      writer = new RecordBatchWriter(16 * 1024)
      this.writers[partition] = writer
    }
    writer.append(key, value, timestamp, writer.count, headers)
    if (writer.size >= this.batchBytes) this.sendBatch(partition, writer)
  }

  private choose(key: Uint8Array | null): number {
    return key === null ? this.sticky : partitionOf(key, this.partitions)
  }

  private sendBatch(partition: number, writer: RecordBatchWriter): void {
    if (partition === this.sticky) this.sticky = (this.sticky + 1) % this.partitions
    const transaction = this.transaction
    const options: FinishOptions =
      transaction === undefined
        ? { codec: this.codec }
        : {
            codec: this.codec,
            transactional: true,
            producerId: transaction.producerId,
            producerEpoch: transaction.epoch,
          }
    const batch = writer.take(options, this.spare.pop())
    const size = batch.length
    this.inFlightBytes += size
    this.underWay.sent(partition)
    const append = this.backend
      .append(this.topic, partition, batch, transaction?.transactionalId)
      .catch((error: unknown) => {
        this.failure ??= error
      })
      .then(() => {
        this.keepSpare(batch.buffer)
        this.inFlight.delete(append)
        this.inFlightBytes -= size
        if (this.underWay.arrived(partition)) this.dispatchOne(partition)
        if (this.ready()) for (const resolve of this.waiting.splice(0)) resolve()
      })
    this.inFlight.add(append)
  }

  /**
   * A buffer whose batch is written serves the next batch: zeroing a new one for each small batch
   * took twice the time of copying its records in. One that was transferred to the owner is empty.
   */
  private keepSpare(buffer: ArrayBuffer): void {
    if (buffer.byteLength > 0 && this.spare.length < this.partitions) this.spare.push(buffer)
  }

  /** False while too much is on its way. */
  ready(): boolean {
    return this.inFlightBytes <= this.maxInFlightBytes || this.failure !== undefined
  }

  /** Resolves when `ready()` is true. */
  whenReady(): Promise<void> {
    if (this.ready()) return Promise.resolve()
    return new Promise((resolve) => this.waiting.push(resolve))
  }

  /** Sends what is gathered; `settled` waits for it. */
  dispatch(): void {
    for (let partition = 0; partition < this.partitions; partition++) {
      this.dispatchOne(partition)
    }
  }

  /** Sends what has waited for the linger time, or will as `BatchesUnderWay` says. */
  lingered(): void {
    for (let partition = 0; partition < this.partitions; partition++) {
      const count = this.writers[partition]?.count ?? 0
      if (count > 0 && this.underWay.lingered(partition)) this.dispatchOne(partition)
    }
  }

  private dispatchOne(partition: number): void {
    const writer = this.writers[partition]
    if (writer !== undefined && writer.count > 0) this.sendBatch(partition, writer)
  }

  /** Sends what is gathered and resolves when all of it is appended. Throws what an append threw. */
  async flush(): Promise<void> {
    this.dispatch()
    await Promise.all(this.inFlight)
    if (this.failure !== undefined) throw this.failure
  }

  /** `flush`, and forces the topic onto the disk (unless fsync is `none`). */
  async sync(): Promise<void> {
    this.dispatch()
    await this.settled()
  }

  /** Resolves when what was dispatched before is appended and forced onto the disk. */
  async settled(): Promise<void> {
    await Promise.all(this.inFlight)
    if (this.failure !== undefined) throw this.failure
    await this.backend.sync(this.topic)
  }

  /** Records sent from now on belong to this transaction; those before must be dispatched. */
  continueWith(transaction: ProducerIdentity): SentUnderIdentity {
    this.transaction = transaction
    return NOTHING_KNOWN
  }

  /**
   * Begins a transaction under `transactionalId`: fences its older producers and aborts what they
   * left open. Records sent from now on are visible to read_committed readers only after `commit`.
   */
  async begin(transactionalId: string): Promise<ProducerIdentity> {
    if (this.transaction !== undefined) {
      throw new WeirError('INVALID_TRANSACTION', 'commit, abort or prepare the open one first')
    }
    await this.flush()
    this.transaction = await this.backend.initProducer(transactionalId)
    return this.transaction
  }

  /**
   * Makes all records of the transaction durable and returns its handle; `endTransaction` of the log
   * commits or aborts it later, also after a crash. This producer may begin another one.
   */
  async prepare(): Promise<ProducerIdentity> {
    const transaction = this.requireTransaction()
    await this.sync()
    this.transaction = undefined
    return transaction
  }

  /** Makes the transaction's records visible, all at once per partition. */
  async commit(): Promise<void> {
    await this.backend.endTransaction(await this.prepare(), true)
  }

  /** Drops the transaction's records. */
  async abort(): Promise<void> {
    const transaction = this.requireTransaction()
    for (const writer of this.writers) writer?.reset()
    await Promise.all(this.inFlight)
    this.transaction = undefined
    this.failure = undefined
    await this.backend.endTransaction(transaction, false)
  }

  /** Whether a transaction is open that `prepare`, `commit` or `abort` would end. */
  get inTransaction(): boolean {
    return this.transaction !== undefined
  }

  private requireTransaction(): ProducerIdentity {
    if (this.transaction === undefined) {
      throw new WeirError('INVALID_TRANSACTION', 'no transaction is open; call begin first')
    }
    return this.transaction
  }
}
