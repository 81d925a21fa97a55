import { scanTopic } from '../connectors/topics/scan-topic.ts'
import type { TopicStore } from '../connectors/topics/topic-store.ts'
import {
  decodeMarker,
  isMarkerKey,
  type ModelVersionMarker,
} from '../models/model-version-marker.ts'

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
    }
    return true
  })
  return [...versions.values()].sort((a, b) => a.version - b.version)
}
