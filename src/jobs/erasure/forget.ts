import type { TopicStore } from '../../connectors/topics/store.ts'
import type { Clock } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import { rowPartition } from '../../models/topic/row-partition.ts'
import { deltasTopic } from '../../models/topic/topics.ts'
import { countOf, deltasOfErased, OffsetLists, ratingsOf, rowsOf } from './find.ts'
import { forgetHistories } from './histories.ts'
import { forgetOnKafka, type OnKafka } from './kafka.ts'
import { forgetDeltasOnKafka } from './kafka-deltas.ts'
import { Person } from './person.ts'
import type { ForgottenPart, RatingsPlace } from './places.ts'
import { type PlacedKey, sendTombstones } from './tombstones.ts'

const encoder = new TextEncoder()

/** The topics in which a person is looked for. */
export interface PersonsTopics {
  /** Topic of the model's rows. */
  readonly model: string
  /** Topic of ratings that the job learns. */
  readonly observations: string
  /** Further topics of ratings. */
  readonly also: readonly string[]
  /** Topics of refused ratings. */
  readonly quarantine: readonly string[]
}

/** Options of `forget`. */
export interface ForgetOptions extends PersonsTopics {
  readonly topics: TopicStore
  readonly user: string
  /** Versions that a job may hold a learned row of, also one that was never published. */
  readonly versions: readonly number[]
  /** What becomes of ratings on a Kafka, where single records cannot be deleted; without it, that is refused. */
  readonly onKafka?: OnKafka | undefined
  readonly clock: Clock
}

/**
 * Erases a person from the topics of a model: ratings, deltas, histories, rows. Each step looks for what is left, so a call
 * after one that was killed goes on, and one more finds nothing. All records of others stay at their offsets. Throws UNKNOWN_TOPIC
 * where a named topic is missing, INVALID_ARGUMENT where a Kafka needs `onKafka`, ILLEGAL_STATE behind an open
 * transaction.
 */
export async function forget(options: ForgetOptions): Promise<readonly ForgottenPart[]> {
  const { topics, user } = options
  const person = new Person(user)
  const places = placesOf(options)
  for (const { topic } of [...places, { topic: options.model }]) await topics.describe(topic)
  // The ratings first: what a job has not read yet it must not learn after its row is gone.
  const parts =
    topics.stored === undefined
      ? await ratingsOnKafka(person, places, options)
      : [...(await eraseRatings(topics, places, person)), ...(await eraseDeltas(options))]
  // Behind all ratings, and after they are gone: a history that is dropped does not come back with one of them.
  parts.push(...(await forgetHistories(topics, places, { person, clock: options.clock })))
  parts.push(...(await eraseRows(person, options)))
  return parts
}

/** The topics of ratings, each once. */
export function placesOf({ observations, also, quarantine }: PersonsTopics): RatingsPlace[] {
  const all: RatingsPlace[] = [
    { place: 'observations', topic: observations },
    ...also.map((topic) => ({ place: 'other-ratings' as const, topic })),
    ...quarantine.map((topic) => ({ place: 'quarantine' as const, topic })),
  ]
  return all.filter(({ topic }, i) => all.findIndex((other) => other.topic === topic) === i)
}

/** Ratings and deltas in a Kafka. Whose the deltas are must be known before the ratings are gone. */
async function ratingsOnKafka(
  person: Person,
  places: readonly RatingsPlace[],
  { topics, model, observations, onKafka, clock }: ForgetOptions,
): Promise<ForgottenPart[]> {
  const { ratings } = await ratingsOf(topics, observations, person)
  const parts = [...(await forgetOnKafka(topics, places, { person, onKafka, clock }))]
  const deltas = deltasTopic(model)
  if (!(await topics.has(deltas))) return parts
  return [...parts, await forgetDeltasOnKafka(topics, { deltas, observations, ratings }, onKafka)]
}

async function eraseRatings(
  topics: TopicStore,
  places: readonly RatingsPlace[],
  person: Person,
): Promise<readonly ForgottenPart[]> {
  const parts: ForgottenPart[] = []
  for (const { place, topic } of places) {
    const { ratings: found } = await ratingsOf(topics, topic, person)
    const count = countOf(found) === 0 ? 0 : await topics.stored!.erase(topic, found)
    parts.push({ place, topic, count, did: 'erased' })
  }
  return parts
}

async function eraseDeltas({
  topics,
  model,
  observations,
}: ForgetOptions): Promise<readonly ForgottenPart[]> {
  const topic = deltasTopic(model)
  if (!(await topics.has(topic))) return []
  const found = await deltasOfErased(topics, { deltas: topic, observations })
  const count = countOf(found) === 0 ? 0 : await topics.stored!.erase(topic, found)
  return [{ place: 'deltas', topic, count, did: 'erased' }]
}

/**
 * Writes a tombstone of each version's row, so that jobs and their next checkpoints drop it, then takes the rows out of an
 * embedded log, and older tombstones, which the new one repeats.
 */
async function eraseRows(
  person: Person,
  { topics, model: topic, versions, clock }: ForgetOptions,
): Promise<readonly ForgottenPart[]> {
  const found = await rowsOf(topics, topic, person)
  const { partitions } = await topics.describe(topic)
  const own = rowPartition(person.rowKey, partitions)
  const wanted = new Map<string, PlacedKey>()
  const add = (key: string, partition: number) =>
    wanted.set(`${partition}/${key}`, { key: encoder.encode(key), partition })
  for (const { key, partition } of found) add(key, partition)
  for (const version of versions) add(`${person.rowKey}@${version}`, own)
  await sendTombstones(topics, { topic, keys: wanted.values(), atMs: clock.nowMs() })
  const tombstones: ForgottenPart = { place: 'rows', topic, count: wanted.size, did: 'tombstones' }
  if (topics.stored === undefined || found.length === 0) return [tombstones]
  const old = new OffsetLists()
  for (const { partition, offset } of found) old.add(partition, offset)
  const count = await topics.stored.erase(topic, old.lists)
  return [tombstones, { place: 'rows', topic, count, did: 'erased' }]
}

/** Throws where a topic other than `observations` is known as the one that the model is learned from. */
export function requireLearnedTopic(observations: string, learnsFrom: string | undefined): void {
  if (learnsFrom === undefined || learnsFrom === observations) return
  throw new WeirError(
    'INVALID_ARGUMENT',
    `the model is learned from topic "${learnsFrom}", not from "${observations}": give --observations ${learnsFrom}, and further topics of ratings with --also`,
  )
}
