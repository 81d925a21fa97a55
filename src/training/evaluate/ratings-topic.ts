import { scanTopic } from '../../connectors/topics/scan.ts'
import type { TopicStore } from '../../connectors/topics/store.ts'
import { ByteReader } from '../../core/byte-reader.ts'
import { ByteWriter } from '../../core/byte-writer.ts'
import type { Clock } from '../../core/clock.ts'
import { isWeirError } from '../../core/errors.ts'
import { NO_TIMESTAMP } from '../../core/time.ts'
import { ratingLineFormat } from '../../models/ratings/line-format.ts'
import { KEEP_FOREVER } from '../../models/topic/topics.ts'
import {
  type RatingsTable,
  RatingsTableBuilder,
  ratingAt,
  ratingsOf,
} from '../data/ratings-table.ts'

/**
 * Header of the ratings that one call of `feedRatings` writes; its value is the name of the feed.
 * Ratings of other writers do not have it.
 */
const FEED_HEADER = 'feed'
const PARTITIONS = 4

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** Options of `feedRatings`. */
export interface FeedOptions {
  readonly topics: TopicStore
  readonly topic: string
  /** Name of the feed, for `ratingsOfTopic`. */
  readonly feed: string
  readonly clock: Clock
  /**
   * Time of the records: that of the ratings, or that of their arrival, for ratings of long ago that stand
   * for a stream of now. @default 'rating'
   */
  readonly recordTime?: 'rating' | 'arrival'
}

/**
 * Appends ratings to a topic of observations (key: user id, value: `user,item,rating[,seconds]`) in
 * one transaction, so that readers see all or none of them. Creates the topic, kept forever, if it is
 * missing.
 */
export async function feedRatings(table: RatingsTable, options: FeedOptions): Promise<void> {
  const { topics, topic, feed, clock, recordTime = 'rating' } = options
  if (!(await topics.has(topic))) {
    // Ratings may be years old, so retention by age would delete them at once.
    await topics.create(topic, { partitions: PARTITIONS, ...KEEP_FOREVER })
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
      const isKnown = recordTime === 'rating' && rating.timestamp !== NO_TIMESTAMP
      const timestamp = isKnown ? rating.timestamp : clock.nowMs()
      producer.sendRecord(encoder.encode(rating.user), value, timestamp, -1, headers)
      if (!producer.ready()) await producer.whenReady()
    }
    await producer.sync()
  } finally {
    await producer.close()
  }
}

/** Ratings of a topic of observations. */
export interface ObservedRatings {
  /** Ratings of the feed and ratings without a feed, always in the same order. */
  readonly table: RatingsTable
  /** Number of ratings of the feed. */
  readonly fed: number
  /** Number of records that are not ratings; they are left out. */
  readonly refused: number
}

/**
 * Reads the ratings of a feed, and those without a feed, up to the current end of the topic. A missing
 * topic has none.
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

/** The parts in order of partition, because the order of reading varies. */
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
