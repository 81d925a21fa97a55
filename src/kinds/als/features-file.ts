import { createHash } from 'node:crypto'
import { resolve } from 'node:path'
import { withoutSettings } from '../../connectors/file/list.ts'
import { readStored } from '../../connectors/file/open-folder.ts'
import { openRows } from '../../connectors/file/open-rows.ts'
import { WeirError } from '../../core/errors.ts'
import type { Hyperparameters } from '../../models/registry/version.ts'
import type { FeatureTable } from '../../training/data/feature-table.ts'
import { readFeatures } from '../../training/data/read-features.ts'
import type { RetrainAlsOptions } from './options.ts'

/** The sides of a factorisation whose rows may have features of a file. */
export const FEATURED_SIDES = ['user', 'item'] as const

/** Features of a file at a path or URL: lines, Parquet or Arrow. Throws UNPARSABLE_RECORD, EMPTY_DATASET, and errors of the file. */
export async function featuresAt(place: string): Promise<FeatureTable> {
  const { pieces } = await openRows(place, { wanted: () => undefined })
  return await readFeatures(pieces)
}

/** What a version says of the features of a side, so that a retraining reads them again. */
export async function featuresSaid(
  side: (typeof FEATURED_SIDES)[number],
  place: string,
  features: FeatureTable,
): Promise<Hyperparameters> {
  return {
    [`${side}Features`]: features.names.length,
    [`${side}FeaturesFile`]: absolute(place),
    [`${side}FeaturesSha256`]: await sha256Of(place),
  }
}

/** The place of a file for a command in another folder. */
function absolute(place: string): string {
  return place.includes('://') ? withoutSettings(place) : resolve(place)
}

/** The options with the hashes of their files as they are now. Throws INVALID_ARGUMENT for one that cannot be read. */
export async function withFeatureHashes(als: RetrainAlsOptions): Promise<RetrainAlsOptions> {
  const { userFeaturesFile, itemFeaturesFile } = als
  const [userFeaturesSha256, itemFeaturesSha256] = [
    await hashFor('user', userFeaturesFile),
    await hashFor('item', itemFeaturesFile),
  ]
  return {
    ...als,
    ...(userFeaturesSha256 === undefined ? {} : { userFeaturesSha256 }),
    ...(itemFeaturesSha256 === undefined ? {} : { itemFeaturesSha256 }),
  }
}

async function hashFor(side: string, place: string | undefined): Promise<string | undefined> {
  if (place === undefined) return undefined
  try {
    return await sha256Of(place)
  } catch (cause) {
    throw new WeirError(
      'INVALID_ARGUMENT',
      `the features of ${side}s at ${withoutSettings(place)} cannot be read: give --${side}-features FILE, or leave features out with --no-features`,
      { cause },
    )
  }
}

async function sha256Of(place: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const piece of readStored(place)) hash.update(piece)
  return hash.digest('hex')
}
