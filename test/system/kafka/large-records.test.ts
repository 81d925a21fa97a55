import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { transactionIdentity } from '../../../src/connectors/kafka/client/identity.ts'
import { KafkaProducer } from '../../../src/connectors/kafka/producer.ts'
import { KafkaSource } from '../../../src/connectors/kafka/source.ts'
import { endTransactionVisibly } from '../../../src/connectors/kafka/transaction-end.ts'
import { MetricGroup } from '../../../src/core/metrics.ts'
import { type SharedKafka, sharedKafka } from '../../services/lending/kafka.ts'
import {
  bytes,
  drain,
  newTopic,
  openCluster,
  openProducer,
  openReader,
  readAll,
  text,
} from './fixture.ts'

let broker: SharedKafka
const client = (): { brokers: string } => ({ brokers: broker.bootstrap })

beforeAll(async () => {
  broker = await sharedKafka()
})

afterAll(() => broker?.[Symbol.asyncDispose]())

const BIG = 1_000_000
const filled = (size: number): Uint8Array => new Uint8Array(size).fill(120)

describe('a record near the limit of the topic', () => {
  it('is stored although small records lie before it', async () => {
    const topic = await newTopic(client())
    const producer = await openProducer(client(), topic)
    for (let i = 0; i < 300; i++) producer.sendRecord(bytes(`k${i}`), filled(200), 1, 0, [])
    producer.sendRecord(bytes('big'), filled(BIG), 1, 0, [])
    producer.sendRecord(bytes('last'), filled(1), 1, 0, [])
    await producer.flush()
    const records = await readAll({ ...client(), topic })
    expect(records.length).toBe(302)
    expect(text(records.at(-1)!.key)).toBe('last')
  })

  it('that is above it ends with an error that says topic, limit, key and size', async () => {
    const topic = await newTopic(client(), { configs: { 'max.message.bytes': '5000' } })
    const producer = await openProducer(client(), topic)
    producer.sendRecord(bytes('user-7'), filled(6000), 1, 0, [])
    const error: unknown = await producer.flush().catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({
      code: 'FRAME_TOO_LARGE',
      retryable: false,
      details: { topic, partition: 0, limit: 5000 },
    })
    expect(String(error)).toMatch(
      /key "user-7" is 60\d\d bytes .* accepts 5000 bytes .*raise max\.message\.bytes/,
    )
  })
})

describe('batches that are larger than the topic accepts', () => {
  it.each(['none', 'gzip'] as const)('are split, in order and once each (%s)', async (codec) => {
    const topic = await newTopic(client(), { configs: { 'max.message.bytes': '2000' } })
    const cluster = openCluster(client())
    const identity = await transactionIdentity(cluster, `split-${topic}`, 60_000)
    const producer = await KafkaProducer.open(cluster, topic, { identity, codec })
    onTestFinished(() => producer.close())
    const expected = Array.from({ length: 20_000 }, (_, i) => `value ${i} ${Math.sin(i)}`)
    for (const value of expected) producer.sendRecord(null, bytes(value), 1, 0, [])
    await producer.flush()
    await endTransactionVisibly(cluster, identity, true)
    const records = await readAll({ ...client(), topic })
    expect(records.map(({ value }) => text(value))).toEqual(expected)
  })
})

describe('a dead letter that is larger than its topic accepts', () => {
  it('is sent without value, says so, and is counted', async () => {
    const input = await newTopic(client())
    const deadLetterTopic = await newTopic(client(), { configs: { 'max.message.bytes': '2000' } })
    const producer = await openProducer(client(), input)
    producer.sendRecord(bytes('a'), filled(1900), 1, 0, [])
    producer.sendRecord(filled(1990), filled(3000), 1, 0, [])
    producer.sendRecord(bytes('c'), filled(10), 1, 0, [])
    await producer.flush()
    const metrics = new MetricGroup()
    const source = new KafkaSource<string>({
      ...client(),
      topic: input,
      bounded: true,
      undecodable: { deadLetterTopic },
      deserialize: () => {
        throw new Error('poison')
      },
    })
    const reader = await openReader(source, metrics)
    await drain(reader)
    await reader.settled?.()
    const letters = await readAll({ ...client(), topic: deadLetterTopic })
    const shown = letters.map(({ key, value, headers }) => ({
      key: key === null ? null : key.length,
      value: value === null ? null : value.length,
      headers: Object.fromEntries(headers.map((one) => [one.key, text(one.value)])),
    }))
    expect(shown).toMatchObject([
      {
        key: 1,
        value: null,
        headers: { 'weir-origin': `${input}/0/0`, 'weir-omitted': 'value of 1900 bytes' },
      },
      {
        key: null,
        value: null,
        headers: {
          'weir-origin': `${input}/0/1`,
          'weir-reason': 'poison',
          'weir-omitted': 'value of 3000 bytes, key and headers',
        },
      },
      { key: 1, value: 10, headers: { 'weir-origin': `${input}/0/2` } },
    ])
    expect(metrics.counter('numDeadLettersWithoutValue').value).toBe(2)
  })
})
