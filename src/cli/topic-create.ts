import { EmbeddedLog } from '../connectors/log/embedded-log.ts'
import { type Command, Flags, UsageError } from './command.ts'
import { DATA_DIR_OPTION, dataDirectory } from './data-directory.ts'

/** `weir topic create NAME`. */
export const topicCreateCommand: Command = {
  name: 'topic create',
  summary: 'Create a topic in the embedded log',
  usage: 'NAME',
  options: {
    partitions: { type: 'string', value: 'N', default: '4', help: 'Partitions' },
    cleanup: {
      type: 'string',
      value: 'POLICY',
      default: 'delete',
      help: 'delete, compact or both',
    },
    'retention-ms': { type: 'string', value: 'MS', default: '-1', help: 'Age limit, -1 for none' },
    'retention-bytes': {
      type: 'string',
      value: 'N',
      default: '-1',
      help: 'Size limit of a partition, -1 for none',
    },
    ...DATA_DIR_OPTION,
  },
  async run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const [topic] = args
    if (topic === undefined) throw new UsageError('give the name of the topic')
    await using log = await EmbeddedLog.open(dataDirectory(flags.string('data-dir')).log)
    await log.createTopic(topic, {
      partitions: flags.integer('partitions', 1, 65_536),
      cleanupPolicy: flags.choice('cleanup', ['delete', 'compact', 'both']),
      retentionMs: flags.number('retention-ms'),
      retentionBytes: flags.number('retention-bytes'),
    })
    const config = log.describe(topic)
    io.out(
      flags.boolean('json')
        ? JSON.stringify({ topic, ...config })
        : `created ${topic} with ${config.partitions} partitions`,
    )
    return 0
  },
}
