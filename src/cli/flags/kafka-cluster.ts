import type { KafkaCluster } from '../../connectors/kafka/client/cluster.ts'
import type { Flags, OptionSpec } from '../command/command.ts'
import { UsageError } from '../command/command.ts'
import { addresses } from '../flag-kinds/places.ts'
import { KAFKA_OPTIONS, kafkaOptionsOf, kafkaTopicsOf } from './kafka.ts'

/** Flags of commands that work on Kafka only. */
export const BROKER_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  ...KAFKA_OPTIONS,
  brokers: { type: 'string', isRequired: true, value: addresses, help: 'Kafka brokers' },
}

/** A client of the Kafka cluster of `--brokers`. Throws UsageError if the flag is missing. */
export async function kafkaClusterOf(
  flags: Flags,
): Promise<AsyncDisposable & { readonly cluster: KafkaCluster }> {
  const options = kafkaOptionsOf(flags)
  if (options === undefined) throw new UsageError('--brokers HOST:PORT is required')
  return await kafkaTopicsOf(options, flags)
}
