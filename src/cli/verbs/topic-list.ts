import type { PartitionBounds, TopicDescription } from '../../connectors/topics/store.ts'
import { type ErrorCode, isWeirError } from '../../core/errors.ts'
import { type Command, Flags } from '../command/command.ts'
import { DATA_DIR_OPTION } from '../flags/data-directory.ts'
import { KAFKA_OPTIONS, topicsOf } from '../flags/kafka.ts'

/** Codes of a topic whose files cannot be read. */
const DAMAGE: ReadonlySet<ErrorCode> = new Set([
  'MALFORMED_DATA',
  'CHECKSUM_MISMATCH',
  'UNSUPPORTED_VERSION',
  'UNKNOWN_TOPIC',
])

/** `weir topic list`: lists topics with their partitions and offsets. */
export const topicListCommand: Command = {
  name: 'topic list',
  summary: 'List the topics of the embedded log or of Kafka',
  options: { ...KAFKA_OPTIONS, ...DATA_DIR_OPTION },
  details: `The exit status is 1 if a topic is damaged; the others are listed all the same. --json has the id of each
topic: offsets in checkpoints and model versions belong to the topic with this id.

Examples:
  weir topic list
  weir topic list --brokers localhost:9092`,
  async run({ flags: values, io }) {
    const flags = new Flags(values)
    await using topics = await topicsOf(flags)
    const names = await topics.topics()
    if (names.length === 0) io.err(`no topics in ${topics.place}${adviceOf(flags)}`)
    const json = flags.boolean('json')
    let damaged = 0
    for (const topic of names) {
      try {
        const description = await topics.describe(topic)
        const offsets = await topics.bounds(topic)
        io.out(json ? JSON.stringify({ ...description, offsets }) : lineOf(description, offsets))
      } catch (error) {
        if (!isWeirError(error) || !DAMAGE.has(error.code)) throw error
        damaged += 1
        const { code, message } = error
        io.out(json ? JSON.stringify({ topic, code, message }) : `${topic.padEnd(24)} DAMAGED`)
        if (!json) io.err(`${topic}: ${code}: ${message}`)
      }
    }
    return damaged > 0 ? 1 : 0
  },
}

/** A broker hides the topics that a user may not describe, without an error. */
function adviceOf(flags: Flags): string {
  return flags.optional('brokers') !== undefined
    ? ' that this user may see; seeing a topic needs DESCRIBE on it'
    : ''
}

function lineOf(description: TopicDescription, offsets: readonly PartitionBounds[]): string {
  const { topic, partitions, cleanupPolicy, replicationFactor } = description
  const copies = replicationFactor === undefined ? '' : ` x ${replicationFactor}`
  const ranges = offsets.map(({ start, end }) => `${start}..${end}`).join(' ')
  return `${topic.padEnd(24)} ${partitions}${copies} ${partitions === 1 && copies === '' ? 'partition' : 'partitions'}, ${cleanupPolicy ?? 'cleanup policy unknown'}, offsets ${ranges}`
}
