import type { Rating, RatingRange } from '../models/rating.ts'
import { generateRatings } from '../models/ratings-generator.ts'
import {
  type RatingsTable,
  ratingStatistics,
  ratingsOf as ratingsIn,
  ratingsTable,
} from '../training/ratings-table.ts'
import { splitByTime } from '../training/split-ratings.ts'
import { GENERATED } from './quickstart-generated.ts'

/** What comes after the model was trained: the ratings that the quickstart's loop streams. */
export interface LoopStream {
  /** Ratings to learn, oldest first. */
  readonly calm: readonly Rating[]
  /** What the calm ratings are, in words. */
  readonly calmInWords: string
  /** Ratings after the drift. */
  readonly drifted: readonly Rating[]
  readonly driftInWords: string
  /** Ratings after the drift that nothing is trained on, for the promotion checks. */
  readonly golden: RatingsTable
  /** Ratings that are fed at once. */
  readonly batch: number
}

/** Looks at the error while the calm ratings are learned. */
export const CALM_BATCHES = 8
const BATCHES = 30
/** Tastes at the start of the stream and after the drift, in right angles from the training's. */
const CALM_ANGLE = 0.9
const DRIFTED_ANGLE = 1.9
const MOST_GOLDEN = 4000
const NEWEST = 0.1

/** Goes on with the planted model where the ratings of the quickstart ended, tastes turned twice. */
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
    calmInWords: 'fresh ratings; tastes have turned since the training',
    drifted: fresh.slice(calm, count),
    driftInWords: 'from here on the users like other things',
    golden: ratingsTable(fresh.slice(count)),
    batch,
  }
}

/** A file's ratings in two: older ones to train on, and the newest, to stream. */
export interface NewestApart {
  readonly train: RatingsTable
  readonly newest: RatingsTable
}

/** Keeps the newest tenth for the stream. */
export function newestApart(all: RatingsTable): NewestApart {
  const { train, test } = splitByTime(all, NEWEST)
  return { train, newest: test }
}

/**
 * The stream of a file: its newest ratings, then a made-up drift, because files have none: users rate
 * what they rated before, turned round. The golden set is the held-out ratings turned round.
 */
export function fileStream(
  { train, newest }: NewestApart,
  test: RatingsTable,
  count: number,
): LoopStream {
  const range = ratingStatistics(train)
  const calm = [...ratingsIn(newest)]
    .sort((a, b) => a.timestamp - b.timestamp)
    .slice(0, Math.ceil((count * CALM_BATCHES) / BATCHES))
  const last = calm.at(-1)?.timestamp ?? 0
  const drifted = turnedRound(spread(train, count - calm.length), range, last)
  return {
    calm,
    calmInWords: 'the newest ratings of the file, kept from the training',
    drifted,
    driftInWords: 'a made-up drift: users rate again, and turn their ratings round',
    golden: ratingsTable(turnedRound(spread(test, MOST_GOLDEN), range, last)),
    batch: Math.max(1, Math.ceil(calm.length / CALM_BATCHES), Math.ceil(drifted.length / 22)),
  }
}

/** At most `count` ratings in an order that has nothing to do with the table's, always the same. */
function spread(table: RatingsTable, count: number): Rating[] {
  const stride = strideOf(table.size)
  const ratings = [...ratingsIn(table)]
  return Array.from(
    { length: Math.min(count, table.size) },
    (_, n) => ratings[(n * stride) % table.size] as Rating,
  )
}

/** A step that meets every index once: about the golden section, without a common divisor. */
function strideOf(size: number): number {
  let stride = Math.max(1, Math.round(size * 0.618))
  const divisor = (a: number, b: number): number => (b === 0 ? a : divisor(b, a % b))
  while (divisor(stride, size) !== 1) stride++
  return stride
}

function turnedRound(ratings: readonly Rating[], range: RatingRange, lastMs: number): Rating[] {
  const { min, max } = range
  return ratings.map(({ user, item, rating }, n) => ({
    user,
    item,
    rating: min + max - rating,
    timestamp: lastMs + (n + 1) * 1000,
  }))
}
