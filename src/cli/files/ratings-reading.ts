import { nearestWord } from '../../core/text/nearest-word.ts'
import type { RatingField } from '../../models/ratings/column-names.ts'
import type { NamedColumns } from '../../models/ratings/columns.ts'
import { type CommandIo, type Flags, type OptionSpec, UsageError } from '../command/command.ts'
import { type FlagKind, readBy } from '../flag-kinds/flag-kind.ts'

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

/** The flag of every command that reads a file of ratings. */
export const COLUMNS_OPTION = {
  columns: {
    type: 'string',
    value: COLUMNS,
    help: 'Columns of ratings files, by name or position from 1: user, item, rating (or weight), time (default: by the header)',
  },
} as const satisfies Readonly<Record<string, OptionSpec>>

/** How the ratings files of a command are read. */
export interface RatingsReading {
  readonly columns: NamedColumns | undefined
  /** Gets the columns that are read of a file of a place, in words. */
  onColumns(place: string, columns: string): void
}

/** Reads the columns of `--columns`, and says on standard error, once for each place, which are read. */
export function ratingsReadingOf(flags: Flags, io: CommandIo): RatingsReading {
  const named = flags.optional('columns')
  const said = new Set<string>()
  return {
    columns: named === undefined ? undefined : namedColumns(named),
    onColumns: (place, columns) => {
      const line = `columns of ${place}: ${columns}`
      if (said.has(line)) return
      said.add(line)
      io.err(line)
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
    if (column === '' && field !== 'time') throw new UsageError(`"${part}" names no column`)
    if (columns[field] !== undefined) throw new UsageError(`it names the ${field} twice`)
    columns[field] = column
  }
  return columns
}

function unknownField(part: string, name: string): string {
  const nearest = nearestWord(name, Object.keys(FIELDS))
  return `"${part}" names no field${nearest === undefined ? '' : `; did you mean "${nearest}="?`}`
}
