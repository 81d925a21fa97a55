import { requireArgument } from '../../core/errors.ts'
import type { KafkaClientOptions } from '../kafka/client/options.ts'
import type { TopicStore } from './store.ts'

/** Location of topics, as plain data that can be sent to jobs. Exactly one field is given. */
export interface TopicsPlace {
  /** Folder of an embedded log. */
  readonly logDirectory?: string
  /** Connection to a Kafka. */
  readonly kafka?: KafkaClientOptions
}

/**
 * Opens the topics of a place, without a request. The code of the log or of the Kafka client is loaded
 * only when it is used. Throws INVALID_ARGUMENT.
 */
export async function openTopics({ logDirectory, kafka }: TopicsPlace): Promise<TopicStore> {
  requireArgument(
    (logDirectory === undefined) !== (kafka === undefined),
    'give either logDirectory, for an embedded log, or kafka',
  )
  if (kafka === undefined) {
    const { LogTopics } = await import('./log-topics.ts')
    return new LogTopics(logDirectory!)
  }
  const { KafkaTopics } = await import('./kafka-topics.ts')
  return new KafkaTopics(kafka)
}
