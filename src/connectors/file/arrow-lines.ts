import type { Field as ArrowField, RecordBatch } from 'apache-arrow'
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
  const messages = new ArrowMessages(input)
  const reader = await wholeArrow(place, async () => {
    const opened = await arrow.RecordBatchReader.from(messages.read())
    return await opened.open()
  })
  const { fields } = await wholeArrow(place, () => requireSchema(reader.schema))
  yield headerOf(fields.map(({ name }) => name))
  const positions = wanted()
  const columns = fields.map((field, at) =>
    positions?.has(at) === false ? undefined : readColumn(arrow, field, place),
  )
  let batches = 0
  for (;;) {
    const batch = await wholeArrow(place, async () => {
      const next = await reader.next()
      // The library makes up an empty batch where there is none.
      if (next.done !== true && messages.batches > 0) batches++
      else if (next.done === true) requireAllBatches(messages, batches)
      return next.done === true ? undefined : next.value
    })
    if (batch === undefined) return
    const own = await wholeArrow(place, () => fieldsOf(batch, columns))
    for (let from = 0; from < batch.numRows; from += PIECE_LINES) {
      const to = Math.min(batch.numRows, from + PIECE_LINES)
      yield await wholeArrow(place, () => linesOf(own, from, to))
    }
  }
}

function requireSchema<T>(schema: T | undefined): T {
  if (schema !== undefined) return schema
  throw new Error('it has no schema')
}

/** Throws where the library has ended before the file did: rows would be missing without a word. */
function requireAllBatches({ isAtEnd, batches: all }: ArrowMessages, read: number): void {
  if (!isAtEnd || read !== all) throw new Error(`${read} of ${all} batches of rows`)
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
