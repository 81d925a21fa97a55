import {
  decodeMarker,
  isMarkerKey,
  type ModelVersionMarker,
} from '../models/model-version-marker.ts'
import { scanTopic } from './bounded-topic-scan.ts'

/** Versions of a model topic that are complete, ascending. */
export async function readyVersions(
  directory: string,
  topic: string,
): Promise<readonly ModelVersionMarker[]> {
  const versions = new Map<number, ModelVersionMarker>()
  await scanTopic(directory, topic, (key, value) => {
    if (key !== null && value !== null && isMarkerKey(key)) {
      const marker = decodeMarker(value)
      if (marker.event === 'ready') versions.set(marker.version, marker)
    }
    return true
  })
  return [...versions.values()].sort((a, b) => a.version - b.version)
}
