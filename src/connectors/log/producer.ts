import { type Clock, systemClock } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import {
  bytes,
  count,
  either,
  kindOf,
  listOf,
  milliseconds,
  name,
  objectWith,
  oneOf,
  optional,
  wholeNumber,
} from '../../core/options/kinds.ts'
import { CLOCK } from '../../core/options/ports.ts'
import { checkArgument, checkOptions, type OptionShape } from '../../core/options/shape.ts'
import { CODEC, type Codec } from '../../wire/batch/compression.ts'
import { BATCH_FIELDS, type RecordHeader, readInt32 } from '../../wire/batch/record-batch-format.ts'
import type { RecordBatchWriter } from '../../wire/batch/record-batch-writer.ts'
import { BatchingProducer } from '../records/batching-producer.ts'
import type { ProducerIdentity } from '../transactions/producer-identity.ts'
import type { SentUnderIdentity } from '../transactions/two-phase-sink-writer.ts'
import type { LogWriter } from './writer/log-writer.ts'
import type { TransactionLifetime } from './writer/transaction-state.ts'

/** Options of an `EmbeddedLogProducer`: how records are gathered into batches. */
export interface ProducerOptions {
  /**
   * A batch is sent before a record would make it larger than this; default 256 KiB. A larger record is
   * alone in its batch.
   */
  readonly batchBytes?: number
  /** A batch is sent when its oldest record is this old, in ms; default only when it is full. */
  readonly lingerMs?: number
  /** `ready()` turns false when more than this is in flight; default 8 MiB. */
  readonly maxInFlightBytes?: number
  readonly codec?: Codec
  /** Clock of the linger time; default the system's. */
  readonly clock?: Clock
}

/** The options of an `EmbeddedLogProducer`. */
export const LOG_PRODUCER: OptionShape<ProducerOptions> = {
  batchBytes: count,
  lingerMs: milliseconds,
  maxInFlightBytes: count,
  codec: CODEC,
  clock: CLOCK,
}

/** Options of one record. */
export interface SendOptions {
  /** Default: by key hash (Java-compatible); without a key, one partition for each batch. */
  readonly partition?: number
  readonly headers?: readonly RecordHeader[]
}

const SEND: OptionShape<SendOptions> = {
  partition: wholeNumber({ min: 0 }),
  headers: listOf(objectWith<RecordHeader>('a header with key and value')),
}

const BYTES_OR_NULL = either(
  bytes,
  kindOf<null>('null', (value) => value === null),
)
const TIMESTAMP = wholeNumber()
const LIFETIME = optional(oneOf<TransactionLifetime>('handle', 'session'))
const TRANSACTION = kindOf<ProducerIdentity>(
  'a transaction, as begin returns it',
  (given) => typeof (given as Partial<ProducerIdentity> | null)?.transactionalId === 'string',
)

/** Whether options are plainly right. They are looked at for each record, so this costs less than the shape. */
function areRight(options: SendOptions): boolean {
  if (typeof options !== 'object' || options === null) return false
  for (const option in options) {
    if (option !== 'partition' && option !== 'headers') return false
  }
  const { partition = 0, headers } = options
  return (
    Number.isSafeInteger(partition) &&
    partition >= 0 &&
    (headers === undefined || (Array.isArray(headers) && headers.length === 0))
  )
}

const NO_WITNESS: SentUnderIdentity = {}
const NO_OPTIONS: SendOptions = {}
const NO_HEADERS: readonly RecordHeader[] = []
const DEFAULT_BATCH_BYTES = 256 * 1024
const DEFAULT_IN_FLIGHT_BYTES = 8 * 1024 * 1024
/** While one batch is being written, the next may be on its way to the log's thread. */
const MAX_IN_FLIGHT_BATCHES = 2

/** Whether a record is plainly right, as `areRight`. */
function isRecord(key: unknown, value: unknown, timestamp: unknown): boolean {
  return (
    (key === null || key instanceof Uint8Array) &&
    (value === null || value instanceof Uint8Array) &&
    Number.isSafeInteger(timestamp)
  )
}

function refuseRecord(key: unknown, value: unknown, timestamp: unknown): void {
  checkArgument('producer.send', 'key', BYTES_OR_NULL, key)
  checkArgument('producer.send', 'value', BYTES_OR_NULL, value)
  checkArgument('producer.send', 'timestamp', TIMESTAMP, timestamp)
}

/** Gathers records of one topic into batches and appends them to the embedded log. */
export class EmbeddedLogProducer extends BatchingProducer {
  private readonly log: LogWriter
  private readonly codec: Codec
  /** Buffers of written batches, for the next ones. */
  private readonly spare: ArrayBuffer[] = []
  private transaction: ProducerIdentity | undefined

  constructor(
    log: LogWriter,
    target: { readonly topic: string; readonly partitions: number },
    options: ProducerOptions = {},
  ) {
    super({
      topic: target.topic,
      partitions: target.partitions,
      batchBytes: options.batchBytes ?? DEFAULT_BATCH_BYTES,
      maxInFlightBytes: options.maxInFlightBytes ?? DEFAULT_IN_FLIGHT_BYTES,
      maxInFlightBatches: MAX_IN_FLIGHT_BATCHES,
      lingerMs: options.lingerMs,
      clock: options.clock ?? systemClock,
    })
    this.log = log
    this.codec = options.codec ?? 'none'
  }

  /** Adds a record; it is sent with its batch or at `flush`. Throws the failure of earlier appends. */
  send(
    key: Uint8Array | null,
    value: Uint8Array | null,
    timestamp: number,
    options: SendOptions = NO_OPTIONS,
  ): void {
    if (!isRecord(key, value, timestamp)) refuseRecord(key, value, timestamp)
    if (!areRight(options)) checkOptions('producer.send', SEND, options)
    const headers = options.headers ?? NO_HEADERS
    this.sendRecord(key, value, timestamp, options.partition ?? -1, headers)
  }

  protected override takeBatch(
    _partition: number,
    writer: RecordBatchWriter,
  ): Uint8Array<ArrayBuffer> {
    const { codec, transaction } = this
    const options =
      transaction === undefined
        ? { codec }
        : {
            codec,
            transactional: true,
            producerId: transaction.producerId,
            producerEpoch: transaction.epoch,
          }
    return writer.take(options, this.spare.pop() ?? this.log.spareBuffer?.())
  }

  protected override async append(
    partition: number,
    batch: Uint8Array<ArrayBuffer>,
  ): Promise<number> {
    // The buffer may be transferred to the thread of the log.
    const lastDelta = readInt32(batch, BATCH_FIELDS.lastOffsetDelta)
    const { transaction } = this
    try {
      const base = await this.log.append(this.topic, partition, batch, transaction?.transactionalId)
      return base + lastDelta
    } finally {
      this.keepSpare(batch.buffer)
    }
  }

  /**
   * Keeps the buffer of a written batch for the next batch: zeroing a new buffer for each small batch
   * took twice the time of copying its records. A buffer that was transferred to the log's thread is
   * empty; it comes back by `LogWriter.spareBuffer`.
   */
  private keepSpare(buffer: ArrayBuffer): void {
    if (buffer.byteLength > 0 && this.spare.length < this.partitions) this.spare.push(buffer)
  }

  /** `flush`, and forces the topic onto the disk (unless fsync is `none`). */
  async sync(): Promise<void> {
    this.dispatch()
    await this.settled()
  }

  /** Resolves when what was dispatched before is appended and forced onto the disk. */
  override async settled(): Promise<void> {
    await this.acknowledged()
    await this.log.sync(this.topic)
  }

  /** Records sent from now on belong to this transaction; those before must be dispatched. */
  continueWith(transaction: ProducerIdentity): SentUnderIdentity {
    checkArgument('producer.continueWith', 'transaction', TRANSACTION, transaction)
    this.transaction = transaction
    return NO_WITNESS
  }

  /**
   * Begins a transaction under `transactionalId`: fences its older producers and aborts their open
   * transaction. Records sent from now on are visible to read_committed readers only after `commit`.
   * Throws INVALID_TRANSACTION when one is open. `lifetime`: what ends it if this producer does not; default
   * `handle`, whose handle commits it after a crash.
   */
  async begin(transactionalId: string, lifetime?: TransactionLifetime): Promise<ProducerIdentity> {
    checkArgument('producer.begin', 'transactionalId', name, transactionalId)
    checkArgument('producer.begin', 'lifetime', LIFETIME, lifetime)
    if (this.transaction !== undefined) {
      throw new WeirError('INVALID_TRANSACTION', 'commit, abort or prepare the open one first')
    }
    await this.flush()
    this.transaction = await this.log.initProducer(transactionalId, lifetime)
    return this.transaction
  }

  /**
   * Makes all records of the transaction durable and returns its handle; `endTransaction` of the log
   * commits or aborts it later, also after a crash. This producer may begin another one. Throws
   * INVALID_TRANSACTION when none is open, as `commit` and `abort` do.
   */
  async prepare(): Promise<ProducerIdentity> {
    const transaction = this.requireTransaction()
    await this.sync()
    this.transaction = undefined
    return transaction
  }

  /** Makes the transaction's records visible, all at once per partition. */
  async commit(): Promise<void> {
    await this.log.endTransaction(await this.prepare(), true)
  }

  /** Drops the transaction's records. */
  async abort(): Promise<void> {
    const transaction = this.requireTransaction()
    await this.discard()
    this.transaction = undefined
    await this.log.endTransaction(transaction, false)
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
