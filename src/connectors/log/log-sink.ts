import type { DeliveryGuarantee, Sink, SinkWriter } from '../../operators/sink.ts'
import { installLogHost } from './log-host.ts'
import type { LogOptions } from './log-owner.ts'
import type { ProducerOptions } from './log-producer.ts'
import { LogSinkWriter } from './log-sink-writer.ts'
import type { RecordSerializer } from './outgoing-record.ts'

export type { OutgoingRecord, RecordSerializer } from './outgoing-record.ts'

/** Where and how a `LogSink` writes. */
export interface LogSinkOptions<T> extends ProducerOptions {
  readonly directory: string
  readonly topic: string
  readonly serialize: RecordSerializer<T>
  /** Default `at-least-once`. */
  readonly guarantee?: DeliveryGuarantee
  /** A record waits for others at most this long, in ms; default until its batch is full. */
  readonly lingerMs?: number
  /** How the log is opened where it is not open yet. */
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
    installLogHost()
  }

  createWriter(): SinkWriter<T> {
    return new LogSinkWriter(this.options)
  }
}
