import { scanTopic } from '../../connectors/topics/scan.ts'
import type { TopicStore } from '../../connectors/topics/store.ts'
import type { Clock } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import { countOf, ratingsOf } from './find.ts'
import { leftIn } from './left.ts'
import type { Person } from './person.ts'
import type { ForgottenPart, RatingsPlace } from './places.ts'
import { type PlacedKey, sendTombstones } from './tombstones.ts'

/**
 * What becomes of ratings in a Kafka topic that is not compacted: `keep` leaves them until the retention, `delete-before`
 * deletes all records up to the last one of the person, those of others too.
 */
export type OnKafka = 'keep' | 'delete-before'

/** Of whom ratings are forgotten, and how. */
export interface ForgetOnKafka {
  readonly person: Person
  readonly onKafka?: OnKafka | undefined
  readonly clock: Clock
}

/**
 * Forgets the ratings of topics whose records cannot be taken out one by one. A compacted topic gets tombstones for the
 * keys that are of this person alone. Refuses before it changes anything. Throws INVALID_ARGUMENT.
 */
export async function forgetOnKafka(
  topics: TopicStore,
  places: readonly RatingsPlace[],
  { person, onKafka, clock }: ForgetOnKafka,
): Promise<readonly ForgottenPart[]> {
  const plans: { readonly part: ForgottenPart; readonly run: () => Promise<void> }[] = []
  for (const { place, topic } of places) {
    const { ratings: found } = await ratingsOf(topics, topic, person)
    const count = countOf(found)
    if (count === 0) {
      plans.push({ part: { place, topic, count, did: 'erased' }, run: async () => {} })
    } else if (await isCompacted(topics, topic)) {
      const keys = await keysOf(topics, topic, person)
      const part = { place, topic, count: keys.length, did: 'tombstones' } as const
      plans.push({ part, run: () => sendTombstones(topics, { topic, keys, atMs: clock.nowMs() }) })
    } else if (onKafka === undefined) throw undecided(topic, count)
    else if (onKafka === 'keep') {
      const left = await leftIn(topics, topic, (record) => person.hasRated(record))
      plans.push({ part: { place, topic, count, did: 'kept', left }, run: async () => {} })
    } else {
      const before: number[] = []
      for (const [partition, offsets] of found) before[partition] = Math.max(...offsets) + 1
      const run = () =>
        topics.deleteRecords(
          topic,
          Array.from(before, (offset) => offset ?? 0),
        )
      plans.push({ part: { place, topic, count, did: 'deleted-before' }, run })
    }
  }
  for (const { run } of plans) await run()
  return plans.map(({ part }) => part)
}

async function isCompacted(topics: TopicStore, topic: string): Promise<boolean> {
  const { cleanupPolicy } = await topics.describe(topic)
  return cleanupPolicy !== undefined && cleanupPolicy !== 'delete'
}

function undecided(topic: string, count: number): WeirError {
  return new WeirError(
    'INVALID_ARGUMENT',
    `topic "${topic}" has ${count} ratings by this user, and a Kafka deletes no single records of a topic that is not compacted; say what to do: --on-kafka keep leaves them until the retention of the topic, --on-kafka delete-before deletes all records up to the last of them, also those of others`,
  )
}

/** The keys of a person's records. Throws INVALID_ARGUMENT where a key is of others, too, or is missing. */
async function keysOf(
  topics: TopicStore,
  topic: string,
  person: Person,
): Promise<readonly PlacedKey[]> {
  const own = new Map<string, PlacedKey>()
  const others = new Set<string>()
  let isKeyless = false
  await scanTopic(topics, topic, (record, partition) => {
    const key = record.key()?.slice()
    const name = key === undefined ? '' : Buffer.from(key).toString('latin1')
    // What forgets a user is no record of others.
    if (record.valueLength < 0) return true
    if (!person.hasRated(record)) others.add(name)
    else if (key === undefined) isKeyless = true
    else own.set(name, { key, partition })
    return true
  })
  const shared = [...own.keys()].filter((name) => others.has(name))
  if (!isKeyless && shared.length === 0) return [...own.values()]
  throw new WeirError(
    'INVALID_ARGUMENT',
    `topic "${topic}" is compacted, and ${isKeyless ? 'some of its ratings by this user have no key' : `${shared.length} keys of its ratings by this user are also those of other records`}: a tombstone cannot delete them alone; copy the topic without them`,
  )
}
