import { WeirError } from '../../core/errors.ts'
import { completeModelTopics, type Retention } from '../../models/topic/topics.ts'
import { type Command, Flags, needs } from '../command/command.ts'
import { ageMs, wholeNumber } from '../flag-kinds/numbers.ts'
import { topicName, word } from '../flag-kinds/words.ts'
import { DATA_DIR_OPTION } from '../flags/data-directory.ts'
import { KAFKA_OPTIONS, topicsOf } from '../flags/kafka.ts'
import { createdTopic } from '../text/created-topic.ts'

const POLICIES = ['delete', 'compact', 'both'] as const

/** `weir topic create`: creates a topic or the topics of a model. */
export const topicCreateCommand: Command = {
  name: 'topic create',
  summary: 'Create a topic, or the topics of a model',
  positions: [{ value: topicName }],
  options: {
    model: {
      type: 'boolean',
      help: 'Create the topics of a model if they are missing: NAME (compacted, rows) and NAME-deltas (not compacted)',
    },
    partitions: {
      type: 'string',
      value: wholeNumber({ min: 1, max: 65_536 }),
      default: '4',
      help: 'Number of partitions',
    },
    'replication-factor': {
      type: 'string',
      needs: [needs('brokers')],
      value: wholeNumber({ min: 1, max: 32_767 }),
      help: 'Kafka: number of copies (default: the setting of the brokers)',
    },
    cleanup: {
      type: 'string',
      excludes: ['model'],
      value: word(POLICIES, 'POLICY'),
      help: 'Cleanup policy: delete, compact or both (default delete)',
    },
    'retention-ms': {
      type: 'string',
      value: ageMs({ min: -1 }),
      help: 'Age limit, -1 for none (default: none; in Kafka the setting of the brokers); with --model, of the deltas',
    },
    'retention-bytes': {
      type: 'string',
      value: wholeNumber({ min: -1 }),
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
    const topic = args[0]!
    const shape = shapeOf(flags)
    const isModel = flags.boolean('model')
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
  const partitions = flags.number('partitions')
  const replicationFactor = flags.optionalNumber('replication-factor')
  return { partitions, ...(replicationFactor === undefined ? {} : { replicationFactor }) }
}

function retentionOf(
  flags: Flags,
): Retention & { readonly cleanupPolicy: 'delete' | 'compact' | 'both' } {
  const given = flags.optional('cleanup') !== undefined
  return {
    cleanupPolicy: given ? flags.choice('cleanup', POLICIES) : 'delete',
    ...limitsOf(flags),
  }
}

function limitsOf(flags: Flags): Retention {
  const limit = (name: string): number | undefined => flags.optionalNumber(name)
  const retentionMs = limit('retention-ms')
  const retentionBytes = limit('retention-bytes')
  return {
    ...(retentionMs === undefined ? {} : { retentionMs }),
    ...(retentionBytes === undefined ? {} : { retentionBytes }),
  }
}
