import {
  type RatingsTable,
  ratingsOf,
  ratingsTable,
} from '../../src/training/data/ratings-table.ts'
import { readRatings } from '../../src/training/data/read-ratings.ts'
import { splitByTime } from '../../src/training/data/split-ratings.ts'
import { sharedData } from '../harness/shared-data.ts'

/** MovieLens 100K, split by time. */
export interface MovieLensByTime {
  /** The oldest 50 %. */
  readonly train: RatingsTable
  /** The next 30 %, for learning one by one. */
  readonly stream: RatingsTable
  /** `train` and `stream`. */
  readonly seen: RatingsTable
  /** The newest 20 %. */
  readonly held: RatingsTable
}

/** Reads and splits the data. Where the files are missing, says so and returns undefined. */
export async function movieLensByTime(
  say: (line: string) => void,
): Promise<MovieLensByTime | undefined> {
  const base = sharedData('ml-100k/u1.base', say)
  const test = sharedData('ml-100k/u1.test', say)
  if (base === undefined || test === undefined) return undefined
  const tables = [(await readRatings(base)).table, (await readRatings(test)).table]
  const whole = ratingsTable(tables.flatMap((table) => [...ratingsOf(table)]))
  const { train: seen, test: held } = splitByTime(whole, 0.2)
  const { train, test: stream } = splitByTime(seen, 0.375)
  return { train, stream, seen, held }
}
