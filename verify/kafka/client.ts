import { randomUUID } from 'node:crypto'
import { type EachBatchPayload, Kafka, logLevel, type Producer } from 'kafkajs'
import { CommittedFilter, type RawRecord } from '../checks/committed-filter.ts'

/*
 * The Kafka client of the verifier. It shares no code with Weir. When a leader changes, kafkajs 2.2 loses
 * messages of a request to several leaders, so each request here goes to one partition.
 */

/** One message of a load. */
export interface LoadMessage {
  readonly key: string
  readonly value: Buffer
  readonly partition: number
}

/** A record that kafkajs read. */
export interface ReadRecord {
  readonly partition: number
  readonly offset: number
  readonly key: string
  readonly value: Buffer
}

/** Key of the end mark of each partition. */
export const END = '!end'
const READ_LIMIT_MS = 60_000

function client(brokers: string): Kafka {
  return new Kafka({
    clientId: 'weir-verifier',
    brokers: brokers.split(','),
    logLevel: logLevel.NOTHING,
    connectionTimeout: 3000,
    // A frozen broker must not hold a load for longer.
    requestTimeout: 5000,
    retry: { initialRetryTime: 50, maxRetryTime: 500, retries: 1000 },
  })
}

/** An idempotent producer with one request in flight. */
export async function openProducer(brokers: string): Promise<Producer> {
  const producer = client(brokers).producer({ idempotent: true, maxInFlightRequests: 1 })
  await producer.connect()
  return producer
}

/** A producer of transactions; the broker aborts one that is open for longer than 4 s. */
export async function openTransactions(
  brokers: string,
  transactionalId: string,
): Promise<Producer> {
  const producer = client(brokers).producer({
    transactionalId,
    maxInFlightRequests: 1,
    transactionTimeout: 4000,
  })
  await producer.connect()
  return producer
}

/** Creates topics. `topics` maps each name to its number of partitions. */
export async function createTopics(
  brokers: string,
  topics: Readonly<Record<string, number>>,
): Promise<void> {
  const admin = client(brokers).admin()
  await admin.connect()
  await admin.createTopics({
    topics: Object.entries(topics).map(([topic, numPartitions]) => ({ topic, numPartitions })),
  })
  await admin.disconnect()
}

/** Creates a topic of one partition on brokers with these ids, of which the first leads. */
export async function createTopicOn(
  brokers: string,
  topic: string,
  options: {
    readonly replicas: readonly number[]
    readonly configuration: Readonly<Record<string, string>>
  },
): Promise<void> {
  const admin = client(brokers).admin()
  const replicaAssignment = [{ partition: 0, replicas: [...options.replicas] }]
  const configEntries = Object.entries(options.configuration).map(([name, value]) => ({
    name,
    value,
  }))
  await admin.connect()
  await admin.createTopics({ topics: [{ topic, replicaAssignment, configEntries }] })
  await admin.disconnect()
}

/** Id of the broker that leads a partition. */
export async function partitionLeader(
  brokers: string,
  topic: string,
  partition: number,
): Promise<number> {
  const admin = client(brokers).admin()
  await admin.connect()
  try {
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
    return topics[0]!.partitions.find(({ partitionId }) => partitionId === partition)!.leader
  } finally {
    await admin.disconnect()
  }
}

/** Messages of one partition that the broker has acknowledged. */
export interface StoredGroup {
  readonly partition: number
  /** Offset of the first one. */
  readonly baseOffset: number
  readonly messages: readonly LoadMessage[]
}

/**
 * Sends messages, one partition after the other, and yields the groups that are stored. After a failure
 * the rest may be stored or not.
 */
export async function* sendByPartition(
  producer: Pick<Producer, 'send'>,
  topic: string,
  messages: readonly LoadMessage[],
): AsyncGenerator<StoredGroup> {
  for (const [partition, group] of Map.groupBy(messages, (message) => message.partition)) {
    const [answer] = await producer.send({ topic, messages: group, acks: -1 })
    yield { partition, baseOffset: Number(answer!.baseOffset), messages: group }
  }
}

/** Adds partitions to a topic, up to this number. */
export async function growTopic(brokers: string, topic: string, count: number): Promise<void> {
  const admin = client(brokers).admin()
  await admin.connect()
  await admin.createPartitions({ topicPartitions: [{ topic, count }] })
  await admin.disconnect()
}

/**
 * All records of a topic without active writers, by partition and offset, without those of aborted
 * transactions.
 */
export async function readTopic(brokers: string, topic: string): Promise<ReadRecord[]> {
  return await readToEnd(brokers, topic, new CommittedFilter<ReadRecord>())
}

/** Number of records of a topic whose transactions are neither committed nor aborted. */
export async function uncommittedRecords(brokers: string, topic: string): Promise<number> {
  const filter = new CommittedFilter<ReadRecord>()
  await readToEnd(brokers, topic, filter)
  return filter.openRecords
}

async function readToEnd(
  brokers: string,
  topic: string,
  filter: CommittedFilter<ReadRecord>,
): Promise<ReadRecord[]> {
  const admin = client(brokers).admin()
  await admin.connect()
  const ends = await admin.fetchTopicOffsets(topic)
  await admin.disconnect()
  const goals = new Map(ends.map(({ partition, high }) => [partition, Number(high) - 1]))
  return await readUpTo(brokers, { topic, goals, filter })
}

/**
 * All committed records of a topic with transactions. It writes an end mark to each partition and reads up to
 * it. The filter of kafkajs lets aborted records through, because it expects the broker's list of aborted
 * transactions to be sorted by their first offset. So this reads all records and filters them itself.
 */
export async function readCommitted(
  brokers: string,
  topic: string,
  partitions: number,
): Promise<ReadRecord[]> {
  const producer = await openProducer(brokers)
  const messages = Array.from({ length: partitions }, (_, partition) => ({
    partition,
    key: END,
    value: Buffer.from(END),
  }))
  const goals = new Map<number, number>()
  for await (const { partition, baseOffset } of sendByPartition(producer, topic, messages)) {
    goals.set(partition, baseOffset)
  }
  await producer.disconnect()
  const filter = new CommittedFilter<ReadRecord>()
  const records = await readUpTo(brokers, { topic, goals, filter })
  if (filter.open > 0) throw new Error(`${topic}: ${filter.open} transactions are still open`)
  return records
}

/** A batch of kafkajs, with properties that its types lack. */
interface RawBatch {
  readonly messagesWithinOffset: readonly (RawRecord & {
    readonly key: Buffer | null
    readonly value: Buffer | null
    readonly offset: string
  })[]
}

interface TopicRead {
  readonly topic: string
  /** The last offset to read, by partition. */
  readonly goals: ReadonlyMap<number, number>
  readonly filter?: CommittedFilter<ReadRecord>
}

async function readUpTo(
  brokers: string,
  { topic, goals, filter }: TopicRead,
): Promise<ReadRecord[]> {
  const groupId = `verifier-${randomUUID()}`
  const consumer = client(brokers).consumer({ groupId, readUncommitted: true })
  const records: ReadRecord[] = []
  const open = new Set([...goals].filter(([, goal]) => goal >= 0).map(([partition]) => partition))
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const limit = setTimeout(() => {
    reject(
      new Error(
        `${topic}: partitions ${[...open]} are not read to their ends in ${READ_LIMIT_MS} ms`,
      ),
    )
  }, READ_LIMIT_MS)
  const eachBatch = async ({ batch }: EachBatchPayload): Promise<void> => {
    const { partition } = batch
    for (const raw of (batch as unknown as RawBatch).messagesWithinOffset) {
      const offset = Number(raw.offset)
      if (offset >= goals.get(partition)!) open.delete(partition)
      const key = raw.key?.toString() ?? ''
      const record = { partition, offset, key, value: raw.value ?? Buffer.alloc(0) }
      const committed =
        filter?.take(partition, raw, record) ?? (raw.isControlRecord ? [] : [record])
      for (const one of committed) if (one.key !== END) records.push(one)
    }
    if (open.size === 0) resolve()
  }
  try {
    await consumer.connect()
    await consumer.subscribe({ topic, fromBeginning: true })
    consumer.run({ eachBatch }).catch(reject)
    if (open.size === 0) resolve()
    await promise
  } finally {
    clearTimeout(limit)
    await consumer.disconnect().catch(() => undefined)
  }
  return records.sort((a, b) => a.partition - b.partition || a.offset - b.offset)
}
