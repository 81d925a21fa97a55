import type { KafkaCluster } from '../connectors/kafka/kafka-cluster.ts'
import type { Flags, OptionSpec } from './command.ts'
import { UsageError } from './command.ts'
import { KAFKA_OPTIONS, kafkaOptionsOf } from './kafka-flags.ts'

/** The flags of commands that are about Kafka alone. */
export const BROKER_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  ...KAFKA_OPTIONS,
  brokers: { type: 'string', value: 'HOST:PORT,...', help: 'Brokers of the Kafka; required' },
}

/** A client of the Kafka that the flags name. Throws UsageError without `--brokers`. */
export async function kafkaClusterOf(
  flags: Flags,
): Promise<AsyncDisposable & { readonly cluster: KafkaCluster }> {
  const options = kafkaOptionsOf(flags)
  if (options === undefined) throw new UsageError('--brokers HOST:PORT is required')
  const { KafkaTopics } = await import('../connectors/topics/kafka-topics.ts')
  return new KafkaTopics(options)
}
