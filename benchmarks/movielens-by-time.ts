import { type RatingsTable, ratingsOf, ratingsTable } from '../src/training/ratings-table.ts'
import { readRatings } from '../src/training/read-ratings.ts'
import { splitByTime } from '../src/training/split-ratings.ts'
import { sharedData } from './shared-data.ts'

/** MovieLens 100K cut by time. */
export interface MovieLensByTime {
  /** The oldest 50 %. */
  readonly train: RatingsTable
  /** The next 30 %, to be learned one by one. */
  readonly stream: RatingsTable
  /** Both of them. */
  readonly seen: RatingsTable
  /** The newest 20 %. */
  readonly held: RatingsTable
}

/** Reads and cuts it; undefined, and a sentence, where the files are missing. */
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
