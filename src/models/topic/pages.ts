import type { RecordDeserializer } from '../../connectors/records/topic-record.ts'
import type { TopicStore } from '../../connectors/topics/store.ts'
import { systemClock } from '../../core/clock.ts'
import { MetricGroup } from '../../core/metrics.ts'

const PAGE_RECORDS = 4096

/**
 * The deserialized records of a topic up to its current end, in pages, so that neither the topic nor the
 * results are in memory as a whole. Throws UNKNOWN_TOPIC.
 */
export async function* readPages<T>(
  topics: TopicStore,
  topic: string,
  deserialize: RecordDeserializer<T>,
): AsyncGenerator<readonly T[]> {
  const source = topics.source<T>({ topic, bounded: true, deserialize })
  const partitions = await source.discover()
  const reader = source.createReader()
  const metrics = new MetricGroup('pages')
  try {
    await reader.open({ subtask: 0, parallelism: 1, clock: systemClock, metrics })
    await reader.addSplits(partitions.map((partition) => ({ partition, nextOffset: -1 })))
    for (;;) {
      const page: T[] = []
      const output = { collect: (value: T) => page.push(value), progress: () => {} }
      const result = reader.poll(output, PAGE_RECORDS)
      if (page.length > 0) yield page
      if (result === 'ended') return
      if (result === 'idle') await reader.available()
    }
  } finally {
    await reader.close()
  }
}
