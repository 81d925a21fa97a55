import type { KafkaCluster } from './cluster.ts'
import { findOffset } from './offsets.ts'

/** Offsets of each partition of a topic that exist: `start` inclusive, `end` exclusive. Throws UNKNOWN_TOPIC. */
export async function topicBounds(
  cluster: KafkaCluster,
  topic: string,
): Promise<{ readonly partition: number; readonly start: number; readonly end: number }[]> {
  const { partitions } = await cluster.retry(`metadata of "${topic}"`, () =>
    cluster.refreshTopic(topic),
  )
  return await Promise.all(
    partitions.map(async (_, partition) => {
      const search = { topic, partition, isolation: 'read_uncommitted' } as const
      const [start, end] = await Promise.all([
        findOffset(cluster, { ...search, query: 'earliest' }),
        findOffset(cluster, { ...search, query: 'latest' }),
      ])
      return { partition, start, end }
    }),
  )
}
