import type { TopicStore } from '../connectors/topics/topic-store.ts'
import type { Clock } from '../core/clock.ts'
import { murmur3 } from '../core/murmur3.ts'
import { encodeFactors } from '../models/als-row.ts'
import type { ChangedRow } from './retrain-messages.ts'
import { ratingsHeader } from './row-ratings.ts'

const encoder = new TextEncoder()

/** Puts rows of a version that is published already, to the partitions where `publishModel` puts them. */
export async function putRows(
  topics: TopicStore,
  topic: string,
  {
    version,
    rows,
    clock,
  }: { readonly version: number; readonly rows: readonly ChangedRow[]; readonly clock: Clock },
): Promise<void> {
  if (rows.length === 0) return
  const { partitions } = await topics.describe(topic)
  const producer = await topics.producer(topic)
  try {
    for (const { key, vector, ratings } of rows) {
      const partition = murmur3(encoder.encode(key)) % partitions
      const versioned = encoder.encode(`${key}@${version}`)
      const headers = ratingsHeader(ratings)
      producer.sendRecord(versioned, encodeFactors(vector), clock.nowMs(), partition, headers)
      if (!producer.ready()) await producer.whenReady()
    }
    await producer.sync()
  } finally {
    await producer.close()
  }
}
