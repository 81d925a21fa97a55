import { createReadStream } from 'node:fs'
import { LibsvmParser, type LibsvmParserOptions } from '../models/libsvm-format.ts'
import { type SparseTable, SparseTableBuilder } from './sparse-table.ts'

/** A file of examples in memory. */
export interface ReadExamples {
  readonly table: SparseTable
  readonly lines: number
  /** Lines left out; only with `badLines: 'count'`. */
  readonly badLines: number
}

/**
 * Streams a LIBSVM file into a table; the text is never in memory as a whole. Throws
 * UNPARSABLE_RECORD with the line number, and the file system's own errors.
 */
export async function readLibsvm(
  path: string | URL,
  options: LibsvmParserOptions = {},
): Promise<ReadExamples> {
  const builder = new SparseTableBuilder()
  const parser = new LibsvmParser(
    (label, indexes, values, count) => builder.add(label, indexes, values, count),
    options,
  )
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 18 })) {
    parser.push(chunk as Uint8Array)
  }
  parser.end()
  return { table: builder.build(), lines: parser.lineCount, badLines: parser.badLineCount }
}
