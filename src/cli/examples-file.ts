import { readPieces } from '../connectors/file/open-line-folder.ts'
import { WeirError } from '../core/errors.ts'
import { readLibsvm } from '../training/read-libsvm.ts'
import type { SparseTable } from '../training/sparse-table.ts'
import { readDataFile } from './data-file.ts'

/**
 * The examples of a file that a flag names, a path or an `hdfs://` URL. Throws INVALID_ARGUMENT when it cannot be read,
 * UNPARSABLE_RECORD and EMPTY_DATASET when it holds no examples; all name the file.
 */
export async function examplesOfFile(path: string): Promise<SparseTable> {
  const hint = 'the path or hdfs:// URL of a LIBSVM text file'
  const { table } = await readDataFile(path, 'examples', hint, (file) =>
    readLibsvm(readPieces(file)),
  )
  if (table.rows > 0) return table
  throw new WeirError(
    'EMPTY_DATASET',
    `${path} holds no examples; give one "label feature:value ..." a line`,
  )
}
