import { checkArgument } from '../../core/options/shape.ts'
import { RatingsParser, type RatingsParserOptions } from '../../models/ratings/parser.ts'
import { type FileBytes, parseFile } from './file-bytes.ts'
import { FILE_BYTES } from './kinds.ts'
import { type RatingsTable, RatingsTableBuilder, summedByPair } from './ratings-table.ts'

/** A ratings file in memory. */
export interface ReadRatings {
  readonly table: RatingsTable
  readonly lines: number
  /** Lines left out; only with `badLines: 'count'`. */
  readonly badLines: number
  /** Whether the lines are events; the table then has their sum by user and item. */
  readonly hasEvents: boolean
}

/**
 * Reads a file of ratings (`u.data`, `ratings.dat`, `ratings.csv`; see `RatingsFormat`) in
 * pieces. Throws UNPARSABLE_RECORD with the line number, and errors of the file system.
 */
export async function readRatings(
  file: FileBytes,
  options: RatingsParserOptions = {},
): Promise<ReadRatings> {
  checkArgument('readRatings', 'file', FILE_BYTES, file)
  const builder = new RatingsTableBuilder()
  const read = await addRatings(builder, file, options)
  const table = builder.build()
  return { table: read.hasEvents ? summedByPair(table) : table, ...read }
}

/** Takes ratings one by one: a table that is built, or a spill. */
export interface RatingsTarget {
  add(user: string, item: string, rating: number, timestamp: number): void
}

/** Adds the ratings of one of several files to a target. Throws as `readRatings`. */
export async function addRatings(
  target: RatingsTarget,
  file: FileBytes,
  options: RatingsParserOptions = {},
): Promise<Omit<ReadRatings, 'table'>> {
  const parser = new RatingsParser(
    (user, item, rating, timestamp) => target.add(user, item, rating, timestamp),
    options,
  )
  const read = await parseFile(parser, file)
  return { ...read, hasEvents: parser.hasEvents }
}
