import type { TopicStore } from '../connectors/topics/topic-store.ts'
import { systemClock } from '../core/clock.ts'
import { feedRatings, ratingsOfTopic } from '../jobs/ratings-topic.ts'
import type { RatingsTable } from '../training/ratings-table.ts'
import type { Flags } from './command.ts'
import type { Tell } from './quickstart-text.ts'
import { fingerprintOf, placeInWords } from './quickstart-version.ts'

/**
 * What the quickstart learns from: on Kafka the observations topic, into which the ratings are fed
 * unless an earlier start did; on the embedded log the ratings themselves.
 */
export async function observedRatings(
  train: RatingsTable,
  {
    flags,
    topics,
    tell,
  }: { readonly flags: Flags; readonly topics: TopicStore; readonly tell: Tell },
): Promise<RatingsTable> {
  if (flags.optional('brokers') === undefined) return train
  const topic = flags.string('ratings-topic')
  const feed = fingerprintOf(train, {})
  const count = (n: number): string => n.toLocaleString('en-US')
  let observed = await ratingsOfTopic(topics, topic, feed)
  if (observed.fed === 0) {
    await feedRatings(train, { topics, topic, feed, clock: systemClock })
    observed = await ratingsOfTopic(topics, topic, feed)
    tell(
      'feed',
      `${count(observed.fed)} ratings into topic ${topic} of ${placeInWords(flags)}, in one transaction, and read back`,
    )
  } else tell('feed', `not needed: topic ${topic} holds these ratings`)
  const others = observed.table.size - observed.fed
  if (others > 0) tell('', `${count(others)} more ratings were found there and are learnt too`)
  if (observed.refused > 0) {
    tell('', `${count(observed.refused)} records there are no ratings and are left out`)
  }
  return observed.table
}
