import { requireArgument } from '../../core/errors.ts'
import type { TopicsPlace } from './place.ts'
import type { TopicStore } from './store.ts'

/**
 * Opens the topics of a place, without a request. The code of the log or of the Kafka client is loaded
 * only when it is used. Throws INVALID_ARGUMENT.
 */
export async function openTopics(place: TopicsPlace): Promise<TopicStore> {
  const { checkPlace } = await import('./place.ts')
  checkPlace('openTopics', place)
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
