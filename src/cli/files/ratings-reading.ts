import { decimalNumber } from '../../core/text/decimal-number.ts'
import { nearestWord } from '../../core/text/nearest-word.ts'
import type { RatingField } from '../../models/ratings/column-names.ts'
import type { NamedColumns } from '../../models/ratings/columns.ts'
import type { RatingsFormat } from '../../models/ratings/format.ts'
import type { EventWeights, RatingsParserOptions } from '../../models/ratings/parser.ts'
import { LARGEST_RATING } from '../../models/ratings/rating.ts'
import {
  type CommandIo,
  type Flags,
  needs,
  type OptionSpec,
  UsageError,
} from '../command/command.ts'
import { type FlagKind, readBy } from '../flag-kinds/flag-kind.ts'
import { word } from '../flag-kinds/words.ts'
import { BAD_LINES_OPTION, BadLinesOfFiles } from './bad-lines.ts'

const FIELDS: Readonly<Record<string, RatingField>> = {
  user: 'user',
  item: 'item',
  rating: 'rating',
  weight: 'rating',
  time: 'time',
}

const COLUMNS_TAKES = 'user=NAME,item=NAME,rating=NAME,time=NAME, with weight= in place of rating='

/** Names of columns, or their positions, by what they hold. */
const COLUMNS: FlagKind = readBy(
  { sort: 'list', shown: 'FIELD=NAME,...', takes: COLUMNS_TAKES },
  namedColumns,
)

/** Separators of the fields of a line, by the words of `--separator`. */
const FORMATS: Readonly<Record<string, RatingsFormat>> = {
  tab: 'tab',
  comma: 'csv',
  semicolon: 'semicolon',
  'double-colon': 'double-colon',
  pipe: 'pipe',
  space: 'space',
}

const WEIGHTS_TAKES = 'COLUMN=KIND:NUMBER,..., such as event=view:1,cart:3,buy:10'
const WEIGHTS: FlagKind = readBy(
  { sort: 'list', shown: 'COLUMN=KIND:N,...', takes: WEIGHTS_TAKES },
  eventWeights,
)

/** The flags of every command that reads a file of ratings. */
export const READING_OPTIONS = {
  columns: {
    type: 'string',
    value: COLUMNS,
    help: 'Columns of ratings files, by name or position from 1: user, item, rating (or weight), time (default: by the header); "rating=" for lists without ratings, in which each line counts 1',
  },
  separator: {
    type: 'string',
    value: word(Object.keys(FORMATS), 'NAME'),
    help: 'What is between the fields of ratings files (default: by the first line)',
  },
  weight: {
    type: 'string',
    value: WEIGHTS,
    help: 'Lines of ratings files are events: the column of their kinds, and what each kind counts; a kind that counts 0 is left out. Files that train are summed by user and item',
  },
  ...BAD_LINES_OPTION,
} as const satisfies Readonly<Record<string, OptionSpec>>

/** The same flags beside a flag without which they count for nothing. */
export function ratingsOptionsOf(flag: string): Readonly<Record<string, OptionSpec>> {
  return Object.fromEntries(
    Object.entries<OptionSpec>(READING_OPTIONS).map(([name, spec]) => [
      name,
      { ...spec, needs: [needs(flag)] },
    ]),
  )
}

/** How the ratings files of a command are read. */
export interface RatingsReading {
  /** Whether a pair that comes again counts more, rather than being rated again. */
  readonly isImplicit: boolean
  /** How a file of a place is read; `report` says what was left out, once it is read. */
  of(
    place: string,
    file: string,
  ): { readonly options: RatingsParserOptions; report(lines: number): void }
}

/** What the flags of columns, separator and weights say. Throws UsageError. */
export function readingOptionsOf(
  flags: Flags,
): Pick<RatingsParserOptions, 'columns' | 'format' | 'events'> {
  const [columns, separator, weight] = ['columns', 'separator', 'weight'].map((name) =>
    flags.optional(name),
  )
  return {
    ...(columns === undefined ? {} : { columns: namedColumns(columns) }),
    ...(separator === undefined ? {} : { format: FORMATS[separator]! }),
    ...(weight === undefined ? {} : { events: eventWeights(weight) }),
  }
}

/** Reads the flags, and says on standard error, once for each place, which columns are read. */
export function ratingsReadingOf(flags: Flags, io: CommandIo): RatingsReading {
  const isImplicit = flags.boolean('implicit')
  const badLines = new BadLinesOfFiles(flags, io)
  const given: RatingsParserOptions = {
    badLines: badLines.policy,
    mayLackRating: isImplicit,
    ...readingOptionsOf(flags),
  }
  const said = new Set<string>()
  const say = (line: string): void => {
    if (!said.has(line)) io.err(line)
    said.add(line)
  }
  return {
    isImplicit,
    of(place, file) {
      const { onBadLine, report } = badLines.of(file)
      const onColumns = (found: string): void => say(`columns of ${place}: ${found}`)
      return { options: { ...given, onBadLine, onColumns }, report }
    },
  }
}

/** The columns of a text. Throws UsageError. */
function namedColumns(text: string): NamedColumns {
  const columns: { [field in RatingField]?: string } = {}
  for (const part of text.split(',')) {
    const at = part.indexOf('=')
    const name = part.slice(0, Math.max(0, at)).trim()
    const field = Object.hasOwn(FIELDS, name) ? FIELDS[name] : undefined
    const column = part.slice(at + 1).trim()
    if (field === undefined) throw new UsageError(unknownField(part, name))
    if (column === '' && field !== 'time' && field !== 'rating')
      throw new UsageError(`"${part}" names no column`)
    if (columns[field] !== undefined) throw new UsageError(`it names the ${field} twice`)
    columns[field] = column
  }
  return columns
}

function unknownField(part: string, name: string): string {
  const nearest = nearestWord(name, Object.keys(FIELDS))
  return `"${part}" names no field${nearest === undefined ? '' : `; did you mean "${nearest}="?`}`
}

/** The kinds of events of a text, and what they count. Throws UsageError. */
function eventWeights(text: string): EventWeights {
  const at = text.indexOf('=')
  const column = text.slice(0, Math.max(0, at)).trim()
  if (column === '') throw new UsageError('it names no column')
  const weights: Record<string, number> = {}
  for (const part of text.slice(at + 1).split(',')) {
    const colon = part.lastIndexOf(':')
    const kind = part.slice(0, Math.max(0, colon)).trim()
    const weight = decimalNumber(part.slice(colon + 1))
    if (kind === '' || !(Math.abs(weight) <= LARGEST_RATING)) {
      throw new UsageError(`"${part}" is no kind with a number`)
    }
    if (Object.hasOwn(weights, kind)) throw new UsageError(`it names the kind "${kind}" twice`)
    weights[kind] = weight
  }
  return { column, weights }
}
