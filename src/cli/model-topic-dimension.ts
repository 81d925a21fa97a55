import { LogSource } from '../connectors/log/log-source.ts'
import { systemClock } from '../core/clock.ts'
import { WeirError } from '../core/errors.ts'
import { MetricGroup } from '../core/metrics.ts'
import { decodeMarker, isMarkerKey } from '../models/model-version-marker.ts'

/**
 * Floats of a row in a model topic: what its first version marker says, or the length of its first
 * row. Throws EMPTY_DATASET when the topic holds neither.
 */
export async function dimensionOfTopic(directory: string, topic: string): Promise<number> {
  let dimension: number | undefined
  const source = new LogSource<null>({
    directory,
    topic,
    bounded: true,
    deserialize(record) {
      const key = record.key()
      const value = record.value()
      if (key === null || value === null || dimension !== undefined) return undefined
      dimension = isMarkerKey(key) ? decodeMarker(value).dimension : value.length / 4
      return undefined
    },
  })
  const reader = source.createReader()
  const metrics = new MetricGroup('dimension')
  await reader.open({ subtask: 0, parallelism: 1, clock: systemClock, metrics })
  const partitions = await source.discover()
  await reader.addSplits(partitions.map((partition) => ({ partition, nextOffset: -1 })))
  while (dimension === undefined) {
    const found = reader.poll({ collect: () => {}, progress: () => {} }, 1)
    if (found === 'ended') break
    if (found === 'idle') await reader.available()
  }
  await reader.close()
  if (dimension !== undefined) return dimension
  throw new WeirError('EMPTY_DATASET', `topic "${topic}" holds no model row; say --dimension`)
}
