import { WeirError } from '../core/errors.ts'
import { decodeMarker, isMarkerKey } from '../models/model-version-marker.ts'
import { scanTopic } from './bounded-topic-scan.ts'

/**
 * Floats of a row in a model topic: what its first version marker says, or the length of its first
 * row. Throws EMPTY_DATASET when the topic holds neither.
 */
export async function dimensionOfTopic(directory: string, topic: string): Promise<number> {
  let dimension: number | undefined
  await scanTopic(directory, topic, (key, value) => {
    if (key === null || value === null) return true
    dimension = isMarkerKey(key) ? decodeMarker(value).dimension : value.length / 4
    return false
  })
  if (dimension !== undefined) return dimension
  throw new WeirError('EMPTY_DATASET', `topic "${topic}" holds no model row; say --dimension`)
}
