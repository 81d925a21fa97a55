import type { Cancel } from '../../core/clock.ts'
import type { SinkWriterContext } from '../../operators/sink.ts'
import type { TransactionStore } from '../transactions/transaction-pool.ts'
import {
  type TransactionalTopic,
  TwoPhaseSinkWriter,
} from '../transactions/two-phase-sink-writer.ts'
import { EmbeddedLog } from './embedded-log.ts'
import type { LogBackend } from './log-backend.ts'
import type { EmbeddedLogProducer } from './log-producer.ts'
import type { LogSinkOptions } from './log-sink.ts'

/** Writes the results of one subtask; see `LogSink`. */
export class LogSinkWriter<T> extends TwoPhaseSinkWriter<T> {
  private readonly lingerMs: number | undefined
  private context: SinkWriterContext | undefined
  private logProducer: EmbeddedLogProducer | undefined
  private cancelLinger: Cancel | undefined

  constructor(options: LogSinkOptions<T>) {
    super(options, async (context) => {
      this.context = context
      return await this.openLog(options)
    })
    this.lingerMs = options.lingerMs
  }

  private async openLog(options: LogSinkOptions<T>): Promise<TransactionalTopic> {
    const log = await EmbeddedLog.open(options.directory, options.log)
    return {
      transactions: transactionsOf(log.backend),
      openProducer: async (identity) => {
        const producer = log.producer(options.topic, options)
        if (identity !== undefined) producer.continueWith(identity)
        this.logProducer = producer
        return producer
      },
      close: () => log.close(),
    }
  }

  override write(value: T, timestamp: number): void {
    super.write(value, timestamp)
    if (this.lingerMs === undefined || this.cancelLinger !== undefined) return
    this.cancelLinger = this.context!.clock.after(this.lingerMs, () => {
      this.cancelLinger = undefined
      this.logProducer?.lingered()
    })
  }

  override async close(): Promise<void> {
    this.cancelLinger?.()
    await super.close()
  }
}

function transactionsOf(backend: LogBackend): TransactionStore {
  return {
    prefix: '',
    async list(prefix) {
      const found = await backend.listTransactions(prefix)
      return found.map(({ transactionalId, state }) => ({
        transactionalId,
        isOpen: state === 'ongoing',
      }))
    },
    takeOver: (transactionalId) => backend.initProducer(transactionalId),
    // The log remembers how each epoch ended: repeating an end needs no care.
    commit: ({ identity }) => backend.endTransaction(identity, true),
  }
}
