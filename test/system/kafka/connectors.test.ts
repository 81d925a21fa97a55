import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  endTransaction,
  transactionIdentity,
} from '../../../src/connectors/kafka/client/identity.ts'
import { KafkaProducer } from '../../../src/connectors/kafka/producer.ts'
import { KafkaSink } from '../../../src/connectors/kafka/sink.ts'
import { KafkaSource } from '../../../src/connectors/kafka/source.ts'
import type { DeliveryGuarantee } from '../../../src/operators/port/sink.ts'
import {
  atLeastOnceSinkContract,
  exactlyOnceSinkContract,
  type SinkUnderTest,
} from '../../contracts/sink.ts'
import { type SourceUnderTest, sourceContract } from '../../contracts/source.ts'
import { type SharedKafka, sharedKafka } from '../../services/lending/kafka.ts'
import { bytes, newTopic, openCluster, readAll, text } from './fixture.ts'

let broker: SharedKafka

beforeAll(async () => {
  broker = await sharedKafka()
})

afterAll(() => broker?.[Symbol.asyncDispose]())

/** Three partitions, one of them empty, with mixed committed and aborted transactions. */
async function kafkaSource(): Promise<SourceUnderTest<string>> {
  const options = { brokers: broker.bootstrap }
  const topic = await newTopic(options, { partitions: 3 })
  const cluster = openCluster(options)
  const expected: string[][] = [[], [], []]
  let identity = await transactionIdentity(cluster, topic, 60_000)
  const producer = await KafkaProducer.open(cluster, topic, { identity })
  for (let i = 0; i < 14; i++) {
    const partition = i % 2
    const commits = i % 5 !== 3
    producer.sendRecord(null, bytes(`v${i}`), i, partition, [])
    await producer.flush()
    await endTransaction(cluster, identity, commits)
    if (commits) expected[partition]!.push(`v${i}`)
    identity = await transactionIdentity(cluster, topic, 60_000)
    producer.continueWith(identity)
  }
  const deserialize = (record: { value(): Uint8Array | null }): string => text(record.value())
  const source = new KafkaSource({ ...options, topic, bounded: true, deserialize })
  return { source, expected, textOf: (value) => value }
}

async function kafkaSink(guarantee: DeliveryGuarantee): Promise<SinkUnderTest> {
  const options = { brokers: broker.bootstrap }
  const topic = await newTopic(options, { partitions: 2 })
  const sink = new KafkaSink<string>({
    ...options,
    topic,
    guarantee,
    transactionalIdPrefix: topic,
    batchBytes: 1_000,
    maxInFlightBytes: 5_000,
    serialize: (value, record) => {
      record.key = bytes(value)
      record.value = bytes(value)
    },
  })
  const visible = async (): Promise<string[]> =>
    (await readAll({ ...options, topic })).map(({ value }) => text(value))
  return { sink, visible }
}

sourceContract('KafkaSource', kafkaSource)
atLeastOnceSinkContract('KafkaSink', () => kafkaSink('at-least-once'))
exactlyOnceSinkContract('KafkaSink', () => kafkaSink('exactly-once'))

describe('the contract suites', () => {
  it('ran against a live broker', () => {
    expect(broker.bootstrap).toMatch(/^127\.0\.0\.1:\d+$/)
  })
})
