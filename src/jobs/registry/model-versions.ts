import { scanTopic } from '../../connectors/topics/scan.ts'
import type { TopicStore } from '../../connectors/topics/store.ts'
import {
  type ModelVersionMarker,
  readableMarker,
  versionOfMarkerKey,
} from '../../models/registry/version-marker.ts'
import {
  hasVersion,
  joinedRanges,
  type VersionRanges,
} from '../../models/registry/version-ranges.ts'

/** What the markers of a model topic say. */
export interface PublishedVersions {
  /** The highest number that a version has, or had. */
  readonly highest: number
  /** Whether a version is or was complete. */
  readonly isComplete: (version: number) => boolean
  /** Markers of the versions that are complete, ascending. */
  readonly ready: readonly ModelVersionMarker[]
}

/** Reads the markers of a topic, which is read whole; none if it does not exist. */
export async function publishedVersions(
  topics: TopicStore,
  topic: string,
): Promise<PublishedVersions> {
  let highest = 0
  const complete = new Set<number>()
  const ready = new Map<number, ModelVersionMarker>()
  let forgotten: VersionRanges = []
  if (!(await topics.has(topic))) return { highest: 0, isComplete: () => false, ready: [] }
  await scanTopic(topics, topic, (record) => {
    const key = record.key()
    const version = key === null ? undefined : versionOfMarkerKey(key)
    if (version === undefined) return true
    const value = record.value()
    if (value === null) ready.delete(version)
    const marker = value === null ? undefined : readableMarker(value)
    if (marker === undefined) return true
    if (marker.event === 'ready') ready.set(version, marker)
    if (marker.event === 'retire') ready.delete(version)
    if (marker.event !== 'announce') complete.add(version)
    highest = Math.max(highest, version)
    forgotten = joinedRanges([forgotten, marker.forgotten ?? []])
    return true
  })
  return {
    highest: Math.max(highest, forgotten.at(-1)?.[1] ?? 0),
    isComplete: (version) => complete.has(version) || hasVersion(forgotten, version),
    ready: [...ready.values()].sort((a, b) => a.version - b.version),
  }
}

/** Markers of the complete versions of a model topic, ascending; the topic is read whole. */
export async function readyVersions(
  topics: TopicStore,
  topic: string,
): Promise<readonly ModelVersionMarker[]> {
  return (await publishedVersions(topics, topic)).ready
}
