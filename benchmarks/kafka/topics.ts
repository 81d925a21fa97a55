import { KafkaCluster } from '../../src/connectors/kafka/client/cluster.ts'
import { createKafkaTopic } from '../../src/connectors/kafka/client/topics.ts'
import { KafkaProducer } from '../../src/connectors/kafka/producer.ts'
import type { KafkaBroker } from '../../test/services/kafka/broker.ts'

/** Returns key and value of record `index`; both are valid until the next call. */
export type RecordMaker = (index: number) => {
  readonly key: Uint8Array | null
  readonly value: Uint8Array
}

/** Options of `fillTopic`. */
export interface TopicFill {
  readonly topic: string
  readonly partitions: number
  readonly records: number
  readonly make: RecordMaker
}

/** Creates a topic and fills it with records. */
export async function fillTopic(
  broker: KafkaBroker,
  { topic, partitions, records, make }: TopicFill,
): Promise<void> {
  const cluster = new KafkaCluster({ brokers: broker.bootstrap })
  try {
    await createKafkaTopic(cluster, { name: topic, partitions })
    const producer = await KafkaProducer.open(cluster, topic)
    for (let i = 0; i < records; i++) {
      const { key, value } = make(i)
      producer.sendRecord(key, value, i, -1, [])
      if (!producer.ready()) await producer.whenReady()
    }
    await producer.flush()
    producer.close()
  } finally {
    await cluster.close()
  }
}

const USERS = 200_000
const ITEMS = 50_000
const encoder = new TextEncoder()

/** A rating as a line of 30 bytes, `user,item,rating,seconds`, with the user as its key. */
export function ratingOf(index: number): { key: Uint8Array; value: Uint8Array } {
  const mixed = Math.imul(index + 1, 0x9e3779b1) >>> 0
  const user = String(100_000 + (mixed % USERS))
  const item = String(1_000_000 + ((mixed >>> 7) % ITEMS))
  const half = 1 + (mixed % 9)
  const rating = `${half >> 1}.${(half & 1) * 5}`
  const seconds = 1_000_000_000 + (index % 100_000_000)
  return {
    key: encoder.encode(user),
    value: encoder.encode(`${user},${item},${rating},${seconds}`),
  }
}

/** Records a second of Java's `kafka-consumer-perf-test`, without its start and joining of the group. */
export async function javaConsumerRate(
  broker: KafkaBroker,
  topic: string,
  records: number,
): Promise<number> {
  const printed = await broker.tool('org.apache.kafka.tools.ConsumerPerformance', [
    ...['--topic', topic, '--num-records', String(records), '--timeout', '60000'],
  ])
  const lines = printed.trim().split('\n')
  const names = lines[0]!.split(',').map((name) => name.trim())
  const fields = lines
    .at(-1)!
    .split(',')
    .map((field) => field.trim())
  return Number(fields[names.indexOf('fetch.nMsg.sec')])
}
