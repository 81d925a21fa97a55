import type { TopicStore } from '../../connectors/topics/store.ts'
import type { Clock } from '../../core/clock.ts'
import type { ChangedRow } from '../../kinds/port/trainer.ts'
import { encodeFactors } from '../../models/als/row.ts'
import { floatsHeader } from '../../models/topic/row-form.ts'
import { rowMemoryHeader } from '../../models/topic/row-memory.ts'
import { rowPartition } from '../../models/topic/row-partition.ts'
import { ratingsHeader } from '../../models/topic/row-ratings.ts'

const encoder = new TextEncoder()

/** Writes rows of a published version to the partitions that `publishModel` chose for them. */
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
    for (const { key, vector, ratings, memory } of rows) {
      const partition = rowPartition(key, partitions)
      const versioned = encoder.encode(`${key}@${version}`)
      const floats = encodeFactors(vector)
      const headers = [
        ...floatsHeader(floats),
        ...ratingsHeader(ratings),
        ...rowMemoryHeader(key, memory && encodeFactors(memory)),
      ]
      producer.sendRecord(versioned, floats, clock.nowMs(), partition, headers)
      if (!producer.ready()) await producer.whenReady()
    }
    await producer.sync()
  } finally {
    await producer.close()
  }
}
