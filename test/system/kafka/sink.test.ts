import { Kafka, logLevel } from 'kafkajs'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import {
  endTransaction,
  type TransactionIdentity,
  transactionIdentity,
} from '../../../src/connectors/kafka/client/identity.ts'
import {
  describeKafkaTransaction,
  listKafkaTransactions,
} from '../../../src/connectors/kafka/client/transactions.ts'
import { KafkaProducer } from '../../../src/connectors/kafka/producer.ts'
import { KafkaSink } from '../../../src/connectors/kafka/sink.ts'
import { KafkaSource } from '../../../src/connectors/kafka/source.ts'
import { decodeCommittable } from '../../../src/connectors/transactions/committable.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { MetricGroup } from '../../../src/core/metrics.ts'
import type { SinkWriter } from '../../../src/operators/port/sink.ts'
import { pause } from '../../run/pause.ts'
import { until } from '../../run/until.ts'
import { KafkaBroker } from '../../services/kafka/broker.ts'
import {
  bytes,
  drain,
  newTopic,
  openCluster,
  openProducer,
  openReader,
  readAll,
  readLines,
  text,
} from './fixture.ts'

let broker: KafkaBroker
const client = (): { brokers: string } => ({ brokers: broker.bootstrap })

beforeAll(async () => {
  broker = await KafkaBroker.start({ startsQuickly: true })
})

afterAll(() => broker?.stop())

async function openWriter(
  topic: string,
  restored: readonly Uint8Array[] = [],
  transactionTimeoutMs = 600_000,
): Promise<SinkWriter<string>> {
  const writer = new KafkaSink<string>({
    ...client(),
    topic,
    guarantee: 'exactly-once',
    transactionTimeoutMs,
    serialize: (value, record) => {
      record.key = bytes(value)
      record.value = bytes(value)
    },
  }).createWriter()
  onTestFinished(() => writer.close())
  await writer.open(
    {
      jobName: topic,
      operatorUid: 'sink',
      subtask: 0,
      parallelism: 1,
      attempt: 1,
      clock: systemClock,
      metrics: new MetricGroup(),
    },
    restored,
  )
  return writer
}

const values = async (topic: string): Promise<string[]> =>
  (await readAll({ ...client(), topic })).map(({ value }) => text(value)).sort()

describe('an idempotent producer', () => {
  it('stores each of 1,000 concurrent sends once, while the broker is killed and restarted', async () => {
    const topic = await newTopic(client(), { partitions: 3 })
    const producer = await openProducer(client(), topic, { batchBytes: 500 })
    let acknowledged = 0
    const sends = Array.from({ length: 1_000 }, async (_, i) => {
      await pause((i % 100) * 4, 'sends come over time')
      // Kafka removes a producer whose latest record has a timestamp a day ago, together with the
      // numbers of its batches.
      producer.sendRecord(bytes(`k${i}`), bytes(`${i}`), Date.now(), -1, [])
      await producer.flush()
      acknowledged += 1
    })
    await until('a third is acknowledged', () => acknowledged >= 333)
    await broker.stopNode('SIGKILL')
    await broker.startNode()
    await Promise.all(sends)
    const stored = (await readAll({ ...client(), topic })).map(({ value }) => Number(text(value)))
    expect(stored.sort((a, b) => a - b)).toEqual(Array.from({ length: 1_000 }, (_, i) => i))
  })

  it('rejects a record that is too large for the broker, with advice', async () => {
    const topic = await newTopic(client(), { configs: { 'max.message.bytes': '2000' } })
    const producer = await openProducer(client(), topic)
    producer.sendRecord(null, new Uint8Array(5_000), 1, -1, [])
    await expect(producer.flush()).rejects.toMatchObject({ code: 'FRAME_TOO_LARGE' })
  })
})

describe('a prepared transaction', () => {
  it('is committed by another process after the broker was killed meanwhile', async () => {
    const topic = await newTopic(client(), { partitions: 2 })
    const writer = await openWriter(topic)
    for (let i = 0; i < 100; i++) writer.write(`v${i}`, 1)
    const committables = await writer.prepareCommit(1)
    await writer.close()
    await broker.stopNode('SIGKILL')
    await broker.startNode()
    expect(await values(topic)).toEqual([])
    await openWriter(topic, committables)
    expect(await values(topic)).toHaveLength(100)
  })

  it('is never committed by the handle of an older transaction of the same id', async () => {
    const topic = await newTopic(client())
    const cluster = openCluster(client())
    const write = async (identity: TransactionIdentity, value: string): Promise<void> => {
      const producer = await KafkaProducer.open(cluster, topic, { identity })
      producer.sendRecord(null, bytes(value), 1, 0, [])
      await producer.flush()
      producer.close()
    }
    const older = await transactionIdentity(cluster, `id-${topic}`, 60_000)
    await write(older, 'first')
    await endTransaction(cluster, older, true)
    const newer = await transactionIdentity(cluster, `id-${topic}`, 60_000)
    await write(newer, 'second')
    await expect(endTransaction(cluster, older, true)).rejects.toMatchObject({
      code: 'TRANSACTION_FENCED',
    })
    expect(await values(topic)).toEqual(['first'])
    await endTransaction(cluster, newer, true)
  })

  it('that was committed before is distinguished from one that was taken over and aborted', async () => {
    const topic = await newTopic(client())
    const cluster = openCluster(client())
    const first = await openWriter(topic)
    const prepare = async (
      writer: SinkWriter<string>,
      value: string,
    ): Promise<readonly Uint8Array[]> => {
      writer.write(value, 1)
      return await writer.prepareCommit(1)
    }
    // Twice, so that the coordinator no longer knows how the transaction of the old epoch ended.
    const takeOver = async (committables: readonly Uint8Array[]): Promise<void> => {
      const { identity } = decodeCommittable(committables[0]!)
      for (let i = 0; i < 2; i++)
        await transactionIdentity(cluster, identity.transactionalId, 60_000)
    }
    const committed = await prepare(first, 'kept')
    await first.commit(committed)
    await takeOver(committed)
    const second = await openWriter(topic, committed)
    const aborted = await prepare(second, 'lost')
    await takeOver(aborted)
    await expect(openWriter(topic, aborted)).rejects.toThrow(/the records .* are lost/)
    expect(await values(topic)).toEqual(['kept'])
  })

  it('that the broker timed out is reported, not silently lost', async () => {
    const topic = await newTopic(client())
    // Long enough for a busy machine to prepare it.
    const writer = await openWriter(topic, [], 5_000)
    writer.write('v', 1)
    const committables = await writer.prepareCommit(1)
    const cluster = openCluster(client())
    const isAborted = async (): Promise<boolean> => {
      const known = await listKafkaTransactions(cluster, `weir/${topic}/`)
      return known.some(({ state }) => state === 'CompleteAbort')
    }
    await until('the broker has aborted it', isAborted, { everyMs: 50 })
    await expect(writer.commit(committables)).rejects.toThrow(/raise transactionTimeoutMs/)
  })
})

describe('a writer that was wrongly considered dead', () => {
  it('is fenced when its successor opens', async () => {
    const topic = await newTopic(client())
    const zombie = await openWriter(topic)
    zombie.write('zombie', 1)
    const cluster = openCluster(client())
    await until('its transaction is open', async () => {
      const known = await listKafkaTransactions(cluster, `weir/${topic}/`)
      return known.some(({ state }) => state === 'Ongoing')
    })
    const successor = await openWriter(topic)
    successor.write('successor', 1)
    await successor.commit(await successor.prepareCommit(1))
    const fenced = { code: 'TRANSACTION_FENCED' }
    const prepared = await zombie.prepareCommit(1)
    await expect(zombie.commit(prepared)).rejects.toMatchObject(fenced)
    zombie.write('again', 1)
    await expect(zombie.prepareCommit(2)).rejects.toMatchObject(fenced)
    expect(await values(topic)).toEqual(['successor'])
  })
})

describe('transaction.timeout.ms', () => {
  it('above the limit of the broker is rejected when the writer opens', async () => {
    const topic = await newTopic(client())
    await expect(openWriter(topic, [], 3_600_001)).rejects.toThrow(
      /transactionTimeoutMs.*3600000|3600000.*transactionTimeoutMs/,
    )
  })
})

describe('a transaction that stays open', () => {
  it('can be listed, described and aborted', async () => {
    const topic = await newTopic(client())
    const cluster = openCluster(client())
    const identity = await transactionIdentity(cluster, `linger-${topic}`, 60_000)
    const producer = await KafkaProducer.open(cluster, topic, { identity })
    producer.sendRecord(null, bytes('v'), 1, 0, [])
    await producer.flush()
    const listed = await listKafkaTransactions(cluster, 'linger-')
    expect(listed).toMatchObject([{ transactionalId: `linger-${topic}`, state: 'Ongoing' }])
    const described = await describeKafkaTransaction(cluster, `linger-${topic}`)
    expect(described?.topics).toMatchObject([{ topic, partitions: [0] }])
    await endTransaction(cluster, described!, false)
    expect(await values(topic)).toEqual([])
    expect(await describeKafkaTransaction(cluster, 'nobody')).toBeUndefined()
  })
})

describe('a source', () => {
  it('continues after the broker was killed, and reads each record of kafkajs once', async () => {
    const topic = await newTopic(client(), { partitions: 2 })
    const reader = await openReader(KafkaSource.raw({ ...client(), topic }))
    const kafka = new Kafka({ brokers: [broker.bootstrap], logLevel: logLevel.NOTHING })
    const producer = kafka.producer({ idempotent: true })
    await producer.connect()
    const send = (from: number): Promise<unknown> => {
      const messages = Array.from({ length: 500 }, (_, i) => ({
        key: `k${i}`,
        value: `${from + i}`,
      }))
      return producer.send({ topic, messages })
    }
    await send(0)
    const first = await drain(reader, 500)
    await broker.stopNode('SIGKILL')
    const waiting = drain(reader, 500)
    await broker.startNode()
    await send(500)
    await producer.disconnect()
    const all = [...first, ...(await waiting)].map(({ value }) => Number(text(value)))
    expect(all.sort((a, b) => a - b)).toEqual(Array.from({ length: 1_000 }, (_, i) => i))
    expect(await readLines({ ...client(), topic })).toHaveLength(1_000)
  })
})

describe('a writer of many checkpoints', () => {
  it('needs only a few transactional ids', async () => {
    const topic = await newTopic(client())
    const writer = await openWriter(topic)
    for (let checkpoint = 1; checkpoint <= 12; checkpoint++) {
      writer.write(`c${checkpoint}`, 1)
      const committables = await writer.prepareCommit(checkpoint)
      await writer.commit(committables)
      await writer.commit(committables)
    }
    expect(await values(topic)).toHaveLength(12)
    const ids = await listKafkaTransactions(openCluster(client()), `weir/${topic}/`)
    expect(ids.length).toBeLessThanOrEqual(3)
  })
})
