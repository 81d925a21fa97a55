import type { Cancel, Clock } from '../../core/clock.ts'
import { requireArgument } from '../../core/errors.ts'
import { bytes } from '../../core/options/kinds.ts'
import { checkArgument } from '../../core/options/shape.ts'
import { partitionOf } from '../../wire/batch/java-partitioner.ts'
import type { RecordHeader } from '../../wire/batch/record-batch-format.ts'
import { RecordBatchWriter } from '../../wire/batch/record-batch-writer.ts'
import { recordSizeBound } from '../../wire/batch/record-size.ts'
import { InFlightBatches } from './in-flight-batches.ts'
import type { RecordTarget } from './outgoing-record.ts'

/** Settings of a `BatchingProducer`. */
export interface BatchingSettings {
  readonly topic: string
  readonly partitions: number
  /**
   * Size of a batch before compression, bytes: a batch is sent before a record would make it larger,
   * and when it reaches this size. A record that is larger is alone in its batch.
   */
  readonly batchBytes: number
  /** `ready()` turns false when more than this is in flight, bytes. */
  readonly maxInFlightBytes: number
  /** Batches of one partition in flight from which on records wait longer than the linger time. */
  readonly maxInFlightBatches: number
  /** A batch is sent when its oldest record is this old, ms; undefined: only when it is full. */
  readonly lingerMs: number | undefined
  readonly clock: Clock
}

const INITIAL_BATCH_BYTES = 16 * 1024

/**
 * Gathers records of one topic into one batch per partition and appends a batch when it is full, when
 * its linger time is over, or when `dispatch` is called. Subclasses append to the embedded log or to
 * Kafka.
 */
export abstract class BatchingProducer implements RecordTarget {
  protected readonly topic: string
  protected partitions: number
  /** The first error of an append. All later records are refused with it. */
  protected failure: unknown
  private batchBytes: number
  private readonly maxInFlightBytes: number
  private readonly lingerMs: number | undefined
  private readonly clock: Clock
  private readonly writers: (RecordBatchWriter | undefined)[]
  private readonly inFlightBatches: InFlightBatches
  private readonly inFlight = new Set<Promise<void>>()
  private inFlightBytes = 0
  /** By partition, the highest acknowledged offset. */
  private readonly written: number[] = []
  /** Partition of records without a key; the next one after each batch. */
  private sticky = 0
  private waiting: (() => void)[] = []
  private cancelLinger: Cancel | undefined

  protected constructor(settings: BatchingSettings) {
    const { partitions, maxInFlightBatches } = settings
    this.topic = settings.topic
    this.partitions = partitions
    this.batchBytes = settings.batchBytes
    this.maxInFlightBytes = settings.maxInFlightBytes
    this.lingerMs = settings.lingerMs
    this.clock = settings.clock
    this.writers = new Array<RecordBatchWriter | undefined>(partitions).fill(undefined)
    this.inFlightBatches = new InFlightBatches(partitions, maxInFlightBatches)
  }

  /** Encodes the gathered records of a partition as a batch and empties the writer. */
  protected abstract takeBatch(
    partition: number,
    writer: RecordBatchWriter,
  ): Uint8Array<ArrayBuffer>

  /**
   * Appends a batch that `takeBatch` returned. Resolves when it is acknowledged, with the offset of its last record;
   * -1 where that is not known.
   */
  protected abstract append(partition: number, batch: Uint8Array<ArrayBuffer>): Promise<number>

  /** Partition of a key: as the Java client of Kafka chooses it, unless a subclass overrides this. */
  protected partitionOf(key: Uint8Array): number {
    return partitionOf(key, this.partitions)
  }

  /**
   * Adds a record. Partition -1 chooses by key; without a key, records of one batch share a
   * partition. Throws the failure of earlier appends.
   */
  sendRecord(
    key: Uint8Array | null,
    value: Uint8Array | null,
    timestamp: number,
    chosen: number,
    headers: readonly RecordHeader[],
  ): void {
    if (this.failure !== undefined) throw this.failure
    const partition = chosen === -1 ? this.choose(key) : chosen
    const writer = this.writers[partition] ?? this.newWriter(partition)
    if (writer.count > 0 && writer.size + recordSizeBound(key, value, headers) > this.batchBytes) {
      this.sendBatch(partition, writer)
    }
    writer.append(key, value, timestamp, writer.count, headers)
    if (writer.size >= this.batchBytes) this.sendBatch(partition, writer)
    else if (this.cancelLinger === undefined && this.lingerMs !== undefined) {
      this.startLinger(this.lingerMs)
    }
  }

  private newWriter(partition: number): RecordBatchWriter {
    requireArgument(
      partition >= 0 && partition < this.partitions,
      `topic "${this.topic}" has no partition ${partition}`,
    )
    const writer = new RecordBatchWriter(INITIAL_BATCH_BYTES)
    this.writers[partition] = writer
    return writer
  }

  /** Uses partitions that were added to the topic. */
  protected grow(partitions: number): void {
    if (partitions <= this.partitions) return
    this.partitions = partitions
    this.writers.length = partitions
    this.inFlightBatches.grow(partitions)
  }

  /** Makes batches no larger than `bytes` from now on. */
  protected limitBatches(bytes: number): void {
    this.batchBytes = Math.min(this.batchBytes, bytes)
  }

  private choose(key: Uint8Array | null): number {
    return key === null ? this.sticky : this.partitionOf(key)
  }

  private startLinger(lingerMs: number): void {
    this.cancelLinger = this.clock.after(lingerMs, () => {
      this.cancelLinger = undefined
      this.sendLingered()
    })
  }

  private sendLingered(): void {
    for (let partition = 0; partition < this.partitions; partition++) {
      const count = this.writers[partition]?.count ?? 0
      if (count > 0 && this.inFlightBatches.lingerElapsed(partition)) this.dispatchOne(partition)
    }
  }

  private dispatchOne(partition: number): void {
    const writer = this.writers[partition]
    if (writer !== undefined && writer.count > 0) this.sendBatch(partition, writer)
  }

  private sendBatch(partition: number, writer: RecordBatchWriter): void {
    if (partition === this.sticky) this.sticky = (this.sticky + 1) % this.partitions
    const batch = this.takeBatch(partition, writer)
    const size = batch.length
    this.inFlightBytes += size
    this.inFlightBatches.sent(partition)
    const appending = this.append(partition, batch)
      .then((offset) => {
        this.written[partition] = Math.max(this.written[partition] ?? -1, offset)
      })
      .catch((error: unknown) => this.fail(error))
      .then(() => {
        this.inFlight.delete(appending)
        this.inFlightBytes -= size
        if (this.inFlightBatches.completed(partition)) this.dispatchOne(partition)
        if (this.ready()) this.wakeWaiting()
      })
    this.inFlight.add(appending)
  }

  /** Records an error: later records are refused, and callers that wait are woken to meet it. */
  protected fail(error: unknown): void {
    this.failure ??= error
    this.wakeWaiting()
  }

  /**
   * The partition of a key, and the highest offset there that this producer knows to be acknowledged; -1 for none. After
   * a `flush`, all records of the key that were sent before lie up to there.
   */
  positionOf(key: Uint8Array): { readonly partition: number; readonly offset: number } {
    checkArgument('producer.positionOf', 'key', bytes, key)
    const partition = this.partitionOf(key)
    return { partition, offset: this.written[partition] ?? -1 }
  }

  /** False while more than the maximum is in flight; true after a failure, which `sendRecord` throws. */
  ready(): boolean {
    return this.inFlightBytes <= this.maxInFlightBytes || this.failure !== undefined
  }

  /** Resolves when `ready()` is true. */
  whenReady(): Promise<void> {
    if (this.ready()) return Promise.resolve()
    return new Promise((resolve) => this.waiting.push(resolve))
  }

  private wakeWaiting(): void {
    for (const resolve of this.waiting.splice(0)) resolve()
  }

  /** Sends all gathered records; `settled` waits for them. */
  dispatch(): void {
    this.stopLinger()
    for (let partition = 0; partition < this.partitions; partition++) this.dispatchOne(partition)
  }

  /** Sends all gathered records and resolves when they are acknowledged. Throws the failure of an append. */
  async flush(): Promise<void> {
    this.dispatch()
    await this.acknowledged()
  }

  /** Resolves when all batches in flight are acknowledged. Throws the failure of an append. */
  protected async acknowledged(): Promise<void> {
    await Promise.all(this.inFlight)
    if (this.failure !== undefined) throw this.failure
  }

  /** Resolves when everything dispatched before is durable. Throws the failure of an append. */
  settled(): Promise<void> {
    return this.acknowledged()
  }

  /** Discards gathered records, waits for batches in flight and clears the failure. */
  protected async discard(): Promise<void> {
    for (const writer of this.writers) writer?.reset()
    await Promise.all(this.inFlight)
    this.failure = undefined
  }

  /** Stops the linger timer: gathered records that were not dispatched are not sent any more. */
  close(): void {
    this.stopLinger()
  }

  private stopLinger(): void {
    this.cancelLinger?.()
    this.cancelLinger = undefined
  }
}
