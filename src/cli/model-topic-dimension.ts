import { hasTopic } from '../connectors/log/topic-config.ts'
import { WeirError } from '../core/errors.ts'
import { BIAS_COLUMNS } from '../models/als-row.ts'
import { decodeMarker, isMarkerKey } from '../models/model-version-marker.ts'
import type { AlsOptions } from '../training/als-options.ts'
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

/**
 * Throws DIMENSION_MISMATCH when a topic serves rows of another length than training will make: one
 * topic holds versions of one model, and a version of another shape would never go live.
 */
export async function refuseOtherDimension(
  directory: string,
  topic: string,
  { factors, biases }: AlsOptions,
): Promise<void> {
  if (factors === undefined || !hasTopic(directory, topic)) return
  const made = factors + (biases === true ? BIAS_COLUMNS : 0)
  const held = await dimensionOfTopic(directory, topic).catch(() => made)
  if (held === made) return
  throw new WeirError(
    'DIMENSION_MISMATCH',
    `topic ${topic} in ${directory} holds rows of ${held} floats and these options make rows of ${made}; train with --factors ${held - (biases === true ? BIAS_COLUMNS : 0)}, or start anew with another --data-dir`,
  )
}
