import { WeirError } from '../core/errors.ts'
import { completeModelTopics } from '../jobs/model-topics.ts'
import { type Command, Flags, UsageError } from './command.ts'
import { DATA_DIR_OPTION } from './data-directory.ts'
import { KAFKA_OPTIONS, topicsOf } from './kafka-flags.ts'

/** `weir topic create NAME`. */
export const topicCreateCommand: Command = {
  name: 'topic create',
  summary: 'Create a topic, or the topics of a model',
  usage: 'NAME',
  options: {
    model: {
      type: 'boolean',
      help: 'Create what is missing of the topics of a model: NAME, compacted, for rows, and NAME-deltas, never compacted',
    },
    partitions: { type: 'string', value: 'N', default: '4', help: 'Partitions' },
    'replication-factor': {
      type: 'string',
      value: 'N',
      help: "Copies in Kafka (default: the brokers' setting)",
    },
    cleanup: { type: 'string', value: 'POLICY', help: 'delete, compact or both (default delete)' },
    'retention-ms': {
      type: 'string',
      value: 'MS',
      help: "Age limit, -1 for none (default: none, in Kafka the brokers' setting)",
    },
    'retention-bytes': {
      type: 'string',
      value: 'N',
      help: "Size limit of a partition, -1 for none (default: none, in Kafka the brokers' setting)",
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
    if (topic === undefined) throw new UsageError('give the name of the topic')
    const shape = shapeOf(flags)
    const isModel = flags.boolean('model')
    if (isModel) refuseKept(flags)
    await using topics = await topicsOf(flags)
    let created: readonly string[] = [topic]
    if (isModel) {
      created = await completeModelTopics(topics, topic, shape)
      if (created.length === 0) {
        const message = `the topics of model "${topic}" exist already in ${topics.place}; use them, or take another name`
        throw new WeirError('TOPIC_EXISTS', message, { details: { topic } })
      }
    } else await topics.create(topic, { ...shape, ...keptOf(flags) })
    for (const name of created.toSorted()) {
      const description = await topics.describe(name)
      io.out(
        flags.boolean('json')
          ? JSON.stringify(description)
          : `created ${name} with ${description.partitions} partitions${description.cleanupPolicy === undefined ? '' : `, ${description.cleanupPolicy}`}`,
      )
    }
    return 0
  },
}

function shapeOf(flags: Flags): { partitions: number; replicationFactor?: number } {
  const partitions = flags.integer('partitions', 1, 65_536)
  const replicationFactor = flags.optionalInteger('replication-factor', 1, 32_767)
  if (replicationFactor === undefined) return { partitions }
  if (flags.optional('brokers') === undefined) {
    throw new UsageError('--replication-factor needs --brokers: the embedded log has one copy')
  }
  return { partitions, replicationFactor }
}

function keptOf(flags: Flags): {
  cleanupPolicy: 'delete' | 'compact' | 'both'
  retentionMs?: number
  retentionBytes?: number
} {
  const given = flags.optional('cleanup') !== undefined
  const limit = (name: string): number | undefined =>
    flags.optional(name) === undefined ? undefined : flags.integer(name, -1)
  const retentionMs = limit('retention-ms')
  const retentionBytes = limit('retention-bytes')
  return {
    cleanupPolicy: given ? flags.choice('cleanup', ['delete', 'compact', 'both']) : 'delete',
    ...(retentionMs === undefined ? {} : { retentionMs }),
    ...(retentionBytes === undefined ? {} : { retentionBytes }),
  }
}

function refuseKept(flags: Flags): void {
  for (const name of ['cleanup', 'retention-ms', 'retention-bytes']) {
    if (flags.optional(name) === undefined) continue
    throw new UsageError(`--model decides what is kept; leave out --${name}`)
  }
}
