import { scanTopic } from '../../connectors/topics/scan.ts'
import type { TopicStore } from '../../connectors/topics/store.ts'
import { WeirError } from '../../core/errors.ts'
import { HIGHEST_VERSION } from '../../core/model-version.ts'
import { requireWholeNumber } from '../../core/whole-number.ts'
import { isMarkerKey, readableMarker } from '../../models/registry/version-marker.ts'
import {
  hasVersion,
  joinedRanges,
  type VersionRanges,
} from '../../models/registry/version-ranges.ts'

/** Number under which a version is published. */
export interface VersionChoice {
  /** 1 to `HIGHEST_VERSION`. @default one above the highest version of the topic */
  readonly version?: number | undefined
  /** The default is also above this number. @default 0 */
  readonly after?: number
  /** Replace the rows of a version that exists. Readers of that version see both during the change. */
  readonly overwrite?: boolean
}

/**
 * The number that a choice selects in a model topic. Throws VERSION_EXISTS if the topic has the complete
 * version, or had it, unless the choice is to overwrite it; INVALID_ARGUMENT if the number is out of range.
 */
export async function versionToPublish(
  topics: TopicStore,
  topic: string,
  { version, after = 0, overwrite = false }: VersionChoice,
): Promise<number> {
  const { highest, isComplete } = await publishedVersions(topics, topic)
  const next = Math.max(highest, after) + 1
  const chosen = version ?? next
  requireWholeNumber('version', chosen, { min: 1, max: HIGHEST_VERSION })
  if (overwrite || !isComplete(chosen)) return chosen
  throw new WeirError(
    'VERSION_EXISTS',
    `topic ${topic} in ${topics.place} has version ${chosen} already, and a version never changes; leave out the version to publish as ${next}, or set --overwrite`,
    { details: { version: chosen, next } },
  )
}

/** The highest number with a marker, and the versions that are or were complete. */
async function publishedVersions(
  topics: TopicStore,
  topic: string,
): Promise<{
  readonly highest: number
  readonly isComplete: (version: number) => boolean
}> {
  let highest = 0
  const complete = new Set<number>()
  let forgotten: VersionRanges = []
  if (!(await topics.has(topic))) return { highest: 0, isComplete: () => false }
  await scanTopic(topics, topic, (record) => {
    const key = record.key()
    const value = record.value()
    if (key === null || value === null || !isMarkerKey(key)) return true
    const marker = readableMarker(value)
    if (marker === undefined) return true
    if (marker.event !== 'announce') complete.add(marker.version)
    highest = Math.max(highest, marker.version)
    forgotten = joinedRanges([forgotten, marker.forgotten ?? []])
    return true
  })
  return {
    highest: Math.max(highest, forgotten.at(-1)?.[1] ?? 0),
    isComplete: (version) => complete.has(version) || hasVersion(forgotten, version),
  }
}
