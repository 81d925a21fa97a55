import { openRows } from '../../connectors/file/open-rows.ts'
import type { RatingColumns } from '../ratings/columns.ts'
import type { RatingsParserOptions } from '../ratings/parser.ts'

/** A file of ratings that is open. */
export interface OpenRatings {
  /** The bytes of its lines, for a parser. */
  readonly pieces: AsyncGenerator<Uint8Array>
  /** The options of the parser. */
  readonly options: RatingsParserOptions
}

/**
 * Opens a file of ratings at a path or an `hdfs://` URL: lines of text, or a file of Parquet or Arrow, of which only the columns of
 * ratings are read. `onRead` gets the bytes read so far, and each piece as it is stored. Throws as `openRows`.
 */
export async function openRatingsFile(
  place: string,
  options: RatingsParserOptions,
  onRead?: (bytes: number, piece: Uint8Array) => void,
): Promise<OpenRatings> {
  let wanted: ReadonlySet<number> | undefined
  const { isTable, pieces } = await openRows(place, { wanted: () => wanted, onRead })
  if (!isTable) return { pieces, options }
  const onColumns = (text: string, columns: RatingColumns): void => {
    wanted = new Set(Object.values(columns).filter((at) => at !== undefined))
    options.onColumns?.(text, columns)
  }
  return { pieces, options: { ...options, format: 'csv', hasHeader: true, onColumns } }
}
