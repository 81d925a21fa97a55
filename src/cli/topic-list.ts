import type { PartitionBounds, TopicDescription } from '../connectors/topics/topic-store.ts'
import { type Command, Flags } from './command.ts'
import { DATA_DIR_OPTION } from './data-directory.ts'
import { KAFKA_OPTIONS, topicsOf } from './kafka-flags.ts'

/** `weir topic list`: topics with their sizes. */
export const topicListCommand: Command = {
  name: 'topic list',
  summary: 'List the topics of the embedded log or of Kafka',
  options: { ...KAFKA_OPTIONS, ...DATA_DIR_OPTION },
  async run({ flags: values, io }) {
    const flags = new Flags(values)
    await using topics = await topicsOf(flags)
    for (const topic of await topics.topics()) {
      const description = await topics.describe(topic)
      const offsets = await topics.bounds(topic)
      io.out(
        flags.boolean('json')
          ? JSON.stringify({ ...description, offsets })
          : lineOf(description, offsets),
      )
    }
    return 0
  },
}

function lineOf(description: TopicDescription, offsets: readonly PartitionBounds[]): string {
  const { topic, partitions, cleanupPolicy, replicationFactor } = description
  const copies = replicationFactor === undefined ? '' : ` x ${replicationFactor}`
  const ranges = offsets.map(({ start, end }) => `${start}..${end}`).join(' ')
  return `${topic.padEnd(24)} ${partitions}${copies} partitions, ${cleanupPolicy ?? 'settings hidden'}, offsets ${ranges}`
}
