import { requireArgument } from '../../core/errors.ts'
import { name } from '../../core/options/kinds.ts'
import { checkOptions, nested, type OptionShape } from '../../core/options/shape.ts'
import { KAFKA_CLIENT, type KafkaClientOptions } from '../kafka/client/options.ts'
import type { TopicStore } from './store.ts'

/** Location of topics, as plain data that can be sent to jobs. Exactly one field is given. */
export interface TopicsPlace {
  /** Folder of an embedded log. */
  readonly logDirectory?: string
  /** Connection to a Kafka. */
  readonly kafka?: KafkaClientOptions
}

/** The fields of a location of topics. */
export const TOPICS_PLACE: OptionShape<TopicsPlace> = {
  logDirectory: name,
  kafka: nested(KAFKA_CLIENT),
}

/**
 * Opens the topics of a place, without a request. The code of the log or of the Kafka client is loaded
 * only when it is used. Throws INVALID_ARGUMENT.
 */
export async function openTopics(place: TopicsPlace): Promise<TopicStore> {
  checkOptions('openTopics', TOPICS_PLACE, place)
  const { logDirectory, kafka } = place
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
