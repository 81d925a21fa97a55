import { RatingsParser, type RatingsParserOptions } from '../models/ratings-format.ts'
import { bytesOf, type FileBytes } from './file-bytes.ts'
import { type RatingsTable, RatingsTableBuilder } from './ratings-table.ts'

/** A ratings file in memory. */
export interface ReadRatings {
  readonly table: RatingsTable
  readonly lines: number
  /** Lines left out; only with `badLines: 'count'`. */
  readonly badLines: number
}

/**
 * Reads a MovieLens file (`u.data`, `ratings.dat`, `ratings.csv`; see `ratings-format.ts`), given by
 * its path or as its bytes, piece by piece. Throws UNPARSABLE_RECORD with the line number, and the
 * file system's own errors.
 */
export async function readRatings(
  file: FileBytes,
  options: RatingsParserOptions = {},
): Promise<ReadRatings> {
  const builder = new RatingsTableBuilder()
  const parser = new RatingsParser(
    (user, item, rating, timestamp) => builder.add(user, item, rating, timestamp),
    options,
  )
  for await (const chunk of bytesOf(file)) parser.push(chunk)
  parser.end()
  return { table: builder.build(), lines: parser.lineCount, badLines: parser.badLineCount }
}
