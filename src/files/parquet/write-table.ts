import { ByteWriter } from '../../core/byte-writer.ts'
import { i32, i64, list, struct, type ThriftValue, text, writeStruct } from './compact-writer.ts'

/** What a column holds: float64, text, true and false, or ms since 1970. */
export type ColumnType = 'number' | 'text' | 'boolean' | 'time'

/** A column of a table; null is no value. */
export interface ParquetColumn {
  readonly name: string
  readonly type: ColumnType
  readonly values: readonly (number | string | boolean | null)[]
}

const MAGIC = new TextEncoder().encode('PAR1')
/** Parquet's physical types. */
const TYPES = { boolean: 0, time: 2, number: 5, text: 6 } as const
/** What a reader makes of them: UTF8 and TIMESTAMP_MILLIS. */
const CONVERTED = { boolean: undefined, time: 9, number: undefined, text: 0 } as const
const PLAIN = 0
const RLE = 3
const OPTIONAL = 1
const GROUP_ROWS = 100_000

/**
 * A table as a file of Apache Parquet 1.0: plain values without compression, one page a column and group of 100,000 rows.
 * Each column may have nulls. All columns have as many values.
 */
export function parquetOf(columns: readonly ParquetColumn[]): Uint8Array {
  const rows = columns[0]?.values.length ?? 0
  const writer = new ByteWriter(1 << 16)
  writer.raw(MAGIC)
  const groups: ThriftValue[] = []
  for (let from = 0; from < rows; from += GROUP_ROWS) {
    groups.push(writeGroup(writer, columns, { from, to: Math.min(rows, from + GROUP_ROWS) }))
  }
  const start = writer.length
  writeStruct(writer, [
    [1, i32(1)],
    [2, list('struct', [rootOf(columns), ...columns.map(schemaOf)])],
    [3, i64(rows)],
    [4, list('struct', groups)],
    [6, text('weir')],
  ])
  writer.uint32(writer.length - start)
  writer.raw(MAGIC)
  return writer.toBytes()
}

const rootOf = (columns: readonly ParquetColumn[]): ThriftValue =>
  struct([4, text('schema')], [5, i32(columns.length)])

function schemaOf({ name, type }: ParquetColumn): ThriftValue {
  const converted = CONVERTED[type]
  return struct(
    [1, i32(TYPES[type])],
    [3, i32(OPTIONAL)],
    [4, text(name)],
    ...(converted === undefined ? [] : [[6, i32(converted)] as const]),
  )
}

interface RowRange {
  readonly from: number
  readonly to: number
}

function writeGroup(
  writer: ByteWriter,
  columns: readonly ParquetColumn[],
  { from, to }: RowRange,
): ThriftValue {
  const start = writer.length
  const chunks = columns.map((column) => writeChunk(writer, column, column.values.slice(from, to)))
  return struct([1, list('struct', chunks)], [2, i64(writer.length - start)], [3, i64(to - from)])
}

/** Writes the only page of a column in a group; returns what the metadata says of it. */
function writeChunk(
  writer: ByteWriter,
  { name, type }: ParquetColumn,
  values: ParquetColumn['values'],
): ThriftValue {
  const page = new ByteWriter(values.length * 8 + 64)
  writePresence(page, values)
  writeValues(page, type, values)
  const start = writer.length
  writeStruct(writer, [
    [1, i32(0)],
    [2, i32(page.length)],
    [3, i32(page.length)],
    [5, struct([1, i32(values.length)], [2, i32(PLAIN)], [3, i32(RLE)], [4, i32(RLE)])],
  ])
  writer.raw(page.bytes.subarray(0, page.length))
  const size = writer.length - start
  const metadata = struct(
    [1, i32(TYPES[type])],
    [2, list('i32', [i32(PLAIN), i32(RLE)])],
    [3, list('text', [text(name)])],
    [4, i32(0)],
    [5, i64(values.length)],
    [6, i64(size)],
    [7, i64(size)],
    [9, i64(start)],
  )
  return struct([2, i64(start)], [3, metadata])
}

/** Appends which values there are: the definition levels, as runs of equal ones. */
function writePresence(page: ByteWriter, values: ParquetColumn['values']): void {
  const runs = new ByteWriter(64)
  for (let from = 0; from < values.length; ) {
    const isPresent = values[from] !== null
    let to = from + 1
    while (to < values.length && (values[to] !== null) === isPresent) to += 1
    runs.varuint((to - from) << 1)
    runs.uint8(isPresent ? 1 : 0)
    from = to
  }
  page.uint32(runs.length)
  page.raw(runs.bytes.subarray(0, runs.length))
}

function writeValues(page: ByteWriter, type: ColumnType, values: ParquetColumn['values']): void {
  if (type === 'boolean') {
    writeBits(page, values)
    return
  }
  for (const value of values) {
    if (value === null) continue
    if (type === 'number') page.float64(Number(value))
    else if (type === 'time') page.int53(Number(value))
    else writeText(page, String(value))
  }
}

const encoder = new TextEncoder()

function writeText(page: ByteWriter, value: string): void {
  const bytes = encoder.encode(value)
  page.uint32(bytes.length)
  page.raw(bytes)
}

/** Booleans are bits, the first one the lowest. */
function writeBits(page: ByteWriter, values: ParquetColumn['values']): void {
  const present = values.filter((value) => value !== null)
  for (let at = 0; at < present.length; at += 8) {
    let byte = 0
    for (const [bit, value] of present.slice(at, at + 8).entries()) {
      if (value === true) byte |= 1 << bit
    }
    page.uint8(byte)
  }
}
