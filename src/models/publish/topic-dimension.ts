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
 * Throws DIMENSION_MISMATCH if a topic has rows of another length than `made`: such a version would never go
 * live. `remedy` says what to change.
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

/**
 * Throws DIMENSION_MISMATCH if the rows of a topic have another length than those of the training
 * options: such a version would never go live.
 */
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
