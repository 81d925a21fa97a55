import type { TopicStore } from '../../connectors/topics/store.ts'
import { WeirError } from '../../core/errors.ts'
import { HIGHEST_VERSION } from '../../core/model-version.ts'
import { requireWholeNumber } from '../../core/whole-number.ts'
import { type PublishedVersions, publishedVersions } from '../versions/model-versions.ts'

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
  choice: VersionChoice,
): Promise<number> {
  return chosenVersion(
    await publishedVersions(topics, topic),
    choice,
    `${topic} in ${topics.place}`,
  )
}

/** As `versionToPublish`, for versions that were read; `place`: of the topic, in words. */
export function chosenVersion(
  { highest, isComplete }: PublishedVersions,
  { version, after = 0, overwrite = false }: VersionChoice,
  place: string,
): number {
  const next = Math.max(highest, after) + 1
  const chosen = version ?? next
  requireWholeNumber('version', chosen, { min: 1, max: HIGHEST_VERSION })
  if (overwrite || !isComplete(chosen)) return chosen
  throw new WeirError(
    'VERSION_EXISTS',
    `topic ${place} has version ${chosen} already, and a version never changes; leave out the version to publish as ${next}, or set --overwrite`,
    { details: { version: chosen, next } },
  )
}
