import { randomUUID } from 'node:crypto'
import { type EachBatchPayload, Kafka, logLevel, type Producer } from 'kafkajs'
import { CommittedFilter, type RawRecord } from './committed-filter.ts'

/*
 * The verifier's own way to Kafka: it shares no code with Weir. kafkajs is trusted on one broker only.
 */

/** A record as kafkajs read it. */
export interface ReadRecord {
  readonly partition: number
  readonly offset: number
  readonly key: string
  readonly value: Buffer
}

/** Key of the marks at the end of a topic. */
export const END = '!end'
const READ_LIMIT_MS = 60_000

function client(brokers: string): Kafka {
  return new Kafka({
    clientId: 'weir-verifier',
    brokers: brokers.split(','),
    logLevel: logLevel.NOTHING,
    connectionTimeout: 3000,
    retry: { initialRetryTime: 50, maxRetryTime: 500, retries: 1000 },
  })
}

/** An idempotent producer with one request under way. */
export async function openProducer(brokers: string): Promise<Producer> {
  const producer = client(brokers).producer({ idempotent: true, maxInFlightRequests: 1 })
  await producer.connect()
  return producer
}

/** Creates topics; each name to its number of partitions. */
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

/** Every record of a topic that nobody writes to any more, by partition and offset. */
export async function readTopic(brokers: string, topic: string): Promise<ReadRecord[]> {
  const admin = client(brokers).admin()
  await admin.connect()
  const ends = await admin.fetchTopicOffsets(topic)
  await admin.disconnect()
  const goals = new Map(ends.map(({ partition, high }) => [partition, Number(high) - 1]))
  return await readUpTo(brokers, topic, goals)
}

/**
 * Every committed record of a topic that transactions wrote. It writes an end mark to each partition
 * and reads up to it. kafkajs' own filter lets aborted records through, because it takes the broker's
 * list of aborted transactions for sorted by their begin; so all is read, and filtered here.
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
    value: END,
  }))
  const answers = await producer.send({ topic, messages })
  await producer.disconnect()
  const goals = new Map(answers.map((one) => [one.partition, Number(one.baseOffset)]))
  const filter = new CommittedFilter<ReadRecord>()
  const records = await readUpTo(brokers, topic, goals, filter)
  if (filter.open > 0) throw new Error(`${topic}: ${filter.open} transactions were left open`)
  return records
}

/** As kafkajs has them beside what its types tell. */
interface RawBatch {
  readonly messagesWithinOffset: readonly (RawRecord & {
    readonly key: Buffer | null
    readonly value: Buffer | null
    readonly offset: string
  })[]
}

async function readUpTo(
  brokers: string,
  topic: string,
  goals: ReadonlyMap<number, number>,
  filter?: CommittedFilter<ReadRecord>,
): Promise<ReadRecord[]> {
  const groupId = `verifier-${randomUUID()}`
  const consumer = client(brokers).consumer({ groupId, readUncommitted: true })
  const records: ReadRecord[] = []
  const open = new Set([...goals].filter(([, goal]) => goal >= 0).map(([partition]) => partition))
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const limit = setTimeout(() => {
    reject(new Error(`${topic}: partitions ${[...open]} could not be read to their ends`))
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
