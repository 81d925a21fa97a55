import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { NO_TIMESTAMP } from '../core/time.ts'
import { formatRating } from '../models/ratings-format.ts'
import { generateRatings } from '../models/ratings-generator.ts'
import { type RatingsTable, ratingsTable } from '../training/ratings-table.ts'
import { splitAtRandom } from '../training/split-ratings.ts'
import { type Flags, type OptionSpec, UsageError } from './command.ts'
import { GENERATED } from './quickstart-generated.ts'
import { fileStream, generatedStream, type LoopStream, newestApart } from './quickstart-stream.ts'
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
  /** What comes later; undefined without the loop. Made when it is first asked for. */
  readonly stream: (() => LoopStream) | undefined
}

const HELD_OUT = 0.1

/** Whether the loop follows. A file has no drift, so one is made up only for those who ask. */
export function isLooping(flags: Flags): boolean {
  if (flags.boolean('loop') && flags.boolean('no-loop')) {
    throw new UsageError('--loop and --no-loop exclude each other; give one of them')
  }
  return flags.optional('ratings') === undefined ? !flags.boolean('no-loop') : flags.boolean('loop')
}

/**
 * Reads or generates the ratings that the flags name. Where no test file is given a tenth is held out
 * and written into the data folder. With the loop a file's newest tenth is kept for the stream.
 */
export async function ratingsOf(flags: Flags): Promise<QuickstartRatings> {
  const file = flags.optional('ratings')
  const loops = isLooping(flags)
  const length = flags.integer('loop-ratings', 300, 10_000_000)
  if (file === undefined) {
    const origin = 'generated from a planted model; --ratings FILE takes MovieLens'
    const parts = await heldOut(ratingsTable(generateRatings(GENERATED)), flags)
    return { ...parts, origin, stream: loops ? () => generatedStream(length) : undefined }
  }
  const parts = await heldOut(await ratingsOfFile(file), flags)
  if (!loops) return { ...parts, origin: file, stream: undefined }
  const apart = newestApart(parts.train)
  const stream = (): LoopStream => fileStream(apart, parts.test, length)
  return { ...parts, train: apart.train, origin: file, stream }
}

async function heldOut(
  all: RatingsTable,
  flags: Flags,
): Promise<Pick<QuickstartRatings, 'train' | 'test' | 'testFile'>> {
  const given = flags.optional('test')
  if (given !== undefined) {
    return { train: all, test: await ratingsOfFile(given), testFile: given }
  }
  const { train, test } = splitAtRandom(all, HELD_OUT, GENERATED.seed)
  const folder = flags.string('data-dir')
  const testFile = join(folder, 'held-out.data')
  mkdirSync(folder, { recursive: true })
  writeFileSync(testFile, textOf(test))
  return { train, test, testFile }
}

/** Where the loop leaves held-out ratings of after the drift, for `weir evaluate`. */
export function driftedTestFile(flags: Flags): string {
  return join(flags.string('data-dir'), 'held-out-after-drift.data')
}

/** Lines of the ratings, as `u.data` has them. */
export function textOf({ users, items, user, item, rating, size }: RatingsTable): string {
  const lines = Array.from({ length: size }, (_, i) => {
    const ids = { user: users[user[i]!]!, item: items[item[i]!]! }
    return `${formatRating({ ...ids, rating: rating[i]!, timestamp: NO_TIMESTAMP }, 'tab')}\n`
  })
  return lines.join('')
}
