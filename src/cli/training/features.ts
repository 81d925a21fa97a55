import { openRows } from '../../connectors/file/open-rows.ts'
import type { BmfOptions } from '../../training/bmf/options.ts'
import type { FeatureTable } from '../../training/data/feature-table.ts'
import { readFeatures } from '../../training/data/read-features.ts'
import type { Flags, OptionSpec } from '../command/command.ts'
import { type DataFileKind, readDataFile } from '../files/data-file.ts'
import { input } from '../flag-kinds/places.ts'

/** Flags of the features of a Bayesian factorisation. */
export const FEATURES_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  'item-features': {
    type: 'string',
    value: input(),
    help: 'File of features of items: a line that names the columns, then "id,value,..." with numbers, categories, or several ("drama|war")',
  },
  'user-features': {
    type: 'string',
    value: input(),
    help: 'File of features of users, in the same form; ids without ratings get a row from their features',
  },
  'who-rated': {
    type: 'boolean',
    help: 'Who rated what is a feature of users and items: better where the pairs to come are like those that were rated, worse by time',
  },
}

const FEATURES_FILE: DataFileKind = {
  content: 'features',
  hint: 'the path or hdfs:// URL of a file of lines, or of a Parquet file',
}

/** The features of the flags. Throws INVALID_ARGUMENT, UNPARSABLE_RECORD, EMPTY_DATASET; errors name the file. */
export async function featuresOf(
  flags: Flags,
): Promise<Pick<BmfOptions, 'userFeatures' | 'itemFeatures' | 'whoRated'>> {
  const [userFeatures, itemFeatures] = [
    await featuresOfFile(flags.optional('user-features')),
    await featuresOfFile(flags.optional('item-features')),
  ]
  return {
    ...(userFeatures === undefined ? {} : { userFeatures }),
    ...(itemFeatures === undefined ? {} : { itemFeatures }),
    ...(flags.boolean('who-rated') ? { whoRated: true } : {}),
  }
}

async function featuresOfFile(place: string | undefined): Promise<FeatureTable | undefined> {
  if (place === undefined) return undefined
  return await readDataFile(place, FEATURES_FILE, async (file) => {
    const { pieces } = await openRows(file, { wanted: () => undefined })
    return await readFeatures(pieces)
  })
}
