import { openLineInput } from '../../connectors/file/open-folder.ts'
import { bufferOf, loadParquet, SCAN, whole } from '../../connectors/file/parquet-package.ts'
import { WeirError } from '../../core/errors.ts'

/** Columns of some rows of a Parquet file: by name, a value for each row. A list is an array, a group an object. */
export type ParquetColumns = Readonly<Record<string, ArrayLike<unknown>>>

/**
 * The values of some columns of a Parquet file at a path or an `hdfs://` URL, of any type, a row group at a time: one row
 * group is in memory. Throws MALFORMED_DATA for a file that is damaged or has not all of the columns, and UNSUPPORTED
 * without the package hyparquet.
 */
export async function* parquetValues(
  place: string,
  columns: readonly string[],
): AsyncGenerator<ParquetColumns> {
  const parquet = await loadParquet(place)
  const input = await openLineInput(place)
  try {
    const file = bufferOf(input, await input.size())
    const metadata = await whole(place, () =>
      parquet.parquetMetadataAsync(file, { geoparquet: false }),
    )
    const names = parquet.parquetSchema(metadata).children.map(({ element }) => element.name)
    const missing = columns.filter((column) => !names.includes(column))
    if (missing.length > 0) throw withoutColumns(place, missing, names)
    const scan = await whole(place, () => {
      const { num_rows: all, row_groups: groups } = metadata
      const rows = groups.reduce((sum, group) => sum + group.num_rows, 0n)
      // The library would leave out rows without a word.
      if (rows !== all) throw new Error(`${rows} of ${all} rows`)
      return parquet.parquetScan({ file, metadata, columns: [...columns], ...SCAN })
    })
    for (const range of scan.ranges) {
      yield await whole(place, async () => {
        const values: Record<string, ArrayLike<unknown>> = {}
        for (const column of columns) {
          const read = await scan.readColumn({ column, ...range })
          const rows = range.rowEnd - range.rowStart
          if (read.length !== rows) throw new Error(`${read.length} of ${rows} values`)
          values[column] = read
        }
        return values
      })
    }
  } finally {
    await input.close()
  }
}

function withoutColumns(
  place: string,
  missing: readonly string[],
  names: readonly string[],
): WeirError {
  const message = `${place} has the columns ${names.join(', ')}, and not ${missing.join(', ')}`
  return new WeirError('MALFORMED_DATA', message, { details: { path: place } })
}
