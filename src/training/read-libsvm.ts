import { LibsvmParser, type LibsvmParserOptions } from '../models/libsvm-format.ts'
import { bytesOf, type FileBytes } from './file-bytes.ts'
import { type SparseTable, SparseTableBuilder } from './sparse-table.ts'

/** A file of examples in memory. */
export interface ReadExamples {
  readonly table: SparseTable
  readonly lines: number
  /** Lines left out; only with `badLines: 'count'`. */
  readonly badLines: number
}

/**
 * Streams a LIBSVM file, given by its path or as its bytes, into a table; the text is never in memory as a whole. Throws
 * UNPARSABLE_RECORD with the line number, and the file system's own errors.
 */
export async function readLibsvm(
  file: FileBytes,
  options: LibsvmParserOptions = {},
): Promise<ReadExamples> {
  const builder = new SparseTableBuilder()
  const parser = new LibsvmParser(
    (label, indexes, values, count) => builder.add(label, indexes, values, count),
    options,
  )
  for await (const piece of bytesOf(file)) parser.push(piece)
  parser.end()
  return { table: builder.build(), lines: parser.lineCount, badLines: parser.badLineCount }
}
