import { scanTopic } from '../connectors/topics/scan-topic.ts'
import type { TopicStore } from '../connectors/topics/topic-store.ts'
import {
  decodeMarker,
  isMarkerKey,
  type ModelVersionMarker,
} from '../models/model-version-marker.ts'

/** The highest version that a model topic speaks of, complete or not; 0 where there is none. */
export async function highestVersion(topics: TopicStore, topic: string): Promise<number> {
  let highest = 0
  if (!(await topics.has(topic))) return highest
  await scanTopic(topics, topic, (record) => {
    const key = record.key()
    const value = record.value()
    if (key !== null && value !== null && isMarkerKey(key)) {
      highest = Math.max(highest, decodeMarker(value).version)
    }
    return true
  })
  return highest
}

/** Versions of a model topic that are complete, ascending. */
export async function readyVersions(
  topics: TopicStore,
  topic: string,
): Promise<readonly ModelVersionMarker[]> {
  const versions = new Map<number, ModelVersionMarker>()
  await scanTopic(topics, topic, (record) => {
    const key = record.key()
    const value = record.value()
    if (key !== null && value !== null && isMarkerKey(key)) {
      const marker = decodeMarker(value)
      if (marker.event === 'ready') versions.set(marker.version, marker)
      if (marker.event === 'retire') versions.delete(marker.version)
    }
    return true
  })
  return [...versions.values()].sort((a, b) => a.version - b.version)
}
