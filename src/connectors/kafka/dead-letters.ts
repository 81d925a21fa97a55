import { isWeirError, messageOf } from '../../core/errors.ts'
import type { RecordView } from '../log/log-record.ts'
import type { KafkaCluster } from './kafka-cluster.ts'
import { KafkaProducer } from './kafka-producer.ts'

const encoder = new TextEncoder()

/** Copies records that could not be decoded to another topic, with the reason and where they lay. */
export class DeadLetters {
  private readonly producer: KafkaProducer
  private readonly topic: string

  private constructor(producer: KafkaProducer, topic: string) {
    this.producer = producer
    this.topic = topic
  }

  /** Readies the producer. `from` is the topic that is read. Throws UNKNOWN_TOPIC. */
  static async open(cluster: KafkaCluster, from: string, to: string): Promise<DeadLetters> {
    return new DeadLetters(await KafkaProducer.open(cluster, to), from)
  }

  /** Resolves when the copy is acknowledged. */
  async send(record: RecordView, partition: number, reason: unknown): Promise<void> {
    const origin = `${this.topic}/${partition}/${record.offset}`
    const headers = [
      ...record.headers(),
      { key: 'weir-origin', value: encoder.encode(origin) },
      { key: 'weir-reason', value: encoder.encode(messageOf(reason)) },
      { key: 'weir-code', value: encoder.encode(codeOf(reason)) },
    ]
    this.producer.sendRecord(record.key(), record.value(), record.timestamp, -1, headers)
    await this.producer.flush()
  }

  /** Drops what is not acknowledged; it is read and copied again after a restart. */
  close(): void {
    this.producer.close()
  }
}

/** Whatever a deserializer throws means that the record cannot be decoded. */
function codeOf(reason: unknown): string {
  return isWeirError(reason) ? reason.code : 'UNPARSABLE_RECORD'
}
