import { WeirError } from '../../core/errors.ts'
import { completeModelTopics, type Retention } from '../../jobs/model-topic/topics.ts'
import { type Command, Flags, missingArguments, UsageError } from '../command/command.ts'
import { DATA_DIR_OPTION } from '../flags/data-directory.ts'
import { KAFKA_OPTIONS, topicsOf } from '../flags/kafka.ts'
import { createdTopic } from '../text/created-topic.ts'

/** `weir topic create`: creates a topic or the topics of a model. */
export const topicCreateCommand: Command = {
  name: 'topic create',
  summary: 'Create a topic, or the topics of a model',
  usage: 'NAME',
  options: {
    model: {
      type: 'boolean',
      help: 'Create the topics of a model if they are missing: NAME (compacted, rows) and NAME-deltas (not compacted)',
    },
    partitions: { type: 'string', value: 'N', default: '4', help: 'Number of partitions' },
    'replication-factor': {
      type: 'string',
      value: 'N',
      help: 'Kafka: number of copies (default: the setting of the brokers)',
    },
    cleanup: {
      type: 'string',
      value: 'POLICY',
      help: 'Cleanup policy: delete, compact or both (default delete)',
    },
    'retention-ms': {
      type: 'string',
      value: 'MS',
      help: 'Age limit, -1 for none (default: none; in Kafka the setting of the brokers); with --model, of the deltas',
    },
    'retention-bytes': {
      type: 'string',
      value: 'N',
      help: 'Size limit of a partition, -1 for none (default as above); with --model, of the deltas',
    },
    ...KAFKA_OPTIONS,
    ...DATA_DIR_OPTION,
  },
  details: `Examples:
  weir topic create notes --partitions 1
  weir topic create ratings --brokers localhost:9092 --replication-factor 3 --retention-ms -1
  weir topic create als-model --model --brokers localhost:9092`,
  async run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const [topic] = args
    if (topic === undefined) throw missingArguments(topicCreateCommand)
    const shape = shapeOf(flags)
    const isModel = flags.boolean('model')
    if (isModel && flags.optional('cleanup') !== undefined) {
      throw new UsageError('--model sets the cleanup policies; leave out --cleanup')
    }
    await using topics = await topicsOf(flags)
    let created: readonly string[] = [topic]
    if (isModel) {
      created = await completeModelTopics(topics, topic, { ...shape, deltas: limitsOf(flags) })
      if (created.length === 0) {
        const message = `the topics of model "${topic}" already exist in ${topics.place}; use them or choose another name`
        throw new WeirError('TOPIC_EXISTS', message, { details: { topic } })
      }
    } else await topics.create(topic, { ...shape, ...retentionOf(flags) })
    for (const name of created.toSorted()) {
      const description = await topics.describe(name)
      io.out(flags.boolean('json') ? JSON.stringify(description) : createdTopic(name, description))
    }
    return 0
  },
}

function shapeOf(flags: Flags): { partitions: number; replicationFactor?: number } {
  const partitions = flags.integer('partitions', 1, 65_536)
  const replicationFactor = flags.optionalInteger('replication-factor', 1, 32_767)
  if (replicationFactor === undefined) return { partitions }
  if (flags.optional('brokers') === undefined) {
    throw new UsageError('--replication-factor needs --brokers: the embedded log keeps one copy')
  }
  return { partitions, replicationFactor }
}

function retentionOf(
  flags: Flags,
): Retention & { readonly cleanupPolicy: 'delete' | 'compact' | 'both' } {
  const given = flags.optional('cleanup') !== undefined
  return {
    cleanupPolicy: given ? flags.choice('cleanup', ['delete', 'compact', 'both']) : 'delete',
    ...limitsOf(flags),
  }
}

function limitsOf(flags: Flags): Retention {
  const limit = (name: string): number | undefined =>
    flags.optional(name) === undefined ? undefined : flags.integer(name, -1)
  const retentionMs = limit('retention-ms')
  const retentionBytes = limit('retention-bytes')
  return {
    ...(retentionMs === undefined ? {} : { retentionMs }),
    ...(retentionBytes === undefined ? {} : { retentionBytes }),
  }
}
