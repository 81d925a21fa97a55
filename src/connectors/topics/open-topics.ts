import { requireArgument } from '../../core/errors.ts'
import type { KafkaClientOptions } from '../kafka/kafka-options.ts'
import type { TopicStore } from './topic-store.ts'

/** Where topics are: plain data, so that jobs can be told. Exactly one is given. */
export interface TopicsPlace {
  /** Folder of an embedded log. */
  readonly logDirectory?: string
  /** How a Kafka is reached. */
  readonly kafka?: KafkaClientOptions
}

/**
 * Opens the topics of a place; nothing is asked of it yet. The code of the log and of
 * the Kafka client is loaded where it is used. Throws INVALID_ARGUMENT.
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
