import type { NewTopic, TopicStore } from '../../connectors/topics/store.ts'
import { isWeirError, requireArgument } from '../../core/errors.ts'
import { count, name, numberIn, objectWith } from '../../core/options/kinds.ts'
import { checkArgument, checkOptions, nested, type OptionShape } from '../../core/options/shape.ts'

const DEFAULT_PARTITIONS = 4
/** Compaction removes retired versions only from segments that have ended, and publishing reads what it leaves. */
const SEGMENT_BYTES = 16 * 1024 * 1024

/** Settings of topics whose records are kept forever: neither compacted nor deleted by age or size. */
export const KEEP_FOREVER = {
  cleanupPolicy: 'delete',
  retentionMs: -1,
  retentionBytes: -1,
} as const satisfies NewTopic

/** Creates those of some topics that are missing, for records that are kept forever. */
export async function createKeptTopics(
  topics: TopicStore,
  names: readonly string[],
): Promise<void> {
  for (const name of names) {
    if (await topics.has(name)) continue
    await topics.create(name, { partitions: DEFAULT_PARTITIONS, ...KEEP_FOREVER })
  }
}

const DELTAS = '-deltas'

/**
 * The topic of a model's deltas: that of its rows, followed by `-deltas`. Throws INVALID_ARGUMENT for a
 * topic with this end, which would be that of the deltas of another model.
 */
export function deltasTopic(rowsTopic: string): string {
  checkArgument('deltasTopic', 'rowsTopic', name, rowsTopic)
  requireArgument(
    !rowsTopic.endsWith(DELTAS),
    `"${rowsTopic}" is the name of a topic of deltas; name the topic of the rows, "${rowsTopic.slice(0, -DELTAS.length)}", or give the model another name`,
  )
  return `${rowsTopic}${DELTAS}`
}

/** How long and how many records a topic keeps. */
export type Retention = Pick<NewTopic, 'retentionMs' | 'retentionBytes'>

/** Options of the topics of a model. */
export interface ModelTopicsOptions extends Pick<NewTopic, 'partitions' | 'replicationFactor'> {
  /** Retention of the deltas. It must cover the oldest checkpoint that is restored. @default forever */
  readonly deltas?: Retention
}

const MODEL_TOPICS: OptionShape<ModelTopicsOptions> = {
  partitions: count,
  replicationFactor: count,
  deltas: nested<Retention>({
    retentionMs: numberIn({ min: -1 }),
    retentionBytes: numberIn({ min: -1 }),
  }),
}

/**
 * Creates the topics of a model where it has none: the rows, compacted, and the deltas, by default kept forever.
 * Returns the names of the topics that it created. Where the topic of the rows exists, it creates
 * nothing.
 */
export async function createModelTopics(
  topics: TopicStore,
  topic: string,
  shape: ModelTopicsOptions = {},
): Promise<readonly string[]> {
  checkArgument(
    'createModelTopics',
    'topics',
    objectWith<TopicStore>('topics: openTopics(...)', 'has', 'create'),
    topics,
  )
  checkArgument('createModelTopics', 'topic', name, topic)
  checkOptions('createModelTopics', MODEL_TOPICS, shape)
  return (await topics.has(topic)) ? [] : await completeModelTopics(topics, topic, shape)
}

/** Creates those topics of a model that are missing, as `createModelTopics` does. */
export async function completeModelTopics(
  topics: TopicStore,
  topic: string,
  { partitions = DEFAULT_PARTITIONS, replicationFactor, deltas = {} }: ModelTopicsOptions = {},
): Promise<readonly string[]> {
  const shape = { partitions, ...(replicationFactor === undefined ? {} : { replicationFactor }) }
  // The rows last: where their topic exists, that of the deltas does, even after an interruption.
  const wanted: readonly [string, NewTopic][] = [
    [deltasTopic(topic), { ...shape, ...KEEP_FOREVER, ...deltas }],
    [topic, { ...shape, cleanupPolicy: 'compact', segmentBytes: SEGMENT_BYTES }],
  ]
  const created: string[] = []
  for (const [name, config] of wanted) {
    try {
      await topics.create(name, config)
      created.push(name)
    } catch (error) {
      // It exists, or another process creates it at the same time.
      if (!isWeirError(error, 'TOPIC_EXISTS')) throw error
    }
  }
  return created
}
