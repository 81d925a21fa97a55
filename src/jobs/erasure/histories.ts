import type { TopicStore } from '../../connectors/topics/store.ts'
import type { Clock } from '../../core/clock.ts'
import { countOf, ratingsOf } from './find.ts'
import type { Person } from './person.ts'
import type { ForgottenPart, RatingsPlace } from './places.ts'
import { sendTombstones } from './tombstones.ts'

/**
 * Has the jobs of histories drop a person: a record with the id as key and no value goes into each partition of the topics
 * that they may read, behind all ratings that are there. A job that was down reads it later; one that starts at the
 * beginning drops what a Kafka still has. Older ones go from an embedded log, once the new ones are durable. Throws errors of
 * the topics.
 */
export async function forgetHistories(
  topics: TopicStore,
  places: readonly RatingsPlace[],
  { person, clock }: { readonly person: Person; readonly clock: Clock },
): Promise<readonly ForgottenPart[]> {
  const key = new TextEncoder().encode(person.user)
  const parts: ForgottenPart[] = []
  for (const { place, topic } of places) {
    // No job keeps a history of what was refused.
    if (place === 'quarantine') continue
    const { tombstones: older } = await ratingsOf(topics, topic, person)
    const { partitions: count } = await topics.describe(topic)
    const keys = Array.from({ length: count }, (_, partition) => ({ key, partition }))
    await sendTombstones(topics, { topic, keys, atMs: clock.nowMs() })
    if (countOf(older) > 0) await topics.stored?.erase(topic, older)
    parts.push({ place: 'histories', topic, count, did: 'announced' })
  }
  return parts
}
