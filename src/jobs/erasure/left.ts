import type { RecordView } from '../../connectors/records/topic-record.ts'
import type { TopicStore } from '../../connectors/topics/store.ts'
import { visitTopic } from './find.ts'
import type { LeftRange } from './places.ts'

/**
 * The records of a person that stay in a topic, by partition, and when its retention lets them go. Throws UNKNOWN_TOPIC, and
 * errors of reading.
 */
export async function leftIn(
  topics: TopicStore,
  topic: string,
  isOwn: (record: RecordView, partition: number) => boolean,
): Promise<readonly LeftRange[]> {
  const found = new Map<number, { first: number; last: number; count: number; newestMs: number }>()
  await visitTopic(topics, topic, (record, partition) => {
    if (!isOwn(record, partition)) return
    const { offset, timestamp } = record
    const range = found.get(partition)
    if (range === undefined) {
      found.set(partition, { first: offset, last: offset, count: 1, newestMs: timestamp })
      return
    }
    range.last = offset
    range.count++
    range.newestMs = Math.max(range.newestMs, timestamp)
  })
  // A segment goes once its newest record is that old; its other records may be newer than the person's.
  const { retentionMs = -1 } = await topics.describe(topic)
  return [...found]
    .sort(([a], [b]) => a - b)
    .map(([partition, { newestMs, ...range }]) => ({
      partition,
      ...range,
      notBeforeMs: retentionMs < 0 || newestMs < 0 ? null : newestMs + retentionMs,
    }))
}
