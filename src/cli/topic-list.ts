import { partitionBounds } from '../connectors/log/partition-reader.ts'
import { listTopics, partitionPath, readTopicConfig } from '../connectors/log/topic-config.ts'
import { type Command, Flags } from './command.ts'
import { DATA_DIR_OPTION, dataDirectory } from './data-directory.ts'

/** `weir topic list`: topics of the embedded log with their sizes. */
export const topicListCommand: Command = {
  name: 'topic list',
  summary: 'List the topics of the embedded log',
  options: DATA_DIR_OPTION,
  async run({ flags: values, io }) {
    const flags = new Flags(values)
    const { log } = dataDirectory(flags.string('data-dir'))
    for (const topic of listTopics(log)) {
      const { partitions, cleanupPolicy } = readTopicConfig(log, topic)
      const offsets = Array.from({ length: partitions }, (_, partition) => {
        const { logStart, endOffset } = partitionBounds(partitionPath(log, topic, partition))
        return { partition, start: logStart, end: endOffset }
      })
      io.out(
        flags.boolean('json')
          ? JSON.stringify({ topic, partitions, cleanupPolicy, offsets })
          : `${topic.padEnd(24)} ${partitions} partitions, ${cleanupPolicy}, offsets ${offsets.map(({ start, end }) => `${start}..${end}`).join(' ')}`,
      )
    }
    return 0
  },
}
