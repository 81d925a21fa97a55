import { scanTopic } from '../connectors/topics/scan-topic.ts'
import type { TopicStore } from '../connectors/topics/topic-store.ts'
import { WeirError } from '../core/errors.ts'
import { BIAS_COLUMNS } from '../models/als-row.ts'
import { decodeMarker, isMarkerKey } from '../models/model-version-marker.ts'
import type { AlsOptions } from '../training/als-options.ts'

/**
 * Floats of a row in a model topic: what its first version marker says, or the length of its first
 * row. Throws EMPTY_DATASET when the topic holds neither.
 */
export async function dimensionOfTopic(topics: TopicStore, topic: string): Promise<number> {
  let dimension: number | undefined
  await scanTopic(topics, topic, (record) => {
    const key = record.key()
    const value = record.value()
    if (key === null || value === null) return true
    if (isMarkerKey(key)) dimension = decodeMarker(value).dimension
    // A text weight says nothing of the blocks it goes into.
    else if (isBinaryRowKey(key)) dimension = value.length / 4
    return dimension === undefined
  })
  if (dimension !== undefined) return dimension
  throw new WeirError('EMPTY_DATASET', `topic "${topic}" holds no model row; say --dimension`)
}

const ROW_KEY = /-[UIW](@[0-9]+)?$/

function isBinaryRowKey(key: Uint8Array): boolean {
  return ROW_KEY.test(Buffer.from(key).toString('latin1'))
}

/**
 * Throws DIMENSION_MISMATCH when a topic serves rows of another length than training will make: one
 * topic holds versions of one model, and a version of another shape would never go live.
 */
export async function refuseOtherDimension(
  topics: TopicStore,
  topic: string,
  { factors, biases }: AlsOptions,
): Promise<void> {
  if (factors === undefined || !(await topics.has(topic))) return
  const made = factors + (biases === true ? BIAS_COLUMNS : 0)
  const held = await dimensionOfTopic(topics, topic).catch(() => made)
  if (held === made) return
  throw new WeirError(
    'DIMENSION_MISMATCH',
    `topic ${topic} in ${topics.place} holds rows of ${held} floats and these options make rows of ${made}; train with --factors ${held - (biases === true ? BIAS_COLUMNS : 0)}, or start anew with another --topic or --data-dir`,
  )
}
