import type {
  DeliveryGuarantee,
  Sink,
  SinkWriter,
  SinkWriterContext,
} from '../../operators/port/sink.ts'
import type { TransactionStore } from '../transactions/pool.ts'
import {
  type TransactionalTopic,
  type TwoPhaseSinkOptions,
  TwoPhaseSinkWriter,
} from '../transactions/two-phase-sink-writer.ts'
import { EmbeddedLog } from './embedded-log.ts'
import type { EmbeddedLogProducer, ProducerOptions } from './producer.ts'
import { serveLogsToThreads } from './writer/connect.ts'
import type { LogOptions } from './writer/log-options.ts'
import type { LogWriter } from './writer/log-writer.ts'

/** Options of a `LogSink`. */
export interface LogSinkOptions<T> extends TwoPhaseSinkOptions<T>, Omit<ProducerOptions, 'clock'> {
  readonly directory: string
  readonly topic: string
  /** Options with which the log is opened, if it is not open yet. */
  readonly log?: LogOptions
}

/**
 * Writes to a topic of an embedded log. Exactly-once: records of one checkpoint interval and subtask
 * are one transaction, which read_committed readers see once the checkpoint is complete.
 */
export class LogSink<T> implements Sink<T> {
  readonly guarantee: DeliveryGuarantee
  private readonly options: LogSinkOptions<T>

  constructor(options: LogSinkOptions<T>) {
    this.options = options
    this.guarantee = options.guarantee ?? 'at-least-once'
    serveLogsToThreads()
  }

  createWriter(): SinkWriter<T> {
    const { options } = this
    return new TwoPhaseSinkWriter(options, (context) => openLogTopic(options, context))
  }
}

async function openLogTopic<T>(
  options: LogSinkOptions<T>,
  { clock }: SinkWriterContext,
): Promise<TransactionalTopic> {
  const log = await EmbeddedLog.open(options.directory, options.log)
  let producer: EmbeddedLogProducer | undefined
  return {
    transactions: transactionsOf(log.writer),
    async openProducer(identity) {
      producer = log.producer(options.topic, { ...options, clock })
      if (identity !== undefined) producer.continueWith(identity)
      return producer
    },
    async close() {
      producer?.close()
      await log.close()
    },
  }
}

function transactionsOf(writer: LogWriter): TransactionStore {
  return {
    prefix: '',
    async list(prefix) {
      const found = await writer.listTransactions(prefix)
      return found.map(({ transactionalId, state }) => ({
        transactionalId,
        isOpen: state === 'ongoing',
      }))
    },
    takeOver: (transactionalId) => writer.initProducer(transactionalId),
    // The log stores how each epoch ended, so a commit can be repeated.
    commit: ({ identity }) => writer.endTransaction(identity, true),
  }
}
