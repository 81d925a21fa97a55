import { FEATURED_SIDES, featuresAt, featuresSaid } from '../../kinds/als/features-file.ts'
import { topicNamed } from '../../kinds/als/features-topic.ts'
import type { Hyperparameters } from '../../models/registry/version.ts'
import type { BmfOptions } from '../../training/bmf/options.ts'
import type { FeatureTable } from '../../training/data/feature-table.ts'
import type { Flags, OptionSpec } from '../command/command.ts'
import { type DataFileKind, readDataFile } from '../files/data-file.ts'
import { inputOrTopic } from '../flag-kinds/places.ts'
import { topicsOf } from '../flags/kafka.ts'

/** Flags of the files of features of a Bayesian factorisation. */
const FILE_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  'item-features': {
    type: 'string',
    value: inputOrTopic(),
    help: 'File of features of items: a line that names the columns, then "id,value,..." with numbers, categories, or several ("drama|war"); or topic:NAME, with the id as key and a JSON object of columns as value',
  },
  'user-features': {
    type: 'string',
    value: inputOrTopic(),
    help: 'File or topic of features of users, in the same form; ids without ratings get a row from their features',
  },
}

/** Flags of the features of a Bayesian factorisation. */
export const FEATURES_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  ...FILE_OPTIONS,
  'who-rated': {
    type: 'boolean',
    help: 'Who rated what is a feature of users and items: better where the pairs to come are like those that were rated, worse by time',
  },
}

const INHERITED_HELP = ' (default: the file of the live version, as it is now)'

/** The flags of a retraining, which goes on with the features of the live version. */
export const INHERITED_FEATURES_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  ...Object.fromEntries(
    Object.entries(FILE_OPTIONS).map(([name, spec]) => [
      name,
      { ...spec, help: `bmf: ${spec.help}${INHERITED_HELP}` },
    ]),
  ),
  'no-features': {
    type: 'boolean',
    excludes: Object.keys(FILE_OPTIONS),
    help: 'bmf: train without the files of features of the live version',
  },
}

const FEATURES_FILE: DataFileKind = {
  content: 'features',
  hint: 'the path or hdfs:// URL of a file of lines, or of a Parquet or Arrow file',
}

/** The features of the flags. Throws INVALID_ARGUMENT, UNPARSABLE_RECORD, EMPTY_DATASET; errors name the file. */
export async function featuresOf(
  flags: Flags,
): Promise<Pick<BmfOptions, 'userFeatures' | 'itemFeatures' | 'whoRated'>> {
  const [userFeatures, itemFeatures] = [
    await featuresNamed(flags, 'user-features'),
    await featuresNamed(flags, 'item-features'),
  ]
  return {
    ...(userFeatures === undefined ? {} : { userFeatures }),
    ...(itemFeatures === undefined ? {} : { itemFeatures }),
    ...(flags.boolean('who-rated') ? { whoRated: true } : {}),
  }
}

/** What a version says of its features: the files of the flags, which a retraining reads again. */
export async function saidFeatures(flags: Flags, given: BmfOptions): Promise<Hyperparameters> {
  const said = FEATURED_SIDES.map(async (side) => {
    const features = side === 'user' ? given.userFeatures : given.itemFeatures
    if (features === undefined) return {}
    const place = flags.string(`${side}-features`)
    return await featuresSaid(side, { place, features }, () => topicsOf(flags))
  })
  const whoRated = given.whoRated === true ? { whoRated: true } : {}
  return { ...Object.assign({}, ...(await Promise.all(said))), ...whoRated }
}

async function featuresNamed(flags: Flags, flag: string): Promise<FeatureTable | undefined> {
  const place = flags.optional(flag)
  if (place === undefined) return undefined
  const read = (named: string): Promise<FeatureTable> => featuresAt(named, () => topicsOf(flags))
  if (topicNamed(place) !== undefined) return await read(place)
  return await readDataFile(place, FEATURES_FILE, read)
}
