import { onTestFinished } from 'vitest'
import { KafkaCluster } from '../../../src/connectors/kafka/client/cluster.ts'
import type { KafkaClientOptions } from '../../../src/connectors/kafka/client/options.ts'
import {
  createKafkaTopic,
  type NewKafkaTopic,
} from '../../../src/connectors/kafka/client/topics.ts'
import { KafkaProducer, type KafkaProducerOptions } from '../../../src/connectors/kafka/producer.ts'
import { KafkaSource } from '../../../src/connectors/kafka/source.ts'
import type { RawKafkaSourceOptions } from '../../../src/connectors/kafka/source-options.ts'
import type { TopicRecord } from '../../../src/connectors/records/topic-record.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { MetricGroup } from '../../../src/core/metrics.ts'
import type { SourceReader, SourceReaderContext } from '../../../src/operators/port/source.ts'

const encoder = new TextEncoder()
const decoder = new TextDecoder()

export const bytes = (text: string): Uint8Array => encoder.encode(text)
export const text = (value: Uint8Array | null | undefined): string =>
  value === null || value === undefined ? 'null' : decoder.decode(value)

let topics = 0

/** A unique name of a topic. */
export const freshName = (base = 'topic'): string => `${base}-${++topics}`

/** A cluster client that is closed when the test ends. */
export function openCluster(options: KafkaClientOptions): KafkaCluster {
  const cluster = new KafkaCluster(options)
  onTestFinished(() => cluster.close())
  return cluster
}

/** Creates a topic with a unique name. */
export async function newTopic(
  options: KafkaClientOptions,
  topic: Partial<NewKafkaTopic> = {},
): Promise<string> {
  const name = freshName()
  const cluster = new KafkaCluster(options)
  try {
    await createKafkaTopic(cluster, { name, partitions: 1, ...topic })
  } finally {
    await cluster.close()
  }
  return name
}

/** A producer that is closed when the test ends. */
export async function openProducer(
  options: KafkaClientOptions,
  topic: string,
  producerOptions: KafkaProducerOptions = {},
): Promise<KafkaProducer> {
  const producer = await KafkaProducer.open(openCluster(options), topic, producerOptions)
  onTestFinished(() => producer.close())
  return producer
}

/** Writes `key=value` texts and waits until they are acknowledged. */
export async function produce(
  options: KafkaClientOptions,
  topic: string,
  lines: readonly string[],
  producerOptions: KafkaProducerOptions = {},
  partition = -1,
  timestamp = 1_000,
): Promise<void> {
  const producer = await openProducer(options, topic, producerOptions)
  for (const line of lines) {
    const [key, value] = line.split('=')
    producer.sendRecord(bytes(key!), bytes(value!), timestamp, partition, [])
  }
  await producer.flush()
}

export const readerContext = (metrics = new MetricGroup()): SourceReaderContext => ({
  subtask: 0,
  parallelism: 1,
  clock: systemClock,
  metrics,
})

/** A reader of all partitions, closed when the test ends. */
export async function openReader<T>(
  source: KafkaSource<T>,
  metrics = new MetricGroup(),
): Promise<SourceReader<T>> {
  const reader = source.createReader()
  onTestFinished(() => reader.close())
  await reader.open(readerContext(metrics))
  const partitions = await source.discover()
  await reader.addSplits(partitions.map((partition) => ({ partition, nextOffset: -1 })))
  return reader
}

/** Polls until the reader has ended, or has delivered `count` records. */
export async function drain<T>(
  reader: SourceReader<T>,
  count = Number.POSITIVE_INFINITY,
): Promise<T[]> {
  const values: T[] = []
  const output = { collect: (value: T) => void values.push(value), progress: () => undefined }
  while (values.length < count) {
    const result = reader.poll(output, 1_000)
    if (result === 'ended') break
    if (result === 'idle' && values.length < count) await reader.available()
  }
  return values
}

/** All visible records. */
export async function readAll(options: RawKafkaSourceOptions): Promise<TopicRecord[]> {
  const source = KafkaSource.raw({ ...options, bounded: true })
  const reader = source.createReader()
  await reader.open(readerContext())
  const partitions = await source.discover()
  await reader.addSplits(partitions.map((partition) => ({ partition, nextOffset: -1 })))
  const records = await drain(reader)
  await reader.close()
  return records
}

/** All visible records as `key=value`, in the order of partition and offset. */
export async function readLines(options: RawKafkaSourceOptions): Promise<string[]> {
  const records = await readAll(options)
  records.sort((a, b) => a.partition - b.partition || a.offset - b.offset)
  return records.map(({ key, value }) => `${text(key)}=${text(value)}`)
}
