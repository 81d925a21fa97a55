import { checkArgument } from '../../core/options/shape.ts'
import { LibsvmParser, type LibsvmParserOptions } from '../../models/linear/libsvm-format.ts'
import { type FileBytes, parseFile } from './file-bytes.ts'
import { FILE_BYTES } from './kinds.ts'
import { type SparseTable, SparseTableBuilder } from './sparse-table.ts'

/** A file of examples in memory. */
export interface ReadExamples {
  readonly table: SparseTable
  readonly lines: number
  /** Lines left out; only with `badLines: 'count'`. */
  readonly badLines: number
}

/**
 * Reads a LIBSVM file in pieces into a table, so that the text is never in memory as a whole. Throws
 * UNPARSABLE_RECORD with the line number, and errors of the file system.
 */
export async function readLibsvm(
  file: FileBytes,
  options: LibsvmParserOptions = {},
): Promise<ReadExamples> {
  checkArgument('readLibsvm', 'file', FILE_BYTES, file)
  const builder = new SparseTableBuilder()
  const { lines, badLines } = await addExamples(builder, file, options)
  return { table: builder.build(), lines, badLines }
}

/** Takes examples one by one; only the first `count` ids and values are valid. */
export interface ExamplesTarget {
  /** `importance`: how many examples this one counts for. */
  add(
    label: number,
    indexes: Uint32Array,
    values: Float32Array,
    count: number,
    importance: number,
  ): void
}

/** Adds the examples of one of several files to a table. Throws as `readLibsvm`. */
export async function addExamples(
  target: ExamplesTarget,
  file: FileBytes,
  options: LibsvmParserOptions = {},
): Promise<Omit<ReadExamples, 'table'> & Pick<LibsvmParser, 'missingNamespaces'>> {
  const parser = new LibsvmParser(
    (label, indexes, values, count, importance) =>
      target.add(label, indexes, values, count, importance),
    options,
  )
  const read = await parseFile(parser, file)
  return { ...read, missingNamespaces: parser.missingNamespaces }
}
