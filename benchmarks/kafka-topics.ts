import { KafkaCluster } from '../src/connectors/kafka/kafka-cluster.ts'
import { KafkaProducer } from '../src/connectors/kafka/kafka-producer.ts'
import { createKafkaTopic } from '../src/connectors/kafka/kafka-topics.ts'
import type { KafkaBroker } from '../test/services/kafka-broker.ts'

/** Sets key and value of record `index` into the given buffers' owner. */
export type RecordMaker = (index: number) => {
  readonly key: Uint8Array | null
  readonly value: Uint8Array
}

/** Creates a topic and fills it. */
export async function fillTopic(
  broker: KafkaBroker,
  topic: string,
  partitions: number,
  records: number,
  make: RecordMaker,
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

/** A rating of 30 bytes as a line, `user,item,rating,seconds`, under its user as key. */
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

/** Records a second of Java's `kafka-consumer-perf-test`, its start and group excluded. */
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
