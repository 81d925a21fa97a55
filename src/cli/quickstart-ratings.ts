import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { NO_TIMESTAMP } from '../core/time.ts'
import { formatRating } from '../models/ratings-format.ts'
import { generateRatings } from '../models/ratings-generator.ts'
import { type RatingsTable, ratingsTable } from '../training/ratings-table.ts'
import { splitAtRandom } from '../training/split-ratings.ts'
import type { Flags, OptionSpec } from './command.ts'
import { ratingsOfFile } from './ratings-file.ts'

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
  /** File of the held-out ratings, for `weir evaluate`. */
  readonly testFile: string
  /** Where they come from, in words. */
  readonly origin: string
}

const GENERATED = { users: 2000, items: 800, ratings: 200_000, seed: 1 }
const HELD_OUT = 0.1

/**
 * Reads or generates the ratings that the flags name. Where no test file is given a tenth is held out
 * and written into the data folder.
 */
export async function ratingsOf(flags: Flags): Promise<QuickstartRatings> {
  const file = flags.optional('ratings')
  const given = flags.optional('test')
  const all =
    file === undefined ? ratingsTable(generateRatings(GENERATED)) : await ratingsOfFile(file)
  const origin = file ?? 'generated from a planted model; --ratings FILE takes MovieLens'
  if (given !== undefined) {
    return { train: all, test: await ratingsOfFile(given), testFile: given, origin }
  }
  const { train, test } = splitAtRandom(all, HELD_OUT, GENERATED.seed)
  const folder = flags.string('data-dir')
  const testFile = join(folder, 'held-out.data')
  mkdirSync(folder, { recursive: true })
  writeFileSync(testFile, textOf(test))
  return { train, test, testFile, origin }
}

function textOf({ users, items, user, item, rating, size }: RatingsTable): string {
  const lines = Array.from({ length: size }, (_, i) => {
    const ids = { user: users[user[i]!]!, item: items[item[i]!]! }
    return `${formatRating({ ...ids, rating: rating[i]!, timestamp: NO_TIMESTAMP }, 'tab')}\n`
  })
  return lines.join('')
}
