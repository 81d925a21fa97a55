import { ByteReader } from '../../core/byte-reader.ts'
import { ByteWriter } from '../../core/byte-writer.ts'
import type { Cancel, Clock } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import type { SinkWriter, SinkWriterContext } from '../../operators/sink.ts'
import { EmbeddedLog } from './embedded-log.ts'
import type { ProducerIdentity } from './log-backend.ts'
import type { EmbeddedLogProducer } from './log-producer.ts'
import type { LogSinkOptions } from './log-sink.ts'
import { RecordSender } from './outgoing-record.ts'
import { TransactionPool } from './transaction-pool.ts'

export const COMMITTABLE_VERSION = 1

/**
 * A prepared transaction as a checkpoint stores it. Little-endian: version u16 = 1 | producer id
 * i64 | epoch u16 | transactional id (varuint length, UTF-8).
 */
export function encodeCommittable(producer: ProducerIdentity): Uint8Array {
  const writer = new ByteWriter(64)
  writer.uint16(COMMITTABLE_VERSION)
  writer.int53(producer.producerId)
  writer.uint16(producer.epoch)
  writer.text(producer.transactionalId)
  return writer.toBytes()
}

/** Decodes a committable. Throws MALFORMED_DATA, UNSUPPORTED_VERSION. */
export function decodeCommittable(bytes: Uint8Array): ProducerIdentity {
  const reader = new ByteReader(bytes)
  const version = reader.uint16()
  if (version !== COMMITTABLE_VERSION) {
    throw new WeirError('UNSUPPORTED_VERSION', `log committable ${version}; this build reads 1`)
  }
  const producerId = reader.int53()
  const epoch = reader.uint16()
  return { producerId, epoch, transactionalId: reader.text() }
}

/** Writes the results of one subtask; see `LogSink`. */
export class LogSinkWriter<T> implements SinkWriter<T> {
  private readonly options: LogSinkOptions<T>
  private readonly exactlyOnce: boolean
  private readonly sender: RecordSender<T>
  private log: EmbeddedLog | undefined
  private pool: TransactionPool | undefined
  private producer: EmbeddedLogProducer | undefined
  /** Records written since the transaction began. */
  private written = 0
  private leftoversPending = false
  private clock: Clock | undefined
  private cancelLinger: Cancel | undefined

  constructor(options: LogSinkOptions<T>) {
    this.options = options
    this.sender = new RecordSender(options.serialize)
    this.exactlyOnce = options.guarantee === 'exactly-once'
  }

  async open(context: SinkWriterContext, restored: readonly Uint8Array[]): Promise<void> {
    const { directory, topic, log } = this.options
    this.clock = context.clock
    this.log = await EmbeddedLog.open(directory, log)
    this.producer = this.log.producer(topic, this.options)
    if (!this.exactlyOnce) return
    await this.commit(restored)
    this.pool = await TransactionPool.open(this.log.backend, context)
    // Subtasks beside this one may not have committed yet what was restored to them. At the first
    // barrier all of them have opened.
    if (context.parallelism === 1) await this.pool.abortLeftovers()
    else this.leftoversPending = true
    this.producer.continueWith(await this.pool.next())
    await this.pool.prepareSpare()
  }

  write(value: T, timestamp: number): void {
    this.written += 1
    this.sender.send(value, timestamp, this.producer!)
    const { lingerMs } = this.options
    if (lingerMs === undefined || this.cancelLinger !== undefined) return
    this.cancelLinger = this.clock!.after(lingerMs, () => {
      this.cancelLinger = undefined
      this.producer?.dispatch()
    })
  }

  ready(): boolean {
    return this.producer!.ready()
  }

  whenReady(): Promise<void> {
    return this.producer!.whenReady()
  }

  async prepareCommit(_checkpointId: number): Promise<readonly Uint8Array[]> {
    const producer = this.producer!
    if (!this.exactlyOnce) {
      if (this.options.guarantee !== 'none') await producer.sync()
      else producer.dispatch()
      return []
    }
    const pool = this.pool!
    const committables: Uint8Array[] = []
    // What follows is synchronous: records written while the old transaction is being forced to the
    // disk belong to the next one.
    if (this.written > 0) {
      this.written = 0
      committables.push(encodeCommittable(producer.currentTransaction()))
      producer.dispatch()
      producer.continueWith(pool.takeSpare())
    }
    if (committables.length > 0) await producer.settled()
    if (this.leftoversPending) {
      this.leftoversPending = false
      await pool.abortLeftovers()
    }
    await pool.prepareSpare()
    return committables
  }

  async commit(committables: readonly Uint8Array[]): Promise<void> {
    for (const committable of committables) {
      const producer = decodeCommittable(committable)
      await this.log!.backend.endTransaction(producer, true)
      this.pool?.release(producer.transactionalId)
    }
  }

  async close(): Promise<void> {
    this.cancelLinger?.()
    try {
      if (!this.exactlyOnce) await this.producer?.flush()
    } finally {
      await this.log?.close()
      this.log = undefined
    }
  }
}
