import { scanTopic } from '../connectors/topics/scan-topic.ts'
import type { TopicStore } from '../connectors/topics/topic-store.ts'
import { ByteReader } from '../core/byte-reader.ts'
import { ByteWriter } from '../core/byte-writer.ts'
import type { Clock } from '../core/clock.ts'
import { isWeirError } from '../core/errors.ts'
import { NO_TIMESTAMP } from '../core/time.ts'
import { ratingLineFormat } from '../models/rating-line-format.ts'
import {
  type RatingsTable,
  RatingsTableBuilder,
  ratingAt,
  ratingsOf,
} from '../training/ratings-table.ts'

/**
 * A topic of observations: key the user's id, value `user,item,rating[,seconds]`. It is partitioned by
 * its key and kept for ever. What was fed in one go carries the header `feed` with its name; ratings
 * without it came from somewhere else.
 */
const FEED_HEADER = 'feed'
const PARTITIONS = 4

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** Where and under which name ratings are fed. */
export interface FeedOptions {
  readonly topics: TopicStore
  readonly topic: string
  /** Name of these ratings, for `ratingsOfTopic`. */
  readonly feed: string
  readonly clock: Clock
}

/**
 * Appends ratings to an observations topic in one transaction, so that readers see all or none of
 * them; creates the topic where it is missing.
 */
export async function feedRatings(table: RatingsTable, options: FeedOptions): Promise<void> {
  const { topics, topic, feed, clock } = options
  if (!(await topics.has(topic))) {
    // Ratings are years old at times: by age they would go at once.
    const kept = { cleanupPolicy: 'delete', retentionMs: -1, retentionBytes: -1 } as const
    await topics.create(topic, { partitions: PARTITIONS, ...kept })
  }
  const producer = await topics.producer(topic, `weir/feed/${topic}`)
  try {
    const headers = [{ key: FEED_HEADER, value: encoder.encode(feed) }]
    const format = ratingLineFormat()
    const writer = new ByteWriter(64)
    for (let i = 0; i < table.size; i++) {
      const rating = ratingAt(table, i)
      writer.reset()
      format.write(rating, writer)
      const value = writer.bytes.subarray(0, writer.length)
      const timestamp = rating.timestamp === NO_TIMESTAMP ? clock.nowMs() : rating.timestamp
      producer.sendRecord(encoder.encode(rating.user), value, timestamp, -1, headers)
      if (!producer.ready()) await producer.whenReady()
    }
    await producer.sync()
  } finally {
    await producer.close()
  }
}

/** What an observations topic holds for a learner. */
export interface ObservedRatings {
  /** Ratings of the feed and those of no feed, always in the same order. */
  readonly table: RatingsTable
  /** How many of them are of the feed. */
  readonly fed: number
  /** Records that are no ratings, and are left out. */
  readonly refused: number
}

/**
 * Reads the ratings of a feed, and those without one, up to the present end of the topic; a topic that
 * is missing holds none.
 */
export async function ratingsOfTopic(
  topics: TopicStore,
  topic: string,
  feed: string,
): Promise<ObservedRatings> {
  const parts: RatingsTableBuilder[] = []
  const format = ratingLineFormat()
  let fed = 0
  let refused = 0
  if (await topics.has(topic)) {
    await scanTopic(topics, topic, (record, partition) => {
      const value = record.value()
      const header = record.headers().find(({ key }) => key === FEED_HEADER)?.value
      const name = header === undefined || header === null ? undefined : decoder.decode(header)
      if (value === null || (name !== undefined && name !== feed)) return true
      if (name === feed) fed += 1
      try {
        const { user, item, rating, timestamp } = format.read(new ByteReader(value))
        parts[partition] ??= new RatingsTableBuilder()
        parts[partition].add(user, item, rating, timestamp)
      } catch (error) {
        if (!isWeirError(error, 'UNPARSABLE_RECORD')) throw error
        refused += 1
      }
      return true
    })
  }
  return { table: joined(parts), fed, refused }
}

/** One partition after the other: how they were read in turn is chance. */
function joined(parts: readonly (RatingsTableBuilder | undefined)[]): RatingsTable {
  const builder = new RatingsTableBuilder()
  for (const part of parts) {
    if (part === undefined) continue
    for (const { user, item, rating, timestamp } of ratingsOf(part.build())) {
      builder.add(user, item, rating, timestamp)
    }
  }
  return builder.build()
}
