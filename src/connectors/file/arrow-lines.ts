import type { Field as ArrowField, RecordBatch, Schema } from 'apache-arrow'
import { WeirError } from '../../core/errors.ts'
import { type FieldsOf, fieldsOfColumn } from './arrow-columns.ts'
import { ArrowMessages } from './arrow-messages.ts'
import { type Arrow, loadArrow, wholeArrow } from './arrow-package.ts'
import type { LineFileInput } from './line-folder.ts'
import { headerOf, linesOf, PIECE_LINES } from './table-lines.ts'

/**
 * The rows of an Arrow file (Feather) or stream as lines of csv behind a header with the names of its columns. Batches are
 * read one at a time; the fields of columns at other positions than those of `wanted`, which is asked once the header is
 * taken, are empty. Throws MALFORMED_DATA for a file that is damaged or cut off, or has a wanted column of another type
 * than text, number or time, and UNSUPPORTED without the package apache-arrow.
 */
export async function* arrowLines(
  input: LineFileInput,
  place: string,
  wanted: () => ReadonlySet<number> | undefined,
): AsyncGenerator<Uint8Array> {
  const arrow = await loadArrow(place)
  const messages = new ArrowMessages(input, (file) => schemaOf(arrow, file))
  const reader = await wholeArrow(place, async () => {
    const opened = await arrow.RecordBatchReader.from(messages.read())
    return await opened.open()
  })
  const { fields } = await wholeArrow(place, () => requireColumns(reader.schema))
  yield await wholeArrow(place, () => headerOf(fields.map(({ name }) => name)))
  const positions = wanted()
  const columns = await wholeArrow(place, () =>
    fields.map((field, at) =>
      positions?.has(at) === false ? undefined : readColumn(arrow, field, place),
    ),
  )
  let rows = 0
  for (;;) {
    const batch = await wholeArrow(place, async () => {
      const next = await reader.next()
      if (next.done !== true) return next.value
      requireAllRows(messages, rows)
      return undefined
    })
    if (batch === undefined) return
    rows += batch.numRows
    const own = await wholeArrow(place, () => fieldsOf(batch, columns))
    for (let from = 0; from < batch.numRows; from += PIECE_LINES) {
      const to = Math.min(batch.numRows, from + PIECE_LINES)
      yield await wholeArrow(place, () => linesOf(own, from, to))
    }
  }
}

/** Bytes of the mark of the end of a stream. */
const END_BYTES = 8

/** The schema in the footer of a file, as a message. */
function schemaOf(arrow: Arrow, file: Uint8Array): Uint8Array {
  const { schema } = arrow.RecordBatchReader.from(file).open()
  return arrow.tableToIPC(new arrow.Table(schema), 'stream').subarray(0, -END_BYTES)
}

function requireColumns(schema: Schema | undefined): Schema {
  if (schema !== undefined && schema.fields.length > 0) return schema
  throw new Error('it has no columns')
}

/** Throws where the library has other rows than the file, or has ended before it: rows would be missing without a word. */
function requireAllRows({ isAtEnd, rows: all }: ArrowMessages, rows: number): void {
  if (!isAtEnd || rows !== all) throw new Error(`${rows} of ${all} rows`)
}

/** The fields of the columns in a batch; undefined columns have empty ones. */
function fieldsOf(batch: RecordBatch, columns: readonly (FieldsOf | undefined)[]) {
  return columns.map((column, at) => {
    if (column === undefined) return () => ''
    const data = batch.data.children[at]
    if (data?.length !== batch.numRows) {
      throw new Error(`${data?.length ?? 0} of ${batch.numRows} rows of a column`)
    }
    return column(data)
  })
}

/** Throws MALFORMED_DATA for a column that is not read. */
function readColumn(arrow: Arrow, { name, type }: ArrowField, place: string): FieldsOf {
  const fields = fieldsOfColumn(arrow, type)
  if (typeof fields === 'function') return fields
  throw new WeirError(
    'MALFORMED_DATA',
    `the column "${name}" of ${place} is ${fields.problem}, which is not read; read others (--columns), or write the file with columns of text, numbers and times`,
    { details: { path: place, column: name } },
  )
}
