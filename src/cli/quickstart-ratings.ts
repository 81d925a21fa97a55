import { generateRatings } from '../models/ratings-generator.ts'
import { type RatingsTable, ratingsTable } from '../training/ratings-table.ts'
import { readRatings } from '../training/read-ratings.ts'
import { splitAtRandom } from '../training/split-ratings.ts'
import type { Flags, OptionSpec } from './command.ts'

/** Flags that say what the quickstart learns from. */
export const RATINGS_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  ratings: {
    type: 'string',
    value: 'FILE',
    help: 'u.data, ratings.dat or ratings.csv (default: generated ratings)',
  },
  test: {
    type: 'string',
    value: 'FILE',
    help: 'Held-out ratings (default: a tenth of the ratings is held out)',
  },
}

/** Ratings of the quickstart, split. */
export interface QuickstartRatings {
  readonly train: RatingsTable
  readonly test: RatingsTable
  /** Where they come from, in words. */
  readonly origin: string
}

const GENERATED = { users: 2000, items: 800, ratings: 200_000, seed: 1 }
const HELD_OUT = 0.1

/** Reads or generates the ratings that the flags name. */
export async function ratingsOf(flags: Flags): Promise<QuickstartRatings> {
  const file = flags.optional('ratings')
  const testFile = flags.optional('test')
  const all =
    file === undefined ? ratingsTable(generateRatings(GENERATED)) : (await readRatings(file)).table
  const origin = file ?? 'generated: low rank with biases, log-normal activity, Zipf popularity'
  if (testFile !== undefined) {
    return { train: all, test: (await readRatings(testFile)).table, origin }
  }
  const { train, test } = splitAtRandom(all, HELD_OUT, GENERATED.seed)
  return { train, test, origin }
}
