import { readPieces } from '../connectors/file/open-line-folder.ts'
import { isWeirError, WeirError } from '../core/errors.ts'
import type { RatingsTable } from '../training/ratings-table.ts'
import { readRatings } from '../training/read-ratings.ts'

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder',
  EACCES: 'it may not be read',
}

/**
 * The ratings of a file that a flag names, a path or an `hdfs://` URL. Throws INVALID_ARGUMENT when it cannot be read,
 * UNPARSABLE_RECORD and EMPTY_DATASET when it holds no ratings; all name the file.
 */
export async function ratingsOfFile(path: string): Promise<RatingsTable> {
  let table: RatingsTable
  try {
    table = (await readRatings(readPieces(path))).table
  } catch (error) {
    if (isWeirError(error)) {
      throw new WeirError(error.code, `${path}: ${error.message}`, {
        cause: error,
        details: error.details,
      })
    }
    const reason = REASONS[(error as NodeJS.ErrnoException).code ?? '']
    if (reason === undefined) throw error
    throw new WeirError(
      'INVALID_ARGUMENT',
      `cannot read the ratings file ${path}: ${reason}; give the path of a u.data, ratings.dat or ratings.csv`,
      { cause: error },
    )
  }
  if (table.size > 0) return table
  throw new WeirError(
    'EMPTY_DATASET',
    `${path} holds no ratings; give one "user item rating" a line`,
  )
}
