import { systemClock } from '../../core/clock.ts'
import { MetricGroup } from '../../core/metrics.ts'
import type { RecordView } from '../records/topic-record.ts'
import type { TopicStore } from './store.ts'

/** Where a scan of a partition begins. */
export interface ScanStart {
  readonly partition: number
  readonly nextOffset: number
}

/**
 * Visits every committed record of a topic up to its current end; `visit` returns false to stop early.
 * The record is valid during the call. `starts`: scans only these partitions. Throws UNKNOWN_TOPIC.
 */
export async function scanTopic(
  topics: TopicStore,
  topic: string,
  visit: (record: RecordView, partition: number) => boolean,
  starts?: readonly ScanStart[],
): Promise<void> {
  let goOn = true
  const source = topics.source<never>({
    topic,
    bounded: true,
    deserialize(record, partition) {
      goOn = goOn && visit(record, partition)
      return undefined
    },
  })
  const partitions = await source.discover()
  const reader = source.createReader()
  const metrics = new MetricGroup('scan')
  try {
    await reader.open({ subtask: 0, parallelism: 1, clock: systemClock, metrics })
    const all = partitions.map((partition) => ({ partition, nextOffset: -1 }))
    await reader.addSplits(starts ?? all)
    while (goOn) {
      const found = reader.poll({ collect: () => {}, progress: () => {} }, 256)
      if (found === 'ended') break
      if (found === 'idle') await reader.available()
    }
  } finally {
    await reader.close()
  }
}
