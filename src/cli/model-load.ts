import type { TopicStore } from '../connectors/topics/topic-store.ts'
import { systemClock } from '../core/clock.ts'
import { WeirError } from '../core/errors.ts'
import { publishRows } from '../jobs/publish-rows.ts'
import { npyRowFiles, type RowFiles, textRowFiles } from '../jobs/row-files.ts'
import { type Command, Flags, InterruptedError, UsageError } from './command.ts'
import { DATA_DIR_OPTION } from './data-directory.ts'
import { KAFKA_OPTIONS, topicsOf } from './kafka-flags.ts'
import { dimensionOfTopic } from './model-topic-dimension.ts'
import { highestVersion } from './model-versions.ts'
import { ProgressBar } from './progress-bar.ts'

/** `weir model load`: publishes rows of files as a version. */
export const modelLoadCommand: Command = {
  name: 'model load',
  summary: 'Publish the rows of an ALS model, from text or NumPy files, as a version',
  usage: '[PLACE...]',
  options: {
    'user-factors': { type: 'string', value: 'FILE', help: 'User rows as a NumPy matrix (.npy)' },
    'user-ids': { type: 'string', value: 'FILE', help: 'Their ids, one a line (default 1, 2 ...)' },
    'item-factors': { type: 'string', value: 'FILE', help: 'Item rows as a NumPy matrix (.npy)' },
    'item-ids': { type: 'string', value: 'FILE', help: 'Their ids, one a line (default 1, 2 ...)' },
    topic: { type: 'string', value: 'NAME', default: 'als-model', help: 'Model topic' },
    version: {
      type: 'string',
      value: 'N',
      help: 'Number of the version (default: one above the highest in the topic)',
    },
    partitions: { type: 'string', value: 'N', default: '4', help: 'Partitions of a new topic' },
    'replication-factor': {
      type: 'string',
      value: 'N',
      help: "Copies of a new topic in Kafka (default: the brokers' setting)",
    },
    ...KAFKA_OPTIONS,
    ...DATA_DIR_OPTION,
  },
  details: `PLACE is a file of text rows, "<id>,U|I,f1;f2;...", or a folder of such files, at a path or an hdfs:// URL.
Rows are read and sent in pieces, however many there are. The version goes live where the topic is
served once all of its rows are there; one that failed half way never does. For a seeded model of any
size see "weir generate als-model".

Examples:
  weir model load als.txt
  weir model load hdfs://namenode:9870/models/als --brokers localhost:9092
  weir model load --user-factors u.npy --user-ids u.txt --item-factors i.npy --item-ids i.txt`,
  async run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const files = await rowFilesOf(args, flags)
    const topic = flags.string('topic')
    const replicationFactor = flags.optionalInteger('replication-factor', 1, 32_767)
    await using topics = await topicsOf(flags)
    const version =
      flags.optionalInteger('version', 1, 2 ** 32 - 1) ?? (await highestVersion(topics, topic)) + 1
    const bar = new ProgressBar(io, 'loading', () => systemClock.monotonicMs())
    const startMs = systemClock.monotonicMs()
    let isInterrupted = false
    void io.interrupted.then(() => {
      isInterrupted = true
    })
    const loaded = await publishRows(files, {
      log: topics,
      topic,
      version,
      clock: systemClock,
      partitions: flags.integer('partitions', 1, 65_536),
      ...(replicationFactor === undefined ? {} : { replicationFactor }),
      onDimension: (dimension) => requireDimension(topics, topic, dimension),
      onProgress: (bytes, rows) => {
        if (isInterrupted)
          throw new InterruptedError(`interrupted: version ${version} is incomplete`)
        const seconds = (systemClock.monotonicMs() - startMs) / 1000
        const rate = Math.round(rows / seconds).toLocaleString('en-US')
        bar.update(bytes, files.bytes, `${rows.toLocaleString('en-US')} rows, ${rate}/s`)
      },
    })
    bar.finish()
    const seconds = (systemClock.monotonicMs() - startMs) / 1000
    const { users, items, dimension } = loaded
    io.out(
      flags.boolean('json')
        ? JSON.stringify({ topic, version, ...loaded, seconds })
        : `${users} users and ${items} items of ${dimension} floats as version ${version} in topic ${topic} of ${topics.place}, in ${seconds.toFixed(1)} s`,
    )
    return 0
  },
}

function rowFilesOf(places: readonly string[], flags: Flags): Promise<RowFiles> {
  const users = sideOf('U', 'user', flags)
  const items = sideOf('I', 'item', flags)
  const sides = [users, items].filter((side) => side !== undefined)
  if (places.length > 0 && sides.length > 0) {
    throw new UsageError('give either text rows or NumPy matrices, not both')
  }
  if (places.length > 0) return textRowFiles(places)
  if (sides.length > 0) return npyRowFiles(sides)
  throw new UsageError('give a file or folder of text rows, or --user-factors and --item-factors')
}

function sideOf(
  kind: 'U' | 'I',
  name: 'user' | 'item',
  flags: Flags,
): { kind: 'U' | 'I'; factors: string; ids?: string } | undefined {
  const factors = flags.optional(`${name}-factors`)
  const ids = flags.optional(`${name}-ids`)
  if (factors !== undefined) return { kind, factors, ...(ids === undefined ? {} : { ids }) }
  if (ids !== undefined) throw new UsageError(`--${name}-ids belongs to --${name}-factors`)
  return undefined
}

/** One topic holds versions of one model: a version of another shape would never go live. */
async function requireDimension(
  topics: TopicStore,
  topic: string,
  dimension: number,
): Promise<void> {
  if (!(await topics.has(topic))) return
  const held = await dimensionOfTopic(topics, topic).catch(() => dimension)
  if (held === dimension) return
  throw new WeirError(
    'DIMENSION_MISMATCH',
    `topic ${topic} in ${topics.place} holds rows of ${held} floats, these have ${dimension}; load them into another --topic`,
  )
}
