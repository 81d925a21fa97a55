import type { TopicStore } from '../../connectors/topics/store.ts'

/** A key, and the partition that has it. */
export interface PlacedKey {
  readonly key: Uint8Array
  readonly partition: number
}

/** Tombstones for keys of a topic. */
export interface Tombstones {
  readonly topic: string
  readonly keys: Iterable<PlacedKey>
  /** Their time, ms since 1970. */
  readonly atMs: number
}

/** Writes tombstones; resolves once they are durable. Throws errors of the producer. */
export async function sendTombstones(
  topics: TopicStore,
  { topic, keys, atMs }: Tombstones,
): Promise<void> {
  const producer = await topics.producer(topic)
  try {
    for (const { key, partition } of keys) {
      producer.sendRecord(key, null, atMs, partition, [])
      if (!producer.ready()) await producer.whenReady()
    }
    await producer.sync()
  } finally {
    await producer.close()
  }
}
