import type { FileToRead } from '../../connectors/file/list.ts'
import { WeirError } from '../../core/errors.ts'
import { openRatingsFile } from '../../models/observations/ratings-file.ts'
import { RatingsParser } from '../../models/ratings/parser.ts'
import type { Rating } from '../../models/ratings/rating.ts'
import {
  type RatingsTable,
  RatingsTableBuilder,
  summedByPair,
} from '../../training/data/ratings-table.ts'
import { addRatings, type RatingsTarget } from '../../training/data/read-ratings.ts'
import {
  type DataFileKind,
  dataFilesAt,
  type ReadFacts,
  readDataFile,
  sizedDataFilesAt,
} from './data-file.ts'
import type { RatingsReading } from './ratings-reading.ts'
import type { ReadingProgress } from './reading-bar.ts'

/** Receivers of what is found while ratings are read. */
export interface ReadingWatch {
  readonly progress?: ReadingProgress
  readonly facts?: ReadFacts
}

/** A file of ratings. */
const RATINGS_FILE: DataFileKind = {
  content: 'ratings',
  hint: 'the path or hdfs:// URL of a u.data, ratings.dat, ratings.csv, Parquet or Arrow file, or of a folder of such files',
}

/**
 * The ratings of a file, or of the part files of a folder, at a path or an `hdfs://` URL; those of events, and of implicit
 * feedback, summed by pair. Throws INVALID_ARGUMENT if a file cannot be read, UNPARSABLE_RECORD, and EMPTY_DATASET if
 * there are no ratings. Errors name the file.
 */
export async function ratingsOfFile(
  place: string,
  reading: RatingsReading,
  watching: ReadingWatch = {},
): Promise<RatingsTable> {
  const builder = new RatingsTableBuilder()
  const { hasEvents } = await addRatingsOfFile(place, builder, reading, watching)
  const table = builder.build()
  return hasEvents || reading.isImplicit ? summedByPair(table) : table
}

/** Adds the same ratings to a table or to files, none of them summed. Throws as `ratingsOfFile`. */
export async function addRatingsOfFile(
  place: string,
  target: RatingsTarget & { readonly size: number },
  reading: RatingsReading,
  { progress, facts }: ReadingWatch = {},
): Promise<{ readonly hasEvents: boolean }> {
  const files = await sizedDataFilesAt(place, RATINGS_FILE)
  const noted: RatingsTarget = facts === undefined ? target : noting(facts, target)
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0)
  let before = 0
  let hasEvents = false
  for (const { place: file, bytes } of files) {
    const { options, report } = reading.of(place, file)
    const onRead = (done: number, piece: Uint8Array): void => {
      progress?.onRead(before + done, total)
      facts?.onPiece(piece)
    }
    const read = await readDataFile(file, RATINGS_FILE, async () => {
      const opened = await openRatingsFile(file, options, onRead)
      return await addRatings(noted, opened.pieces, opened.options)
    })
    report(read.lines)
    hasEvents ||= read.hasEvents
    before += bytes
  }
  if (target.size > 0) return { hasEvents }
  throw new WeirError(
    'EMPTY_DATASET',
    `${place} has no ratings; write one "user item rating" a line`,
  )
}

/** A target that also notes each rating. */
function noting(facts: ReadFacts, target: RatingsTarget): RatingsTarget {
  return {
    add(user, item, rating, timestamp) {
      facts.onEvent(timestamp)
      facts.onRating(user, item, rating)
      target.add(user, item, rating, timestamp)
    },
  }
}

/** The files of ratings at a place, with their sizes. Throws INVALID_ARGUMENT if there is none. */
export function ratingFiles(place: string): Promise<readonly FileToRead[]> {
  return sizedDataFilesAt(place, RATINGS_FILE)
}

/** The same ratings in pieces, so that they are never in memory as a whole. Throws as `ratingsOfFile`. */
export async function* ratingPieces(
  place: string,
  reading: RatingsReading,
): AsyncGenerator<readonly Rating[]> {
  for (const file of await dataFilesAt(place, RATINGS_FILE)) yield* piecesOf(place, file, reading)
}

async function* piecesOf(
  place: string,
  file: string,
  reading: RatingsReading,
): AsyncGenerator<readonly Rating[]> {
  const { options, report } = reading.of(place, file)
  let piece: Rating[] = []
  const opened = await readDataFile(file, RATINGS_FILE, () => openRatingsFile(file, options))
  const parser = new RatingsParser(
    (user, item, rating, timestamp) => piece.push({ user, item, rating, timestamp }),
    opened.options,
  )
  const { pieces } = opened
  try {
    for (;;) {
      const next = await readDataFile(file, RATINGS_FILE, async () => {
        const chunk = await pieces.next()
        if (chunk.done === true) parser.end()
        else parser.push(chunk.value)
        return chunk
      })
      if (piece.length > 0) yield piece
      piece = []
      if (next.done === true) break
    }
  } finally {
    await pieces.return(undefined)
  }
  report(parser.lineCount)
}
