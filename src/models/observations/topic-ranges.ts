import { encodeOrigin } from '../../connectors/records/topic-origin.ts'
import type { RecordView } from '../../connectors/records/topic-record.ts'
import type { TopicStore } from '../../connectors/topics/store.ts'
import { ByteReader } from '../../core/byte-reader.ts'
import { systemClock } from '../../core/clock.ts'
import { isWeirError, messageOf } from '../../core/errors.ts'
import { MetricGroup } from '../../core/metrics.ts'
import { NO_TIMESTAMP } from '../../core/time.ts'
import { ratingLineFormat } from '../ratings/line-format.ts'
import type { Rating } from '../ratings/rating.ts'
import type { DataRange } from '../registry/ranges/data-range.ts'
import { areOfOneTopic, rangesHere } from '../registry/ranges/range-place.ts'

/** A rating with its position in the topic. */
export interface Observation extends Rating {
  readonly partition: number
  readonly offset: number
  /** Time of its record, ms since 1970. */
  readonly appendedMs: number
}

/** Called for a record that is not a rating. */
export type BadObservation = (partition: number, offset: number, reason: string) => void

const POLL_RECORDS = 4096

/** The current ranges of a topic, one a partition; empty partitions are left out. */
export async function rangesOfTopic(
  topics: TopicStore,
  topic: string,
): Promise<readonly DataRange[]> {
  const bounds = await topics.bounds(topic)
  const ranges = bounds
    .filter(({ start, end }) => end > start)
    .map(({ partition, start, end }) => ({ topic, partition, from: start, to: end }))
  return await identified(topics, ranges)
}

/** Ranges of topics that are here, with the ids of the topics. */
export async function identified(
  topics: TopicStore,
  ranges: readonly DataRange[],
): Promise<readonly DataRange[]> {
  const isUnnamed = ({ topicId }: DataRange): boolean => topicId === undefined
  const names = [...new Set(ranges.filter(isUnnamed).map(({ topic }) => topic))]
  const found = names.map(async (name) => [name, await topics.identity(name)] as const)
  const identities = new Map(await Promise.all(found))
  return ranges.map((range) => {
    const { id = '', cluster } = identities.get(range.topic) ?? {}
    if (!isUnnamed(range) || id === '') return range
    return { ...range, topicId: id, ...(cluster === undefined ? {} : { clusterId: cluster }) }
  })
}

/**
 * The current ranges after `ranges`, one for each partition that has grown. Those of another topic, also one of the same
 * name, cover nothing.
 */
export async function rangesAfter(
  topics: TopicStore,
  topic: string,
  ranges: readonly DataRange[],
): Promise<readonly DataRange[]> {
  const { id } = await topics.identity(topic)
  const covered = rangesHere(ranges, { topic, id })
  const ends = new Map(covered.map(({ partition, to }) => [partition, to]))
  const present = await rangesOfTopic(topics, topic)
  return present
    .map((range) => ({ ...range, from: Math.max(range.from, ends.get(range.partition) ?? 0) }))
    .filter(({ from, to }) => to > from)
}

/** The newest `count` offsets of some ranges; each partition gives its share. */
export function newestOf(ranges: readonly DataRange[], count: number): readonly DataRange[] {
  const total = offsetsIn(ranges)
  if (total <= count) return ranges
  return ranges
    .map((range) => {
      const kept = Math.ceil(((range.to - range.from) * count) / total)
      return { ...range, from: Math.max(range.from, range.to - kept) }
    })
    .filter(({ from, to }) => to > from)
}

/** Number of offsets in the ranges; the number of observations is at most as large. */
export function offsetsIn(ranges: readonly DataRange[]): number {
  return ranges.reduce((sum, { from, to }) => sum + to - from, 0)
}

/** Number of offsets that `known` has of `whole`, but not of `newest`, which are ends of it. */
export function offsetsOnlyIn(
  whole: readonly DataRange[],
  newest: readonly DataRange[],
  known: readonly DataRange[],
): number {
  return whole.reduce((sum, range) => {
    const isSame = ({ partition }: DataRange): boolean => partition === range.partition
    const end = newest.find(isSame)?.from ?? range.to
    const shared = known
      .filter((one) => isSame(one) && areOfOneTopic(one, range))
      .map(({ from, to }) => Math.min(to, end) - Math.max(from, range.from))
    return sum + shared.reduce((offsets, size) => offsets + Math.max(0, size), 0)
  }, 0)
}

/**
 * The observations of some ranges of one topic, in pieces, in order within a partition. Records that
 * are not ratings are reported to `onBad` and left out; those that forget a user, with a key and no value, are left out
 * without a word.
 */
export function readObservations(
  topics: TopicStore,
  ranges: readonly DataRange[],
  onBad: BadObservation = () => {},
): AsyncGenerator<readonly Observation[]> {
  const format = ratingLineFormat()
  return readRecords(topics, ranges, (record, partition) => {
    const { offset, timestamp } = record
    // It forgets the user of its key, whose ratings are gone.
    if (record.valueLength < 0 && record.keyLength >= 0) return undefined
    try {
      // A record without a value is no rating, as for the job that learns.
      const rating = format.read(new ByteReader(record.value() ?? new Uint8Array(0)))
      const time = rating.timestamp === NO_TIMESTAMP ? timestamp : rating.timestamp
      return { ...rating, timestamp: time, partition, offset, appendedMs: timestamp }
    } catch (error) {
      if (!isWeirError(error, 'UNPARSABLE_RECORD')) throw error
      onBad(partition, offset, messageOf(error))
      return undefined
    }
  })
}

/** Where a range begins. The reader refuses a range of another topic. */
function splitOf({ topic, topicId, clusterId, partition, from }: DataRange) {
  const split = { partition, nextOffset: from }
  if (topicId === undefined) return split
  const origin = encodeOrigin({ topic, id: topicId, partitions: 0, cluster: clusterId })
  return { ...split, origin }
}

/**
 * What `parse` makes of the records of some ranges of one topic, in pieces, in order within a partition. Throws
 * TOPIC_CHANGED if the topic is another one than that of the ranges.
 */
export async function* readRecords<T>(
  topics: TopicStore,
  ranges: readonly DataRange[],
  parse: (record: RecordView, partition: number) => T | undefined,
): AsyncGenerator<readonly T[]> {
  const [first] = ranges
  if (first === undefined) return
  const ends = new Map(ranges.map(({ partition, to }) => [partition, to]))
  const source = topics.source({
    topic: first.topic,
    bounded: true,
    deserialize: (record: RecordView, partition: number): T | undefined =>
      record.offset >= (ends.get(partition) ?? 0) ? undefined : parse(record, partition),
  })
  const reader = source.createReader()
  const open = new Set(ends.keys())
  const metrics = new MetricGroup('observations')
  try {
    await reader.open({ subtask: 0, parallelism: 1, clock: systemClock, metrics })
    await reader.addSplits(ranges.map(splitOf))
    for (;;) {
      const found: T[] = []
      const output = {
        collect: (observation: T) => found.push(observation),
        progress: (partition: number, next: number) => {
          if (next >= (ends.get(partition) ?? 0)) open.delete(partition)
        },
      }
      const result = reader.poll(output, POLL_RECORDS)
      if (found.length > 0) yield found
      if (result === 'ended' || open.size === 0) return
      if (result === 'idle') await reader.available()
    }
  } finally {
    await reader.close()
  }
}
