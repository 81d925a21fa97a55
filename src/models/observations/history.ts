import { createHash } from 'node:crypto'
import { filesAt, withoutSettings } from '../../connectors/file/list.ts'
import { readPieces, readStored } from '../../connectors/file/open-folder.ts'
import { isWeirError, WeirError } from '../../core/errors.ts'
import type { FeatureHashing } from '../../core/features/hashing.ts'
import { listOf, name, required } from '../../core/options/kinds.ts'
import { nested, type OptionShape } from '../../core/options/shape.ts'
import { NO_TIMESTAMP } from '../../core/time.ts'
import { LibsvmParser, type LibsvmSink } from '../linear/libsvm-format.ts'
import { RATINGS_PARSER, RatingsParser, type RatingsParserOptions } from '../ratings/parser.ts'
import type { DataFile } from '../registry/ranges/data-range.ts'
import { ObservationsDigester } from '../registry/ranges/observations-digest.ts'
import { partOf } from './archive-parts.ts'
import type { ObservedExample } from './examples.ts'
import type { LeftOut } from './left-out.ts'
import { openRatingsFile } from './ratings-file.ts'
import type { Observation } from './topic-ranges.ts'

/** How the files of a history are read: options of the parser that are plain data. */
export type HistoryReading = Omit<RatingsParserOptions, 'onBadLine' | 'onColumns'>

/** Files of observations, as a user names them. */
export interface GivenHistory {
  /** Paths or `hdfs://` URLs of files, or of folders of files. */
  readonly places: readonly string[]
  /** How they are read; of examples only `badLines` counts. @default as `readRatings` */
  readonly reading?: HistoryReading
}

/** Files of observations that a training reads before its topic. */
export interface HistoryFiles extends GivenHistory {
  /** Part files of this topic (`ArchivePart.topic`) that begin at these offsets or later are left out: the topic has them. */
  readonly present?: {
    readonly topic: string
    readonly starts: readonly { readonly partition: number; readonly start: number }[]
  }
}

/** The options of a history. */
export const HISTORY: OptionShape<GivenHistory> = {
  places: required(listOf(name)),
  reading: nested<HistoryReading>(RATINGS_PARSER),
}

/** What was read of one place of a history. */
export interface ReadPlace {
  readonly file: DataFile
  /** Lines that cannot be read. */
  readonly leftOut?: LeftOut | undefined
  /** The columns of ratings in words; undefined where they are the usual ones. */
  readonly columns?: string | undefined
}

/** An observation of a file is in no partition. */
const IN_NO_TOPIC = { partition: -1, offset: -1 }

/** The places of a history with the SHA-256 of their bytes. Throws FILE_NOT_FOUND and INVALID_ARGUMENT. */
export async function historyHashes(history: HistoryFiles): Promise<readonly DataFile[]> {
  const found: DataFile[] = []
  for (const place of history.places) {
    const hash = createHash('sha256')
    for (const file of (await filesToRead(place, history)).files) {
      for await (const piece of readStored(file)) hash.update(piece)
    }
    found.push({ file: withoutSettings(place), sha256: hash.digest('hex') })
  }
  return found
}

/** What of the reading makes other data of the same files, for processing names; undefined where it is as usual. */
export function readingName({ reading = {} }: HistoryFiles): string | undefined {
  const { columns, events, format } = reading
  const given = Object.entries({ columns, events, format }).filter(([, each]) => each !== undefined)
  return given.length === 0 ? undefined : JSON.stringify(given)
}

/** Collects what was read of one place. */
class PlaceReading {
  private readonly hash = createHash('sha256')
  private readonly digester = new ObservationsDigester()
  private readonly place: string
  private left: LeftOut | undefined
  private columns: string | undefined

  constructor(place: string) {
    this.place = place
  }

  onPiece(piece: Uint8Array): void {
    this.hash.update(piece)
  }

  onBadLine(file: string, line: number, expected: string): void {
    const { count = 0, first = `line ${line} of ${file}: expected ${expected}` } = this.left ?? {}
    this.left = { count: count + 1, first }
  }

  onColumns(columns: string): void {
    this.columns ??= columns
  }

  rating({ user, item, rating }: Pick<Observation, 'user' | 'item' | 'rating'>): void {
    this.digester.addRating(user, item, rating)
  }

  example({ label, ids, values }: Pick<ObservedExample, 'label' | 'ids' | 'values'>): void {
    this.digester.addExample(label, ids, values)
  }

  get read(): ReadPlace {
    const file = withoutSettings(this.place)
    const { left: leftOut, columns } = this
    const sha256 = this.hash.digest('hex')
    return { file: { file, sha256, read: this.digester.digest }, leftOut, columns }
  }
}

interface LineParser {
  push(piece: Uint8Array): void
  end(): void
}

/** A file that is open, and what parses its pieces. */
interface OpenFile {
  readonly pieces: AsyncIterable<Uint8Array>
  readonly parser: LineParser
}

/** Opens a file of a place of a history; what is read of it is gathered. */
type FileOpener<O> = (
  file: string,
  reading: PlaceReading,
  target: O[],
  options: HistoryReading,
) => Promise<OpenFile>

/**
 * The ratings of a history in pieces, one place after the other; `onRead` gets what was read of each. A rating without a
 * time has -1. Throws UNPARSABLE_RECORD with file and line, MALFORMED_DATA, and EMPTY_DATASET for a place without ratings.
 */
export function historyRatings(
  history: HistoryFiles,
  onRead: (place: ReadPlace) => void = () => {},
): AsyncGenerator<readonly Observation[]> {
  return piecesOf<Observation>(history, onRead, async (file, reading, target, options) => {
    const add = (user: string, item: string, rating: number, timestamp: number): void => {
      const one = { user, item, rating, timestamp, ...IN_NO_TOPIC, appendedMs: NO_TIMESTAMP }
      reading.rating(one)
      target.push(one)
    }
    const all: RatingsParserOptions = {
      ...options,
      onColumns: (columns) => reading.onColumns(columns),
      onBadLine: (line, _text, expected) => reading.onBadLine(file, line, expected),
    }
    const opened = await openRatingsFile(file, all, (_, stored) => reading.onPiece(stored))
    return { pieces: opened.pieces, parser: new RatingsParser(add, opened.options) }
  })
}

/** As `historyRatings`, the examples of LIBSVM files. `hashing`: features have names. */
export function historyExamples(
  history: HistoryFiles,
  onRead: (place: ReadPlace) => void = () => {},
  hashing?: FeatureHashing,
): AsyncGenerator<readonly ObservedExample[]> {
  return piecesOf<ObservedExample>(history, onRead, async (file, reading, target, options) => {
    const { badLines = 'fail' } = options
    const add: LibsvmSink = (label, ids, values, count, importance) => {
      const own = { ids: ids.slice(0, count), values: values.slice(0, count) }
      const one = { label, importance, ...own, timestamp: NO_TIMESTAMP, ...IN_NO_TOPIC }
      reading.example(one)
      target.push(one)
    }
    const parser = new LibsvmParser(add, {
      badLines,
      hashing,
      onBadLine: (line, _text, expected) => reading.onBadLine(file, line, expected),
    })
    return { pieces: readPieces(file, (_, stored) => reading.onPiece(stored)), parser }
  })
}

/** The files at a place that are read, and whether others are left out. */
async function filesToRead(
  place: string,
  { present }: HistoryFiles,
): Promise<{ readonly files: readonly string[]; readonly hasOthers: boolean }> {
  const all = (await filesAt(place)).map((file) => file.place)
  const files = all.filter((file) => {
    const part = partOf(file)
    if (part === undefined || part.topic !== present?.topic) return true
    const own = present.starts.find(({ partition }) => partition === part.partition)
    return own === undefined || part.from < own.start
  })
  return { files, hasOthers: files.length < all.length }
}

async function* piecesOf<O>(
  history: HistoryFiles,
  onRead: (place: ReadPlace) => void,
  open: FileOpener<O>,
): AsyncGenerator<readonly O[]> {
  const { places, reading: options = {} } = history
  for (const place of places) {
    const reading = new PlaceReading(place)
    const { files, hasOthers } = await filesToRead(place, history)
    for (const file of files) {
      const target: O[] = []
      const { pieces, parser } = await open(file, reading, target, options)
      for await (const piece of pieces) {
        named(file, () => parser.push(piece))
        if (target.length > 0) yield target.splice(0)
      }
      named(file, () => parser.end())
      if (target.length > 0) yield target.splice(0)
    }
    const { read } = reading
    if (read.file.read?.count === 0 && !hasOthers) {
      throw new WeirError('EMPTY_DATASET', `${place} has no observations; leave it out`)
    }
    onRead(read)
  }
}

/** Errors of a parser name the file. */
function named(file: string, parse: () => void): void {
  try {
    parse()
  } catch (error) {
    if (!isWeirError(error)) throw error
    const { code, message, details } = error
    throw new WeirError(code, `${file}: ${message}`, { cause: error, details })
  }
}
