import type { TopicStore } from '../../../connectors/topics/store.ts'
import type { LearnedPart } from '../../../models/registry/learned-part.ts'
import type { ModelVersionMarker } from '../../../models/registry/version-marker.ts'
import { learnedHeader } from '../../../models/topic/learned-header.ts'
import { floatsHeader } from '../../../models/topic/row-form.ts'
import { rowMemoryHeader } from '../../../models/topic/row-memory.ts'
import { rowPartition } from '../../../models/topic/row-partition.ts'
import { ratingsHeader } from '../../../models/topic/row-ratings.ts'
import { sendMarker } from '../../../models/versions/send-marker.ts'
import type { LearnedRow } from './changed-rows.ts'

/** Rows of one version that are written back. */
export interface VersionRows {
  /** The version's newest `ready` marker. */
  readonly marker: ModelVersionMarker
  readonly learned: LearnedPart
  readonly rows: AsyncIterable<LearnedRow>
}

/** Where rows are written back to. */
export interface WriteBackPlace {
  readonly topics: TopicStore
  readonly topic: string
  /** Whether the version is still there when all is written. */
  readonly isPresent: (version: number) => boolean
}

const encoder = new TextEncoder()

/** The transaction of a topic's write-backs: a write-back drops what one that was killed has left. */
export function transactionOf(topic: string): string {
  return `weir-write-back/${topic}`
}

/** Drops what a write-back that was killed has left, so that readers do not wait for its end. */
export async function dropUnfinished(topics: TopicStore, topic: string): Promise<void> {
  await (await topics.producer(topic, transactionOf(topic))).close()
}

/**
 * Writes rows of a version, and its marker with what they include, in one transaction; returns the
 * number of rows, undefined when nothing was written because the version was retired meanwhile.
 */
export async function publishLearned(
  { marker, learned, rows }: VersionRows,
  place: WriteBackPlace,
): Promise<number | undefined> {
  const { topics, topic, isPresent } = place
  const { partitions } = await topics.describe(topic)
  const { version } = marker
  const producer = await topics.producer(topic, transactionOf(topic))
  try {
    let count = 0
    for await (const { key, floats, ratings, memory } of rows) {
      const headers = [
        ...floatsHeader(floats),
        ...ratingsHeader(ratings),
        ...rowMemoryHeader(key, memory),
        learnedHeader(),
      ]
      const partition = rowPartition(key, partitions)
      const versioned = encoder.encode(`${key}@${version}`)
      producer.sendRecord(versioned, floats, learned.atMs, partition, headers)
      count++
      if (!producer.ready()) await producer.whenReady()
    }
    sendMarker(producer, { ...marker, partitions, learned }, { partitions, atMs: learned.atMs })
    if (!isPresent(version)) return undefined
    await producer.sync()
    return count
  } finally {
    await producer.close()
  }
}
