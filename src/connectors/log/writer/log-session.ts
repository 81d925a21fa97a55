import { WeirError } from '../../../core/errors.ts'
import { checkBatch } from '../../../wire/batch/check-batch.ts'
import { producerEpochOf } from '../../../wire/batch/record-batch-format.ts'
import type { ProducerIdentity } from '../../transactions/producer-identity.ts'
import type { TopicConfig } from '../storage/topic-config.ts'
import type { LocalLogWriter } from './local-log-writer.ts'
import type { LogWriter, TransactionDescription } from './log-writer.ts'
import type { TransactionLifetime } from './transaction-state.ts'

/** Options of a `LogSession`. */
export interface SessionOptions {
  /** Runs at the end of the session. */
  readonly onClose?: () => Promise<void>
  /** Whether appended batches are checked, because another process has made them. */
  readonly checkBatches?: boolean
}

/**
 * One use of a log's writer. When a partition fails, records that were acknowledged may be lost. A
 * session from before the failure gets errors from this partition from then on; a new session opens it
 * again. So no session forces "all that it wrote" when a part of it is gone.
 */
export class LogSession implements LogWriter {
  private readonly writer: LocalLogWriter
  /** Failures of partitions before this session. */
  private readonly failuresBefore: number
  private readonly options: SessionOptions
  /** Epochs of the transactions that it has written to, by id. */
  private readonly epochs = new Map<string, number>()

  private constructor(writer: LocalLogWriter, options: SessionOptions) {
    this.writer = writer
    this.failuresBefore = writer.failures
    this.options = options
  }

  /** Begins a session, after it has opened failed partitions again. */
  static async open(writer: LocalLogWriter, options: SessionOptions = {}): Promise<LogSession> {
    if (writer.failures > 0) await writer.recoverFailed()
    return new LogSession(writer, options)
  }

  createTopic(topic: string, config: Partial<TopicConfig>): Promise<void> {
    return this.writer.createTopic(topic, config)
  }

  setPartitions(topic: string, partitions: number): Promise<void> {
    return this.writer.setPartitions(topic, partitions)
  }

  deleteTopic(topic: string): Promise<void> {
    return this.writer.deleteTopic(topic)
  }

  deleteRecords(topic: string, partition: number, before: number): Promise<void> {
    return this.writer.deleteRecords(topic, partition, before)
  }

  eraseRecords(topic: string, partition: number, offsets: readonly number[]): Promise<number> {
    return this.writer.eraseRecords(topic, partition, offsets)
  }

  async append(
    topic: string,
    partition: number,
    batch: Uint8Array<ArrayBuffer>,
    transactionalId?: string,
  ): Promise<number> {
    if (
      this.missesFailures &&
      this.writer.failedAfter(`${topic}/${partition}`, this.failuresBefore)
    )
      throw outdated(`${topic}/${partition}`)
    if (this.options.checkBatches === true) checkBatch(batch, 0, batch.length)
    if (transactionalId !== undefined) {
      this.epochs.set(transactionalId, producerEpochOf(batch, 0))
    }
    return await this.writer.append(topic, partition, batch, transactionalId)
  }

  async sync(topic: string): Promise<void> {
    await this.writer.sync(topic)
    const failed = this.missesFailures
      ? this.writer.failedIn(topic, this.failuresBefore)
      : undefined
    if (failed !== undefined) throw outdated(failed)
  }

  initProducer(transactionalId: string, lifetime?: TransactionLifetime): Promise<ProducerIdentity> {
    return this.writer.initProducer(transactionalId, lifetime)
  }

  endTransaction(producer: ProducerIdentity, commit: boolean): Promise<void> {
    // Its records may be lost. If they were prepared, a new session can commit them.
    if (commit && this.missesFailures) return Promise.reject(outdated('a partition'))
    return this.writer.endTransaction(producer, commit)
  }

  listTransactions(prefix: string): Promise<readonly TransactionDescription[]> {
    return this.writer.listTransactions(prefix)
  }

  clean(): Promise<void> {
    return this.writer.clean()
  }

  async close(): Promise<void> {
    try {
      await this.writer.endSession(this.epochs)
    } finally {
      await this.options.onClose?.()
    }
  }

  private get missesFailures(): boolean {
    return this.writer.failures > this.failuresBefore
  }
}

function outdated(name: string): WeirError {
  const message = `a write to ${name} has failed since the log was opened, and records may be lost; close the log, open it again and repeat what was not synced`
  return new WeirError('CONNECTOR_FAILED', message, { details: { partition: name } })
}
