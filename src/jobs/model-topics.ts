import type { NewTopic, TopicStore } from '../connectors/topics/topic-store.ts'
import { isWeirError } from '../core/errors.ts'
import { deltasTopic } from '../models/model-delta.ts'

const DEFAULT_PARTITIONS = 4

/**
 * Creates what is missing of the topics of a model: the rows, compacted, and beside them the deltas,
 * never compacted and kept for ever. Returns the names of those that it created. Where the rows are
 * there the deltas are left to whoever made them.
 */
export async function createModelTopics(
  topics: TopicStore,
  topic: string,
  {
    partitions = DEFAULT_PARTITIONS,
    replicationFactor,
  }: Pick<NewTopic, 'partitions' | 'replicationFactor'> = {},
): Promise<readonly string[]> {
  if (await topics.has(topic)) return []
  const shape = { partitions, ...(replicationFactor === undefined ? {} : { replicationFactor }) }
  // The rows last: where they are there, so are the deltas, whenever this was interrupted.
  const wanted: readonly [string, NewTopic][] = [
    [
      deltasTopic(topic),
      { ...shape, cleanupPolicy: 'delete', retentionMs: -1, retentionBytes: -1 },
    ],
    [topic, { ...shape, cleanupPolicy: 'compact' }],
  ]
  const created: string[] = []
  for (const [name, config] of wanted) {
    try {
      await topics.create(name, config)
      created.push(name)
    } catch (error) {
      // Another process may create them at the same time.
      if (!isWeirError(error, 'TOPIC_EXISTS')) throw error
    }
  }
  return created
}
