import type { RecordView } from '../../connectors/records/topic-record.ts'
import type { TopicStore } from '../../connectors/topics/store.ts'
import { originOfDelta } from '../../models/als/online/model-delta.ts'
import { type Offsets, visitTopic } from './find.ts'
import type { OnKafka } from './kafka.ts'
import { leftIn } from './left.ts'
import type { ForgottenPart } from './places.ts'

/** Whether a delta is of some ratings: `own`, or one that a topic no longer has (`gone`). */
export type DeltaOf = (record: RecordView) => 'own' | 'gone' | undefined

/** The topics of deltas and of their ratings, and the ratings of a person as far as they are known. */
export interface DeltasOnKafka {
  readonly deltas: string
  readonly observations: string
  /** Ratings of the person in the observations. */
  readonly ratings: Offsets
}

/**
 * Says of which ratings a delta is, from the partition and the offset of the rating that it holds. A Kafka does not say whose
 * the ratings were that its topic no longer has: they are known by their offsets, below the start of the partition. Throws
 * UNKNOWN_TOPIC.
 */
export async function deltaOf(
  topics: TopicStore,
  { observations, ratings }: Omit<DeltasOnKafka, 'deltas'>,
): Promise<DeltaOf> {
  const bounds = await topics.bounds(observations)
  const own = new Map([...ratings].map(([partition, offsets]) => [partition, new Set(offsets)]))
  const starts = new Map(bounds.map(({ partition, start }) => [partition, start]))
  return ({ bytes, valueStart, valueLength }) => {
    const origin = originOfDelta(bytes, valueStart, valueLength)
    if (origin === undefined) return undefined
    if (own.get(origin.partition)?.has(origin.offset) === true) return 'own'
    return origin.offset < (starts.get(origin.partition) ?? 0) ? 'gone' : undefined
  }
}

/**
 * Forgets the deltas of a person in a Kafka, once the ratings are dealt with. `delete-before` deletes all deltas up to the last
 * one whose rating is gone, so that a call after one that was killed finds the same; else they stay, and where is said.
 * Throws errors of the topics.
 */
export async function forgetDeltasOnKafka(
  topics: TopicStore,
  place: DeltasOnKafka,
  onKafka: OnKafka | undefined,
): Promise<ForgottenPart> {
  const { deltas: topic } = place
  const kindOf = await deltaOf(topics, place)
  if (onKafka !== 'delete-before') {
    const left = await leftIn(topics, topic, (record) => kindOf(record) === 'own')
    const count = left.reduce((sum, range) => sum + range.count, 0)
    return { place: 'deltas', topic, count, did: count === 0 ? 'erased' : 'kept', left }
  }
  const before: number[] = []
  let count = 0
  await visitTopic(topics, topic, (record, partition) => {
    if (kindOf(record) === undefined) return
    count++
    before[partition] = record.offset + 1
  })
  if (count > 0) {
    const offsets = Array.from(before, (offset) => offset ?? 0)
    await topics.deleteRecords(topic, offsets)
  }
  return { place: 'deltas', topic, count, did: count === 0 ? 'erased' : 'deleted-before' }
}
