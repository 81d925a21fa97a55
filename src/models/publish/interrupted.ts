import { scanTopic } from '../../connectors/topics/scan.ts'
import type { TopicStore } from '../../connectors/topics/store.ts'
import type { Clock } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import {
  type ModelVersionMarker,
  readableMarker,
  versionOfMarkerKey,
} from '../registry/version-marker.ts'
import { retireVersions } from '../retention/retire-versions.ts'
import { type CollectOptions, collectUnfinished } from '../retention/unfinished.ts'
import { type PublishedVersions, unfinishedVersions } from '../versions/model-versions.ts'

/** Options of `collectBefore`. */
export type CollectBeforeOptions = Omit<CollectOptions, 'onFound'> & {
  readonly onWarning?: ((warning: string) => void) | undefined
}

/** Deletes what interrupted publications have left, before the next one; returns the versions. */
export async function collectBefore(
  topics: TopicStore,
  { onWarning, ...options }: CollectBeforeOptions,
): Promise<readonly number[]> {
  const onFound = (versions: readonly number[]): void =>
    onWarning?.(
      `the rows of version ${versions.join(', ')} of ${options.model} are deleted, because its publication or deletion was interrupted`,
    )
  return (await collectUnfinished(topics, { ...options, onFound })).numbers
}

/**
 * Deletes what an interrupted publication has left of a version that is published again: rows of both would be one
 * version. Throws ILLEGAL_STATE if that publication goes on.
 */
export async function clearIncomplete(
  topics: TopicStore,
  topic: string,
  {
    version,
    published,
    clock,
  }: { readonly version: number; readonly published: PublishedVersions; readonly clock: Clock },
): Promise<void> {
  const all = unfinishedVersions(published, undefined, clock.nowMs())
  const left = all.find(({ marker }) => marker.version === version)
  if (left === undefined || published.isComplete(version)) return
  if (left.publisher === 'running') {
    throw new WeirError(
      'ILLEGAL_STATE',
      `version ${version} of ${topic} is being published by another process; end that process first, or leave out the version`,
    )
  }
  await retireVersions(topics, topic, { versions: [version], clock })
}

/** Where the markers of one publication begin: the end of partition 0 before it. Each marker is in every partition. */
export interface PublicationStart {
  readonly version: number
  readonly nextOffset: number
}

/**
 * Throws ILLEGAL_STATE if a version was dropped while it was published, by a person who believed that its publisher has
 * ended: its rows are gone.
 */
export async function requireKept(
  topics: TopicStore,
  topic: string,
  start: PublicationStart,
): Promise<void> {
  const markers = await markersSince(topics, topic, start)
  if (!markers.some(({ event }) => event === 'retire')) return
  throw new WeirError(
    'ILLEGAL_STATE',
    `version ${start.version} of ${topic} was dropped while it was published; publish it again under another number`,
  )
}

/** Whether another process than `process` has begun to publish the version meanwhile. */
export async function isTakenOver(
  topics: TopicStore,
  topic: string,
  { process, ...start }: PublicationStart & { readonly process: string },
): Promise<boolean> {
  const markers = await markersSince(topics, topic, start)
  return markers.some(({ publisher }) => publisher !== undefined && publisher.process !== process)
}

async function markersSince(
  topics: TopicStore,
  topic: string,
  { version, nextOffset }: PublicationStart,
): Promise<readonly ModelVersionMarker[]> {
  const markers: ModelVersionMarker[] = []
  await scanTopic(
    topics,
    topic,
    (record) => {
      const key = record.key()
      const value = record.value()
      if (key === null || value === null || versionOfMarkerKey(key) !== version) return true
      markers.push(...[readableMarker(value)].filter((marker) => marker !== undefined))
      return true
    },
    [{ partition: 0, nextOffset }],
  )
  return markers
}
