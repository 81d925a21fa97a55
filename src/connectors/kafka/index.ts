/** `@weirjs/weir/kafka`: topics of Kafka as source and sink. Separate, because a Kafka client loads slowly. */

import '../../core/lifetime/require-node.ts'

export type { Isolation, UndecodablePolicy, UnwritablePolicy } from '../records/topic-options.ts'
export type { KafkaClientOptions, SaslOptions } from './client/options.ts'
export type { OutOfRangePolicy } from './fetcher.ts'
export type { KafkaPartitioner, KafkaProducerOptions } from './producer.ts'
export { KafkaSink, type KafkaSinkOptions } from './sink.ts'
export { KafkaSource } from './source.ts'
export type { KafkaSourceOptions, KafkaStart, RawKafkaSourceOptions } from './source-options.ts'
