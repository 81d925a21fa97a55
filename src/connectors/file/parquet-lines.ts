import type { FileMetaData, ParquetRowRange, ParquetScan, SchemaTree } from 'hyparquet'
import { WeirError } from '../../core/errors.ts'
import type { LineFileInput } from './line-folder.ts'
import { type FieldOf, fieldOfColumn } from './parquet-columns.ts'
import { bufferOf, CODECS, loadParquet, SCAN, whole } from './parquet-package.ts'
import { type Field, headerOf, linesOf, PIECE_LINES } from './table-lines.ts'

/** A column that is read. */
interface ReadColumn {
  readonly name: string
  readonly fieldOf: FieldOf
}

/**
 * The rows of a Parquet file as lines of csv behind a header with the names of its columns. Row groups are read one at a
 * time, and of them the columns at the positions of `wanted`, which is asked once the header is taken; the fields of
 * others are empty. Throws MALFORMED_DATA for a file that is damaged, cut off or encrypted, or has a wanted column of
 * another type than text, number or time, and UNSUPPORTED without the package hyparquet.
 */
export async function* parquetLines(
  input: LineFileInput,
  place: string,
  wanted: () => ReadonlySet<number> | undefined,
): AsyncGenerator<Uint8Array> {
  const parquet = await loadParquet(place)
  const file = bufferOf(input, await input.size())
  const { metadata, columns, header } = await whole(place, async () => {
    const read = await parquet.parquetMetadataAsync(file, { geoparquet: false })
    const { children } = parquet.parquetSchema(read)
    const names = children.map(({ element }) => element.name)
    return { metadata: read, columns: children, header: headerOf(names) }
  })
  yield header
  const positions = wanted()
  const read = columns.map((column, at) =>
    positions?.has(at) === false ? undefined : readColumn(column, metadata, place),
  )
  const names = read.flatMap((column) => (column === undefined ? [] : [column.name]))
  const scan = await whole(place, () => {
    requireAllRows(metadata, names)
    return parquet.parquetScan({ file, metadata, columns: names, ...SCAN })
  })
  for (const range of scan.ranges) {
    const values = await whole(place, () => valuesOf(scan, names, range))
    const fields = fieldsOf(read, values)
    const rows = range.rowEnd - range.rowStart
    for (let from = 0; from < rows; from += PIECE_LINES) {
      const to = Math.min(rows, from + PIECE_LINES)
      yield await whole(place, () => Promise.resolve(linesOf(fields, from, to)))
    }
  }
}

/** The values of some columns in some rows, by the name of the column. */
async function valuesOf(
  scan: ParquetScan,
  names: readonly string[],
  range: ParquetRowRange,
): Promise<ReadonlyMap<string, ArrayLike<unknown>>> {
  const rows = range.rowEnd - range.rowStart
  const values = new Map<string, ArrayLike<unknown>>()
  for (const column of names) {
    const found = await scan.readColumn({ column, ...range })
    if (found.length !== rows) throw new Error(`${found.length} of ${rows} values of "${column}"`)
    values.set(column, found)
  }
  return values
}

/** Throws where the file and its parts have not as many rows: the library would leave out some without a word. */
function requireAllRows(metadata: FileMetaData, names: readonly string[]): void {
  const { num_rows: all, row_groups: groups } = metadata
  const rows = groups.reduce((sum, group) => sum + group.num_rows, 0n)
  if (rows !== all) throw new Error(`${rows} of ${all} rows`)
  for (const { columns, num_rows: own } of groups) {
    const other = columns.find(
      ({ meta_data: data }) =>
        names.includes(data?.path_in_schema[0] ?? '') && data?.num_values !== own,
    )
    if (other !== undefined) throw new Error(`${other.meta_data?.num_values} of ${own} values`)
  }
}

/** The fields of the columns in a row; undefined columns have empty ones. */
function fieldsOf(
  columns: readonly (ReadColumn | undefined)[],
  values: ReadonlyMap<string, ArrayLike<unknown>>,
): readonly ((row: number) => Field)[] {
  return columns.map((column) => {
    const own = column && values.get(column.name)
    return (row: number): Field => (column === undefined ? '' : column.fieldOf(own?.[row]))
  })
}

/** Throws MALFORMED_DATA for a column that is not read. */
function readColumn(column: SchemaTree, metadata: FileMetaData, place: string): ReadColumn {
  const { name } = column.element
  const fieldOf = fieldOfColumn(column)
  const problem = typeof fieldOf === 'function' ? problemOfChunks(name, metadata) : fieldOf.problem
  if (typeof fieldOf === 'function' && problem === undefined) return { name, fieldOf }
  throw new WeirError(
    'MALFORMED_DATA',
    `the column "${name}" of ${place} is ${problem}, which is not read; read others (--columns), or write the file with columns of text, numbers and times, without encryption, packed with snappy, gzip, zstd, brotli or lz4`,
    { details: { path: place, column: name } },
  )
}

/** Why parts of a column cannot be read, after "is"; undefined if they can. */
function problemOfChunks(name: string, { row_groups: groups }: FileMetaData): string | undefined {
  const chunks = groups.flatMap(({ columns }) => columns)
  if (chunks.some(({ meta_data: data }) => data === undefined)) return 'encrypted'
  const own = chunks.filter(({ meta_data: data }) => data!.path_in_schema[0] === name)
  if (own.some(({ crypto_metadata: crypto }) => crypto !== undefined)) return 'encrypted'
  const codec = own.map(({ meta_data: data }) => data!.codec).find((one) => !CODECS.includes(one))
  return codec === undefined ? undefined : `packed with ${codec}`
}
