import { readPieces } from '../connectors/file/open-line-folder.ts'
import { WeirError } from '../core/errors.ts'
import type { RatingsTable } from '../training/ratings-table.ts'
import { type ReadRatings, readRatings } from '../training/read-ratings.ts'
import { readDataFile } from './data-file.ts'

/**
 * The ratings of a file that a flag names, a path or an `hdfs://` URL. Throws INVALID_ARGUMENT when it cannot be read,
 * UNPARSABLE_RECORD and EMPTY_DATASET when it holds no ratings; all name the file.
 */
export async function ratingsOfFile(path: string): Promise<RatingsTable> {
  const hint = 'the path of a u.data, ratings.dat or ratings.csv'
  const read = (file: string): Promise<ReadRatings> => readRatings(readPieces(file))
  const { table } = await readDataFile(path, 'ratings', hint, read)
  if (table.size > 0) return table
  throw new WeirError(
    'EMPTY_DATASET',
    `${path} holds no ratings; give one "user item rating" a line`,
  )
}
