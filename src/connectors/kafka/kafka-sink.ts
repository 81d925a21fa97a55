import { requireArgument } from '../../core/errors.ts'
import type { DeliveryGuarantee, Sink, SinkWriter } from '../../operators/sink.ts'
import type { RecordSerializer } from '../log/log-sink.ts'
import { parseBrokers } from './kafka-connection.ts'
import type { KafkaClientOptions } from './kafka-options.ts'
import type { KafkaProducerOptions } from './kafka-producer.ts'
import { KafkaSinkWriter } from './kafka-sink-writer.ts'

/** Where and how a `KafkaSink` writes. */
export interface KafkaSinkOptions<T>
  extends KafkaClientOptions,
    Omit<KafkaProducerOptions, 'idempotent'> {
  readonly topic: string
  readonly serialize: RecordSerializer<T>
  /** Default `at-least-once`. */
  readonly guarantee?: DeliveryGuarantee
  /** First part of the transactional ids, for access rules; default `weir`. */
  readonly transactionalIdPrefix?: string
  /**
   * The broker aborts a transaction that is open for longer, in ms; default 900,000, which is what a
   * broker allows unless told otherwise. It must cover the checkpoint interval plus the longest
   * outage.
   */
  readonly transactionTimeoutMs?: number
}

/**
 * Writes to a topic of Kafka. Exactly-once: records of one checkpoint interval and subtask are one
 * transaction, which read_committed readers see once the checkpoint is complete.
 */
export class KafkaSink<T> implements Sink<T> {
  readonly guarantee: DeliveryGuarantee
  private readonly options: KafkaSinkOptions<T>

  constructor(options: KafkaSinkOptions<T>) {
    parseBrokers(options.brokers)
    const { transactionTimeoutMs } = options
    requireArgument(
      transactionTimeoutMs === undefined || transactionTimeoutMs > 0,
      'transactionTimeoutMs must be above 0',
    )
    this.options = options
    this.guarantee = options.guarantee ?? 'at-least-once'
  }

  createWriter(): SinkWriter<T> {
    return new KafkaSinkWriter(this.options)
  }
}
