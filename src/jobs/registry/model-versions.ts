import { scanTopic } from '../../connectors/topics/scan.ts'
import type { TopicStore } from '../../connectors/topics/store.ts'
import {
  type ModelVersionMarker,
  readableMarker,
  versionOfMarkerKey,
} from '../../models/registry/version-marker.ts'

/** Markers of the complete versions of a model topic, ascending. */
export async function readyVersions(
  topics: TopicStore,
  topic: string,
): Promise<readonly ModelVersionMarker[]> {
  const versions = new Map<number, ModelVersionMarker>()
  await scanTopic(topics, topic, (record) => {
    const key = record.key()
    const value = record.value()
    const version = key === null ? undefined : versionOfMarkerKey(key)
    if (version === undefined) return true
    const marker = value === null ? undefined : readableMarker(value)
    if (marker?.event === 'ready') versions.set(version, marker)
    if (value === null || marker?.event === 'retire') versions.delete(version)
    return true
  })
  return [...versions.values()].sort((a, b) => a.version - b.version)
}
