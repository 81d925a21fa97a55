import { name, required } from '../../core/options/kinds.ts'
import { checkOptions, nested, type OptionShape } from '../../core/options/shape.ts'
import type {
  DeliveryGuarantee,
  Sink,
  SinkWriter,
  SinkWriterContext,
} from '../../operators/port/sink.ts'
import type { TransactionStore } from '../transactions/pool.ts'
import {
  type TransactionalTopic,
  TWO_PHASE_SINK,
  type TwoPhaseSinkOptions,
  TwoPhaseSinkWriter,
} from '../transactions/two-phase-sink-writer.ts'
import { EmbeddedLog } from './embedded-log.ts'
import { type EmbeddedLogProducer, LOG_PRODUCER, type ProducerOptions } from './producer.ts'
import { serveLogsToThreads } from './writer/connect.ts'
import { DEFAULT_TRANSACTION_TIMEOUT_MS, LOG, type LogOptions } from './writer/log-options.ts'
import type { LogWriter } from './writer/log-writer.ts'

/** Options of a `LogSink`. */
export interface LogSinkOptions<T> extends TwoPhaseSinkOptions<T>, Omit<ProducerOptions, 'clock'> {
  readonly directory: string
  readonly topic: string
  /** Options with which the log is opened, if it is not open yet. */
  readonly log?: LogOptions
}

const { clock: _, ...BATCHES } = LOG_PRODUCER
const LOG_SINK: OptionShape<LogSinkOptions<unknown>> = {
  ...TWO_PHASE_SINK,
  ...BATCHES,
  directory: required(name),
  topic: required(name),
  log: nested(LOG),
}

/**
 * Writes to a topic of an embedded log. Exactly-once: records of one checkpoint interval and subtask
 * are one transaction, which read_committed readers see once the checkpoint is complete.
 */
export class LogSink<T> implements Sink<T> {
  readonly guarantee: DeliveryGuarantee
  private readonly options: LogSinkOptions<T>

  constructor(options: LogSinkOptions<T>) {
    checkOptions('new LogSink', LOG_SINK, options)
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
  const { directory, topic, log: openedWith, serialize: _, guarantee: __, ...batches } = options
  const log = await EmbeddedLog.open(directory, openedWith)
  let producer: EmbeddedLogProducer | undefined
  return {
    transactions: transactionsOf(log.writer, openedWith?.transactionTimeoutMs),
    async openProducer(identity) {
      producer = log.producer(topic, { ...batches, clock })
      if (identity !== undefined) producer.continueWith(identity)
      return producer
    },
    async close() {
      producer?.close()
      await log.close()
    },
  }
}

function transactionsOf(
  writer: LogWriter,
  timeoutMs = DEFAULT_TRANSACTION_TIMEOUT_MS,
): TransactionStore {
  return {
    prefix: '',
    timeoutMs,
    async list(prefix) {
      const found = await writer.listTransactions(prefix)
      return found.map(({ transactionalId, state }) => ({
        transactionalId,
        isOpen: state === 'ongoing',
      }))
    },
    takeOver: (transactionalId) => writer.initProducer(transactionalId),
    async isOpen({ transactionalId, producerId, epoch }) {
      const found = await writer.listTransactions(transactionalId)
      const now = found.find((entry) => entry.transactionalId === transactionalId)
      return now?.state === 'ongoing' && now.producerId === producerId && now.epoch === epoch
    },
    // The log stores how each epoch ended, so a commit can be repeated.
    commit: ({ identity }) => writer.endTransaction(identity, true),
  }
}
