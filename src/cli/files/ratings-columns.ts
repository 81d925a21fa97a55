import type { RatingField } from '../../models/ratings/column-names.ts'
import type { NamedColumns } from '../../models/ratings/columns.ts'
import { type CommandIo, type Flags, type OptionSpec, UsageError } from '../command/command.ts'

/** The flag of every command that reads a file of ratings. */
export const COLUMNS_OPTION: Readonly<Record<string, OptionSpec>> = {
  columns: {
    type: 'string',
    value: 'FIELD=NAME,...',
    help: 'Columns of ratings files, by name or position from 1: user, item, rating (or weight), time (default: by the header)',
  },
}

/** How the ratings files of a command are read. */
export interface RatingsReading {
  readonly columns: NamedColumns | undefined
  /** Gets the columns that are read of a file of a place, in words. */
  onColumns(place: string, columns: string): void
}

/** Reads the columns of `--columns`, and says on standard error, once for each place, which are read. Throws UsageError. */
export function ratingsReadingOf(flags: Flags, io: CommandIo): RatingsReading {
  const said = new Set<string>()
  return {
    columns: namedColumns(flags.optional('columns')),
    onColumns: (place, columns) => {
      const line = `columns of ${place}: ${columns}`
      if (said.has(line)) return
      said.add(line)
      io.err(line)
    },
  }
}

const FIELDS: Readonly<Record<string, RatingField>> = {
  user: 'user',
  item: 'item',
  rating: 'rating',
  weight: 'rating',
  time: 'time',
}

function namedColumns(text: string | undefined): NamedColumns | undefined {
  if (text === undefined) return undefined
  const columns: { [field in RatingField]?: string } = {}
  for (const part of text.split(',')) {
    const at = part.indexOf('=')
    const field = FIELDS[part.slice(0, Math.max(0, at)).trim()]
    const name = part.slice(at + 1).trim()
    if (field === undefined || (name === '' && field !== 'time')) {
      throw new UsageError(
        `--columns takes user=NAME,item=NAME,rating=NAME,time=NAME, with weight= in place of rating=, not "${part}"`,
      )
    }
    if (columns[field] !== undefined) throw new UsageError(`--columns names the ${field} twice`)
    columns[field] = name
  }
  return columns
}
