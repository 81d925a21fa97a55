import { createHash } from 'node:crypto'
import { resolve } from 'node:path'
import { withoutSettings } from '../../connectors/file/list.ts'
import { readStored } from '../../connectors/file/open-folder.ts'
import { openRows } from '../../connectors/file/open-rows.ts'
import { WeirError } from '../../core/errors.ts'
import type { Hyperparameters } from '../../models/registry/version.ts'
import { type FeatureTable, featureTable } from '../../training/data/feature-table.ts'
import { readFeatures } from '../../training/data/read-features.ts'
import { featureLinesOf, hashOfTopic, type OpenTopics, topicNamed } from './features-topic.ts'
import type { RetrainAlsOptions } from './options.ts'

/** The sides of a factorisation whose rows may have features of a file. */
export const FEATURED_SIDES = ['user', 'item'] as const

/**
 * Features of a file at a path or URL (lines, Parquet or Arrow), or of a topic, `topic:films`. Throws UNPARSABLE_RECORD,
 * EMPTY_DATASET, and errors of the file or of the topic.
 */
export async function featuresAt(place: string, topics: OpenTopics): Promise<FeatureTable> {
  const topic = topicNamed(place)
  if (topic !== undefined) return featureTable(await featureLinesOf(topic, topics))
  const { pieces } = await openRows(place, { wanted: () => undefined })
  return await readFeatures(pieces)
}

/** What a version says of the features of a side, so that a retraining reads them again. */
export async function featuresSaid(
  side: (typeof FEATURED_SIDES)[number],
  { place, features }: { readonly place: string; readonly features: FeatureTable },
  topics: OpenTopics,
): Promise<Hyperparameters> {
  return {
    [`${side}Features`]: features.names.length,
    [`${side}FeaturesFile`]: absolute(place),
    [`${side}FeaturesSha256`]: await sha256Of(place, topics),
  }
}

/** The place of a file for a command in another folder. */
function absolute(place: string): string {
  if (topicNamed(place) !== undefined) return place
  return place.includes('://') ? withoutSettings(place) : resolve(place)
}

/** The options with the hashes of their files as they are now. Throws INVALID_ARGUMENT for one that cannot be read. */
export async function withFeatureHashes(
  als: RetrainAlsOptions,
  topics: OpenTopics,
): Promise<RetrainAlsOptions> {
  const { userFeaturesFile, itemFeaturesFile } = als
  const [userFeaturesSha256, itemFeaturesSha256] = [
    await hashFor('user', userFeaturesFile, topics),
    await hashFor('item', itemFeaturesFile, topics),
  ]
  return {
    ...als,
    ...(userFeaturesSha256 === undefined ? {} : { userFeaturesSha256 }),
    ...(itemFeaturesSha256 === undefined ? {} : { itemFeaturesSha256 }),
  }
}

async function hashFor(
  side: string,
  place: string | undefined,
  topics: OpenTopics,
): Promise<string | undefined> {
  if (place === undefined) return undefined
  try {
    return await sha256Of(place, topics)
  } catch (cause) {
    throw new WeirError(
      'INVALID_ARGUMENT',
      `the features of ${side}s at ${withoutSettings(place)} cannot be read: give --${side}-features FILE, or leave features out with --no-features`,
      { cause },
    )
  }
}

async function sha256Of(place: string, topics: OpenTopics): Promise<string> {
  const topic = topicNamed(place)
  if (topic !== undefined) return await hashOfTopic(topic, topics)
  const hash = createHash('sha256')
  for await (const piece of readStored(place)) hash.update(piece)
  return hash.digest('hex')
}
