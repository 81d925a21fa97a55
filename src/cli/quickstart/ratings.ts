import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TopicStore } from '../../connectors/topics/store.ts'
import { systemClock } from '../../core/clock.ts'
import { NO_TIMESTAMP } from '../../core/time.ts'
import { formatRating } from '../../models/ratings/format.ts'
import { generateRatings } from '../../models/ratings/generator.ts'
import { type RatingsTable, ratingsTable } from '../../training/data/ratings-table.ts'
import { splitAtRandom } from '../../training/data/split-ratings.ts'
import { feedRatings, ratingsOfTopic } from '../../training/evaluate/ratings-topic.ts'
import type { CommandIo, Flags, OptionSpec } from '../command/command.ts'
import { ratingsOfFile } from '../files/ratings-file.ts'
import {
  type RatingsReading,
  ratingsOptionsOf,
  ratingsReadingOf,
} from '../files/ratings-reading.ts'
import { input } from '../flag-kinds/places.ts'
import { fileStream, GENERATED, generatedStream, type LoopStream, splitByAge } from './stream.ts'
import { count, type Report } from './text.ts'
import { fingerprintOf, placeText } from './version.ts'

/** Flags of the quickstart's ratings. */
export const RATINGS_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  ratings: {
    type: 'string',
    value: input(),
    help: 'Ratings to train on: a u.data, ratings.dat, ratings.csv, Parquet or Arrow file (default: generated ratings)',
  },
  test: {
    type: 'string',
    value: input(),
    help: 'Held-out ratings (default: a tenth of the ratings)',
  },
  ...ratingsOptionsOf('ratings'),
}

/** Ratings of the quickstart in their parts. */
export interface QuickstartRatings {
  readonly train: RatingsTable
  readonly test: RatingsTable
  /** File of the held-out ratings, for `weir evaluate`. */
  readonly testFile: string
  /** Description of their origin. */
  readonly origin: string
  /** Makes the stream of the loop; undefined without the loop. */
  readonly stream: (() => LoopStream) | undefined
}

const HELD_OUT = 0.1

/** Whether the loop runs. A file has no drift, so one is simulated only on request. */
export function isLooping(flags: Flags): boolean {
  return flags.optional('ratings') === undefined ? !flags.boolean('no-loop') : flags.boolean('loop')
}

/**
 * Reads or generates the ratings of the flags. Without a test file, a tenth of them is held out and
 * written into the data folder. With the loop, the newest tenth of a file is kept for the stream.
 */
export async function ratingsOf(flags: Flags, io: CommandIo): Promise<QuickstartRatings> {
  const file = flags.optional('ratings')
  const reading = ratingsReadingOf(flags, io)
  const hasLoop = isLooping(flags)
  const length = flags.number('loop-ratings')
  if (file === undefined) {
    const origin = 'generated from a planted model; use --ratings FILE for MovieLens'
    const parts = await heldOut(ratingsTable(generateRatings(GENERATED)), flags, reading)
    return { ...parts, origin, stream: hasLoop ? () => generatedStream(length) : undefined }
  }
  const parts = await heldOut(await ratingsOfFile(file, reading), flags, reading)
  if (!hasLoop) return { ...parts, origin: file, stream: undefined }
  const split = splitByAge(parts.train)
  const stream = (): LoopStream => fileStream(split, parts.test, length)
  return { ...parts, train: split.train, origin: file, stream }
}

async function heldOut(
  all: RatingsTable,
  flags: Flags,
  reading: RatingsReading,
): Promise<Pick<QuickstartRatings, 'train' | 'test' | 'testFile'>> {
  const given = flags.optional('test')
  if (given !== undefined) {
    return { train: all, test: await ratingsOfFile(given, reading), testFile: given }
  }
  const { train, test } = splitAtRandom(all, HELD_OUT, GENERATED.seed)
  const folder = flags.string('data-dir')
  const testFile = join(folder, 'held-out.data')
  mkdirSync(folder, { recursive: true })
  writeFileSync(testFile, textOf(test))
  return { train, test, testFile }
}

/** File of held-out ratings after the drift, which the loop writes for `weir evaluate`. */
export function driftedTestFile(flags: Flags): string {
  return join(flags.string('data-dir'), 'held-out-after-drift.data')
}

/** The ratings as the lines of a `u.data`. */
export function textOf({ users, items, user, item, rating, size }: RatingsTable): string {
  const lines = Array.from({ length: size }, (_, i) => {
    const ids = { user: users[user[i]!]!, item: items[item[i]!]! }
    return `${formatRating({ ...ids, rating: rating[i]!, timestamp: NO_TIMESTAMP }, 'tab')}\n`
  })
  return lines.join('')
}

/**
 * Ratings to train on. With Kafka they are those of the topic of observations, to which `train` is
 * appended unless an earlier start did. With the embedded log they are `train` itself.
 */
export async function observedRatings(
  train: RatingsTable,
  {
    flags,
    topics,
    report,
  }: { readonly flags: Flags; readonly topics: TopicStore; readonly report: Report },
): Promise<RatingsTable> {
  if (flags.optional('brokers') === undefined) return train
  const topic = flags.string('ratings-topic')
  const feed = fingerprintOf(train, {})
  let observed = await ratingsOfTopic(topics, topic, feed)
  if (observed.fed === 0) {
    await feedRatings(train, { topics, topic, feed, clock: systemClock })
    observed = await ratingsOfTopic(topics, topic, feed)
    report(
      'feed',
      `${count(observed.fed)} ratings written to topic ${topic} of ${placeText(flags)} in one transaction, and read back`,
    )
  } else report('feed', `not needed: topic ${topic} already has these ratings`)
  const others = observed.table.size - observed.fed
  if (others > 0) report('', `${count(others)} more ratings of the topic are used for training too`)
  if (observed.refused > 0) {
    report('', `${count(observed.refused)} records of the topic are not ratings and are skipped`)
  }
  return observed.table
}
