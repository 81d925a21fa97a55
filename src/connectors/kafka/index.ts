/** `weir/kafka`: topics of Kafka as source and sink; apart, because loading a Kafka client takes time. */
export type { OutOfRangePolicy } from './kafka-fetcher.ts'
export type { KafkaIsolation } from './kafka-offsets.ts'
export type { KafkaClientOptions, SaslOptions } from './kafka-options.ts'
export type { KafkaPartitioner, KafkaProducerOptions } from './kafka-producer.ts'
export { KafkaSink, type KafkaSinkOptions } from './kafka-sink.ts'
export {
  KafkaSource,
  type KafkaSourceOptions,
  type KafkaStart,
  type KafkaUndecodablePolicy,
  type RawKafkaSourceOptions,
} from './kafka-source.ts'
