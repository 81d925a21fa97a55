import { openRows } from '../../connectors/file/open-rows.ts'
import { WeirError } from '../../core/errors.ts'
import { readFeatures } from '../../training/data/read-features.ts'
import { type DataFileKind, readDataFile } from './data-file.ts'

const COHORTS_FILE: DataFileKind = {
  content: 'cohorts',
  hint: 'the path or hdfs:// URL of a file of lines, or of a Parquet file',
}

/**
 * Groups of users by name, `column=value`, of a file in the form of the features of users: each value of a column of
 * categories is a group. Columns of numbers are none and are left out. Throws INVALID_ARGUMENT where the file cannot be read
 * or has numbers only, UNPARSABLE_RECORD with the line, EMPTY_DATASET.
 */
export async function cohortsOfFile(
  place: string,
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const { ids, names, offsets, features } = await readDataFile(
    place,
    COHORTS_FILE,
    async (path) => {
      const { pieces } = await openRows(path, { wanted: () => undefined })
      return await readFeatures(pieces)
    },
  )
  const cohorts = new Map<string, Set<string>>()
  for (const [row, id] of ids.entries()) {
    for (const feature of features.subarray(offsets[row], offsets[row + 1])) {
      const name = names[feature]!
      if (!name.includes('=')) continue
      const known = cohorts.get(name) ?? new Set()
      cohorts.set(name, known.add(id))
    }
  }
  if (cohorts.size > 0) return cohorts
  throw new WeirError(
    'INVALID_ARGUMENT',
    `${place} has columns of numbers only, which are no groups of users; name a column of numbers that are groups with the ending :category, such as age:category`,
  )
}
