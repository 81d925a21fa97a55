import type { TopicStore } from '../../connectors/topics/store.ts'
import { systemClock } from '../../core/clock.ts'
import { generateRatings } from '../../models/ratings/generator.ts'
import type { Rating, RatingRange } from '../../models/ratings/rating.ts'
import {
  type RatingsTable,
  ratingStatistics,
  ratingsOf as ratingsIn,
  ratingsTable,
} from '../../training/data/ratings-table.ts'
import { splitByTime } from '../../training/data/split-ratings.ts'
import { feedRatings, ratingsOfTopic } from '../../training/evaluate/ratings-topic.ts'

/** Shape of the ratings that the quickstart generates if no file is given. */
export const GENERATED = { users: 2000, items: 800, ratings: 200_000, seed: 1 } as const

/** Ratings that the loop of the quickstart streams after the training. */
export interface LoopStream {
  /** Ratings before the drift, oldest first. */
  readonly calm: readonly Rating[]
  /** Description of the calm ratings. */
  readonly calmText: string
  /** Ratings after the drift. */
  readonly drifted: readonly Rating[]
  /** Description of the drift. */
  readonly driftText: string
  /** Ratings after the drift for the promotion checks; no model is trained on them. */
  readonly golden: RatingsTable
  /** Number of ratings that are fed at once. */
  readonly batch: number
}

/** Number of batches before the drift. */
const CALM_BATCHES = 8
/** Number of batches in all. */
const BATCHES = 30
/** User preferences before and after the drift, in right angles from those of the training. */
const CALM_ANGLE = 0.9
const DRIFTED_ANGLE = 1.9
const MOST_GOLDEN = 4000
const NEWEST = 0.1

/** Continues the generated ratings of the quickstart; user preferences change twice. */
export function generatedStream(count: number): LoopStream {
  const batch = Math.ceil(count / BATCHES)
  const calm = batch * CALM_BATCHES
  const golden = Math.min(MOST_GOLDEN, batch * 2)
  const { ratings } = GENERATED
  const turns = [
    { from: ratings, angle: CALM_ANGLE },
    { from: ratings + calm, angle: DRIFTED_ANGLE },
  ]
  const total = ratings + count + golden
  const fresh = [...generateRatings({ ...GENERATED, ratings: total, turns })].slice(ratings)
  return {
    calm: fresh.slice(0, calm),
    calmText: 'new ratings of users whose preferences have changed since the training',
    drifted: fresh.slice(calm, count),
    driftText: 'simulating drift: user preferences change now',
    golden: ratingsTable(fresh.slice(count)),
    batch,
  }
}

/** Ratings of a file in two parts: the older ones to train on, and the newest ones to stream. */
export interface SplitByAge {
  readonly train: RatingsTable
  readonly newest: RatingsTable
}

/** Keeps the newest tenth of the ratings for the stream. */
export function splitByAge(all: RatingsTable): SplitByAge {
  const { train, test } = splitByTime(all, NEWEST)
  return { train, newest: test }
}

/**
 * The stream of a file: its newest ratings, then a simulated drift, because files have none. After the
 * drift, users rate the same items with reversed ratings. The golden set is the held-out ratings,
 * reversed.
 */
export function fileStream(
  { train, newest }: SplitByAge,
  test: RatingsTable,
  count: number,
): LoopStream {
  const range = ratingStatistics(train)
  const calm = [...ratingsIn(newest)]
    .sort((a, b) => a.timestamp - b.timestamp)
    .slice(0, Math.ceil((count * CALM_BATCHES) / BATCHES))
  const last = calm.at(-1)?.timestamp ?? 0
  const drifted = reversed(spread(train, count - calm.length), range, last)
  return {
    calm,
    calmText: 'the newest ratings of the file, which the model was not trained on',
    drifted,
    driftText: 'simulating drift: users rate again, with reversed ratings',
    golden: ratingsTable(reversed(spread(test, MOST_GOLDEN), range, last)),
    batch: Math.max(1, Math.ceil(calm.length / CALM_BATCHES), Math.ceil(drifted.length / 22)),
  }
}

/** At most `count` ratings, in a fixed order that is unrelated to the order of the table. */
function spread(table: RatingsTable, count: number): Rating[] {
  const stride = strideOf(table.size)
  const ratings = [...ratingsIn(table)]
  return Array.from(
    { length: Math.min(count, table.size) },
    (_, n) => ratings[(n * stride) % table.size] as Rating,
  )
}

/** A step that visits every index once: near the golden section and coprime to `size`. */
function strideOf(size: number): number {
  let stride = Math.max(1, Math.round(size * 0.618))
  const divisor = (a: number, b: number): number => (b === 0 ? a : divisor(b, a % b))
  while (divisor(stride, size) !== 1) stride++
  return stride
}

function reversed(ratings: readonly Rating[], range: RatingRange, lastMs: number): Rating[] {
  const { min, max } = range
  return ratings.map(({ user, item, rating }, n) => ({
    user,
    item,
    rating: min + max - rating,
    timestamp: lastMs + (n + 1) * 1000,
  }))
}

/** Options of a `StreamFeeder`. */
export interface FeederOptions {
  readonly stream: LoopStream
  readonly topics: TopicStore
  /** Topic to append to. */
  readonly topic: string
  /** Name of the stream in the topic. */
  readonly feed: string
}

/** Appends the stream to a topic of observations; continues where an earlier start ended. */
export class StreamFeeder {
  private readonly options: FeederOptions
  private fedCount: number

  private constructor(options: FeederOptions, fed: number) {
    this.options = options
    this.fedCount = fed
  }

  /** Opens a feeder; reads how much of the stream is in the topic. */
  static async open(options: FeederOptions): Promise<StreamFeeder> {
    const { fed } = await ratingsOfTopic(options.topics, options.topic, options.feed)
    return new StreamFeeder(options, fed)
  }

  /** Number of ratings of the stream that are in the topic. */
  get fed(): number {
    return this.fedCount
  }

  /** Number of ratings before the drift that are not in the topic. */
  get calmLeft(): number {
    return Math.max(0, this.options.stream.calm.length - this.fedCount)
  }

  /** Number of ratings after the drift that are in the topic, and that are not. */
  get drifted(): { readonly fed: number; readonly left: number } {
    const { calm, drifted } = this.options.stream
    const fed = Math.max(0, this.fedCount - calm.length)
    return { fed, left: drifted.length - fed }
  }

  /** Appends at most `count` ratings, all from before or all from after the drift; returns them. */
  async next(count: number): Promise<readonly Rating[]> {
    const { stream, topics, topic, feed } = this.options
    const { calm, drifted } = stream
    const at = this.fedCount - calm.length
    const ratings =
      at < 0
        ? calm.slice(this.fedCount, Math.min(this.fedCount + count, calm.length))
        : drifted.slice(at, at + count)
    if (ratings.length === 0) return ratings
    const recordTime = 'arrival'
    await feedRatings(ratingsTable(ratings), {
      topics,
      topic,
      feed,
      clock: systemClock,
      recordTime,
    })
    this.fedCount += ratings.length
    return ratings
  }
}
