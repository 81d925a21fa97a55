import type { NewTopic, TopicStore } from '../connectors/topics/topic-store.ts'
import { isWeirError } from '../core/errors.ts'
import { deltasTopic } from '../models/model-delta.ts'

const DEFAULT_PARTITIONS = 4

type Shape = Pick<NewTopic, 'partitions' | 'replicationFactor'>

/**
 * Creates the topics of a model where it has none: the rows, compacted, and beside them the deltas,
 * never compacted and kept for ever. Returns the names of those that it created. Where the rows are
 * there the deltas are left to whoever made them.
 */
export async function createModelTopics(
  topics: TopicStore,
  topic: string,
  shape: Shape = {},
): Promise<readonly string[]> {
  return (await topics.has(topic)) ? [] : await completeModelTopics(topics, topic, shape)
}

/** Creates what is missing of the topics of a model; see `createModelTopics`. */
export async function completeModelTopics(
  topics: TopicStore,
  topic: string,
  { partitions = DEFAULT_PARTITIONS, replicationFactor }: Shape = {},
): Promise<readonly string[]> {
  const shape = { partitions, ...(replicationFactor === undefined ? {} : { replicationFactor }) }
  const forEver = { cleanupPolicy: 'delete', retentionMs: -1, retentionBytes: -1 } as const
  // The rows last: where they are there, so are the deltas, whenever this was interrupted.
  const wanted: readonly [string, NewTopic][] = [
    [deltasTopic(topic), { ...shape, ...forEver }],
    [topic, { ...shape, cleanupPolicy: 'compact' }],
  ]
  const created: string[] = []
  for (const [name, config] of wanted) {
    try {
      await topics.create(name, config)
      created.push(name)
    } catch (error) {
      // It was there, or another process made it at the same time.
      if (!isWeirError(error, 'TOPIC_EXISTS')) throw error
    }
  }
  return created
}
