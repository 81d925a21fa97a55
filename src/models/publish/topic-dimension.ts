import { scanTopic } from '../../connectors/topics/scan.ts'
import type { TopicStore } from '../../connectors/topics/store.ts'
import { requireArgument, WeirError } from '../../core/errors.ts'
import {
  type FeatureHashing,
  hashingOf,
  hashingText,
  isSameHashing,
} from '../../core/features/hashing.ts'
import { BIAS_COLUMNS } from '../als/row.ts'
import { isLinear } from '../registry/version.ts'
import { isMarkerKey, readableMarker } from '../registry/version-marker.ts'
import { floatsOfRow } from '../topic/row-form.ts'
import { type PublishedVersions, publishedVersions } from '../versions/model-versions.ts'

/**
 * Floats of a row in a model topic, from its first version marker or its first row. Throws
 * EMPTY_DATASET if the topic has neither.
 */
export async function dimensionOfTopic(topics: TopicStore, topic: string): Promise<number> {
  let dimension: number | undefined
  await scanTopic(topics, topic, (record) => {
    const key = record.key()
    const value = record.value()
    if (value === null) return true
    if (key !== null && isMarkerKey(key)) dimension = readableMarker(value)?.dimension
    else dimension = floatsOfRow(key, value, () => record.headers())
    return dimension === undefined
  })
  if (dimension !== undefined) return dimension
  throw new WeirError(
    'EMPTY_DATASET',
    `topic "${topic}" has no model row; publish a version first, or give the dimension where the command takes it`,
  )
}

/** Length of the rows of a version, and what to change where a topic has others. */
interface MadeRows {
  readonly made: number
  readonly remedy: (held: number) => string
}

/**
 * Throws DIMENSION_MISMATCH if a topic has rows of another length than `made`, of a model whose versions all have rows of
 * one length: such a version would never go live. `remedy` says what to change.
 */
export async function requireDimension(
  topics: TopicStore,
  topic: string,
  rows: MadeRows,
): Promise<void> {
  if (!(await topics.has(topic))) return
  const first = await dimensionOfTopic(topics, topic).catch(() => rows.made)
  // The first marker may be that of a version that was deleted.
  if (first !== rows.made) {
    await requireDimensionOf(topics, topic, rows, await publishedVersions(topics, topic))
  }
}

/** As `requireDimension`, for versions that were read: versions that are gone or never were complete do not count. */
export async function requireDimensionOf(
  topics: TopicStore,
  topic: string,
  { made, remedy }: MadeRows,
  { highest, ready }: PublishedVersions,
): Promise<void> {
  // Without markers, a program writes rows to the topic itself.
  const rows = async (): Promise<number> =>
    highest > 0 ? made : await dimensionOfTopic(topics, topic).catch(() => made)
  const held = ready[0]?.dimension ?? (await rows())
  if (held === made) return
  throw new WeirError(
    'DIMENSION_MISMATCH',
    `topic ${topic} in ${topics.place} has rows of ${held} floats, but this model has rows of ${made}; ${remedy(held)}`,
  )
}

/**
 * Throws DIMENSION_MISMATCH where a version of factor rows cannot be one of a topic: the topic has weights of a linear model,
 * or the version replaces one of the same number whose rows have another length, which jobs may be serving. Otherwise each
 * version has rows of its own length.
 */
export function requireFactorRows(
  topic: string,
  { version, made }: { readonly version: number; readonly made: number },
  { ready }: Pick<PublishedVersions, 'ready'>,
): void {
  const [first] = ready
  if (first !== undefined && isLinear(first)) {
    throw new WeirError(
      'DIMENSION_MISMATCH',
      `topic ${topic} has blocks of ${first.dimension} weights of a linear model, but this model has rows of ${made} factors; use another topic`,
    )
  }
  const replaced = ready.find((marker) => marker.version === version)
  if (replaced === undefined || replaced.dimension === made) return
  throw new WeirError(
    'DIMENSION_MISMATCH',
    `version ${version} of topic ${topic} has rows of ${replaced.dimension} floats, but this model has rows of ${made}; publish it under a new number`,
  )
}

/**
 * Throws INVALID_ARGUMENT if the versions of a topic hash the names of features in another way than a new one: who asks
 * a model of this name, or learns it, does not look at the version.
 */
export function requireHashingOf(
  topic: string,
  made: FeatureHashing | undefined,
  { ready }: Pick<PublishedVersions, 'ready'>,
): void {
  const [first] = ready
  if (first === undefined) return
  const held = hashingOf(first.hyperparameters)
  requireArgument(
    isSameHashing(held, made),
    `version ${first.version} of topic ${topic} has ${hashingText(held)}, but this one has ${hashingText(made)}; all versions of a model hash alike: use another topic`,
  )
}

/** As `requireFactorRows`, before a training with these options; rows as long as the first ones of the topic need no look. */
export async function refuseOtherRows(
  topics: TopicStore,
  topic: string,
  {
    factors,
    biases,
    version,
  }: { readonly factors?: number; readonly biases?: boolean; readonly version: number },
): Promise<void> {
  if (factors === undefined || !(await topics.has(topic))) return
  const made = factors + (biases === true ? BIAS_COLUMNS : 0)
  const first = await dimensionOfTopic(topics, topic).catch(() => made)
  if (first === made) return
  requireFactorRows(topic, { version, made }, await publishedVersions(topics, topic))
}

/** Throws DIMENSION_MISMATCH if the rows of a topic have another length than those of the training options. */
export async function refuseOtherDimension(
  topics: TopicStore,
  topic: string,
  { factors, biases }: { readonly factors?: number; readonly biases?: boolean },
): Promise<void> {
  if (factors === undefined) return
  const columns = biases === true ? BIAS_COLUMNS : 0
  await requireDimension(topics, topic, {
    made: factors + columns,
    remedy: (held) =>
      `train with --factors ${held - columns}, or use another --topic or --data-dir`,
  })
}
