import { Kafka, logLevel } from 'kafkajs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { transactionIdentity } from '../../../src/connectors/kafka/client/identity.ts'
import {
  createKafkaTopic,
  describeKafkaTopic,
  listKafkaTopics,
} from '../../../src/connectors/kafka/client/topics.ts'
import { KafkaProducer } from '../../../src/connectors/kafka/producer.ts'
import { KafkaSource } from '../../../src/connectors/kafka/source.ts'
import { endTransactionVisibly } from '../../../src/connectors/kafka/transaction-end.ts'
import { deserializeValue } from '../../../src/connectors/records/value-deserializer.ts'
import { csvFormat } from '../../../src/core/formats/csv.ts'
import { MetricGroup } from '../../../src/core/metrics.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { pause } from '../../run/pause.ts'
import { until } from '../../run/until.ts'
import { commitSeed } from '../../services/commit-seed.ts'
import { consumeWithJava, groupLag, produceWithJava } from '../../services/kafka/tools.ts'
import { KAFKA_USERS, type SharedKafka, sharedKafka } from '../../services/lending/kafka.ts'
import {
  bytes,
  drain,
  freshName,
  newTopic,
  openCluster,
  openProducer,
  openReader,
  produce,
  readAll,
  readLines,
  text,
} from './fixture.ts'

let broker: SharedKafka
const client = (): { brokers: string } => ({ brokers: broker.bootstrap })

beforeAll(async () => {
  broker = await sharedKafka()
})

afterAll(() => broker?.[Symbol.asyncDispose]())

const numbered = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, i) => `${prefix}=${i}`)

/** Writes transactions of one producer, one after the other, and returns the committed lines. */
async function transactions(
  topic: string,
  parts: readonly { readonly commit: boolean; readonly count: number }[],
): Promise<string[]> {
  const cluster = openCluster(client())
  const committed: string[] = []
  let producer: KafkaProducer | undefined
  for (const [index, { commit, count }] of parts.entries()) {
    const identity = await transactionIdentity(cluster, `tx-${topic}`, 60_000)
    producer ??= await KafkaProducer.open(cluster, topic, { batchBytes: 2_000, identity })
    producer.continueWith(identity)
    const lines = numbered(`${commit ? 'C' : 'A'}${index}`, count)
    for (const line of lines) {
      const [key, value] = line.split('=')
      producer.sendRecord(bytes(key!), bytes(value!), 1, 0, [])
    }
    await producer.flush()
    // Its marker comes after the answer: a reader that ends before it would not have what was committed.
    await endTransactionVisibly(cluster, identity, commit)
    if (commit) committed.push(...lines)
  }
  producer?.close()
  return committed
}

async function readWithKafkajs(topic: string, count: number): Promise<string[]> {
  const kafka = new Kafka({ brokers: [broker.bootstrap], logLevel: logLevel.NOTHING })
  const consumer = kafka.consumer({ groupId: freshName('kafkajs'), readUncommitted: false })
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  const lines: string[] = []
  await new Promise<void>((resolve, reject) => {
    consumer
      .run({
        eachMessage: async ({ message }) => {
          lines.push(`${message.key?.toString()}=${message.value?.toString()}`)
          if (lines.length === count) resolve()
        },
      })
      .catch(reject)
  })
  await consumer.disconnect()
  return lines
}

describe('read_committed', () => {
  it('shows the same records as Java and kafkajs when one producer aborts and commits in turn', async () => {
    const topic = await newTopic(client())
    const committed = await transactions(topic, [
      { commit: false, count: 10 },
      { commit: true, count: 10 },
      { commit: false, count: 20 },
      { commit: true, count: 10 },
      { commit: false, count: 40 },
      { commit: true, count: 1 },
    ])
    expect(await readLines({ ...client(), topic })).toEqual(committed)
    expect(await readLines({ ...client(), topic, partitionMaxBytes: 100 })).toEqual(committed)
    expect(await readWithKafkajs(topic, committed.length)).toEqual(committed)
    const java = await consumeWithJava(broker, topic, committed.length)
    expect(java).toEqual(committed.map((line) => line.replace('=', '\t')))
  })

  it('drops an aborted transaction whose marker is far outside the answer', async () => {
    const topic = await newTopic(client())
    const committed = await transactions(topic, [
      { commit: true, count: 3 },
      { commit: false, count: 4_000 },
      { commit: true, count: 3 },
    ])
    for (const partitionMaxBytes of [1, 5_000, 1 << 20]) {
      expect(await readLines({ ...client(), topic, partitionMaxBytes })).toEqual(committed)
    }
  })

  it('is correct from every offset, also inside transactions and on their markers', async () => {
    const topic = await newTopic(client())
    const committed = await transactions(topic, [
      { commit: false, count: 3 },
      { commit: true, count: 3 },
      { commit: false, count: 3 },
      { commit: true, count: 3 },
    ])
    const all = await readAll({ ...client(), topic })
    for (let start = 0; start <= 16; start++) {
      const lines = await readLines({ ...client(), topic, start: { offsets: { 0: start } } })
      expect(lines).toEqual(committed.filter((_, i) => all[i]!.offset >= start))
    }
  })

  it('shows aborted records to read_uncommitted only', async () => {
    const topic = await newTopic(client())
    await transactions(topic, [{ commit: false, count: 5 }])
    expect(await readLines({ ...client(), topic })).toEqual([])
    expect(await readLines({ ...client(), topic, isolation: 'read_uncommitted' })).toHaveLength(5)
  })
})

describe('compression', () => {
  const codecs = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const
  const lines = numbered('key', 600).map((line) => `${line}-${'x'.repeat(60)}`)
  const asJava = lines.map((line) => line.replace('=', '\t'))

  // The short part has every second one, by the seed: each takes a JVM.
  const read = codecs.filter((_, n) => campaignSize(n % 2 === commitSeed() % 2, true))
  it.each(read)('of Java is read (%s)', async (codec) => {
    const topic = await newTopic(client())
    await produceWithJava(broker, topic, asJava, codec)
    expect(await readLines({ ...client(), topic })).toEqual(lines)
  })

  it('of ours is read by Java, every codec', async () => {
    const topic = await newTopic(client())
    for (const codec of codecs) await produce(client(), topic, lines, { codec, batchBytes: 9_000 })
    const expected = codecs.flatMap(() => asJava)
    expect(await consumeWithJava(broker, topic, expected.length)).toEqual(expected)
  })
})

describe('records', () => {
  it('keep headers, tombstones, empty keys and values and their time', async () => {
    const topic = await newTopic(client())
    const producer = await openProducer(client(), topic)
    const headers = [
      { key: 'h', value: bytes('1') },
      { key: 'h', value: null },
    ]
    producer.sendRecord(bytes('k'), null, 7, -1, headers)
    producer.sendRecord(null, bytes(''), 8, -1, [])
    producer.sendRecord(bytes(''), bytes('v'), 9, -1, [])
    await producer.flush()
    expect(await readAll({ ...client(), topic })).toEqual([
      { key: bytes('k'), value: null, timestamp: 7, partition: 0, offset: 0, headers },
      { key: null, value: bytes(''), timestamp: 8, partition: 0, offset: 1, headers: [] },
      { key: bytes(''), value: bytes('v'), timestamp: 9, partition: 0, offset: 2, headers: [] },
    ])
  })

  it('have the partitions that Java chooses for their keys', async () => {
    const keys = Array.from({ length: 50 }, (_, i) => `${'k'.repeat(i % 7)}${i * 31}-U`)
    const ours = await newTopic(client(), { partitions: 7 })
    const java = await newTopic(client(), { partitions: 7 })
    await produce(
      client(),
      ours,
      keys.map((key) => `${key}=v`),
    )
    await produceWithJava(
      broker,
      java,
      keys.map((key) => `${key}\tv`),
    )
    const places = async (topic: string): Promise<string[]> =>
      (await readAll({ ...client(), topic })).map(
        ({ key, partition }) => `${text(key)}@${partition}`,
      )
    expect((await places(ours)).sort()).toEqual((await places(java)).sort())
  })

  it('that compaction removed leave gaps, which are skipped', async () => {
    const topic = await newTopic(client(), {
      compacted: true,
      configs: {
        'segment.ms': '100',
        'min.cleanable.dirty.ratio': '0.001',
        'min.compaction.lag.ms': '0',
        'max.compaction.lag.ms': '200',
      },
    })
    await produce(client(), topic, numbered('same', 200), { batchBytes: 300 }, 0, Date.now())
    let value = 200
    const isCompacted = async (): Promise<boolean> => {
      // A new record rolls the segment: only older segments can be cleaned.
      await produce(client(), topic, [`same=${value}`], {}, 0, Date.now())
      const lines = await readLines({ ...client(), topic })
      expect(lines.at(-1)).toBe(`same=${value++}`)
      return lines.length < 50
    }
    await until('most records are gone', isCompacted, { everyMs: 100 })
    expect((await describeKafkaTopic(openCluster(client()), topic))['cleanup.policy']).toBe(
      'compact',
    )
  })
})

describe('starting offsets', () => {
  it('are earliest, latest, given, by time or committed', async () => {
    const topic = await newTopic(client())
    const producer = await openProducer(client(), topic)
    for (let i = 0; i < 10; i++) producer.sendRecord(null, bytes(`${i}`), 1_000 + i, 0, [])
    await producer.flush()
    const values = async (start: object | 'earliest' | 'latest'): Promise<string[]> =>
      (await readAll({ ...client(), topic, groupId: `g-${topic}`, start } as never)).map((record) =>
        text(record.value),
      )
    expect(await values('earliest')).toHaveLength(10)
    expect(await values('latest')).toEqual([])
    expect(await values({ offsets: { 0: 7 } })).toEqual(['7', '8', '9'])
    expect(await values({ timestamp: 1_008 })).toEqual(['8', '9'])
    expect(await values({ timestamp: 9_000 })).toEqual([])
    expect(await values({ committed: true, otherwise: 'latest' })).toEqual([])
    const reader = await openReader(
      KafkaSource.raw({ ...client(), topic, groupId: `g-${topic}`, bounded: true }),
    )
    await drain(reader, 10)
    reader.snapshot()
    reader.checkpointCompleted(1)
    await reader.close()
    expect(await values({ committed: true })).toEqual([])
    expect(await groupLag(broker, `g-${topic}`)).toEqual(new Map([[0, 0]]))
  })

  it('out of range fail, or continue at the configured offset', async () => {
    const topic = await newTopic(client())
    await produce(client(), topic, numbered('k', 3))
    const start = { offsets: { 0: 1_000 } }
    const raw = { ...client(), topic, start }
    const failing = await openReader(KafkaSource.raw(raw))
    const failed: unknown = await drain(failing, 1).catch((error: unknown) => error)
    expect(failed).toMatchObject({
      code: 'OFFSET_OUT_OF_RANGE',
      details: { offset: 1_000, logStart: 0, end: 3 },
    })
    expect(String(failed)).toContain('the partition has 0 to 3: records that were read')
    const lenient = await openReader(KafkaSource.raw({ ...raw, outOfRange: 'earliest' }))
    expect(await drain(lenient, 3)).toHaveLength(3)
  })
})

describe('a running reader', () => {
  it('reports when it has seen the end, and reads partitions that are added', async () => {
    const topic = await newTopic(client())
    await produce(client(), topic, numbered('k', 3))
    const source = KafkaSource.raw({ ...client(), topic, discoveryIntervalMs: 100 })
    const reader = await openReader(source)
    const ends: number[] = []
    const output = {
      collect: () => undefined,
      progress: (_: number, next: number, asOf?: number) => void (asOf && ends.push(next)),
    }
    while (ends.length === 0) {
      if (reader.poll(output, 10) === 'idle') await reader.available()
    }
    expect(ends).toEqual([3])
    await broker.tool('org.apache.kafka.tools.TopicCommand', [
      ...['--alter', '--topic', topic, '--partitions', '3'],
    ])
    expect(await source.discover()).toEqual([0, 1, 2])
    await reader.addSplits([{ partition: 2, nextOffset: -1 }])
    await produce(client(), topic, ['new=1'], {}, 2)
    expect(await drain(reader, 1)).toMatchObject([{ partition: 2, offset: 0 }])
  })

  it('holds no more than its budget while there are no polls', async () => {
    const topic = await newTopic(client())
    const lines = numbered('k', 2_000).map((line) => `${line}${'y'.repeat(1_000)}`)
    await produce(client(), topic, lines, { batchBytes: 20_000 })
    const budget = { prefetchBytes: 50_000, partitionMaxBytes: 30_000 }
    const metrics = new MetricGroup()
    const reader = await openReader(KafkaSource.raw({ ...client(), topic, ...budget }), metrics)
    const held = (): number => metrics.snapshot()['prefetchedBytes']!
    await until('the budget is used up', () => held() >= budget.prefetchBytes)
    await pause(100, 'shows that no more is fetched')
    let ready = 0
    const output = { collect: () => void ready++, progress: () => undefined }
    // Synchronous polls get only the held records: more arrive in later turns of the event loop.
    while (reader.poll(output, 100) === 'more');
    expect(ready).toBeGreaterThan(20)
    expect(ready).toBeLessThan(110)
    expect(await drain(reader, 2_000 - ready)).toHaveLength(2_000 - ready)
  })

  it('copies undecodable records to the dead-letter topic and loses no other record', async () => {
    const topic = await newTopic(client())
    const deadLetterTopic = await newTopic(client())
    await produce(client(), topic, ['a=1', 'b=bad', 'c=3', 'd=bad', 'e=5'])
    const metrics = new MetricGroup()
    const format = csvFormat({ columns: { count: 'integer' } })
    const source = new KafkaSource({
      ...client(),
      topic,
      bounded: true,
      undecodable: { deadLetterTopic },
      deserialize: deserializeValue(format),
    })
    const counts = await drain(await openReader(source, metrics))
    expect(counts.map(({ count }) => count)).toEqual([1, 3, 5])
    expect(metrics.snapshot()['numRecordsUndecodable']).toBe(2)
    const dead = await readAll({ ...client(), topic: deadLetterTopic })
    expect(dead.map(({ key, value }) => `${text(key)}=${text(value)}`)).toEqual(['b=bad', 'd=bad'])
    expect(dead[0]!.headers.map((header) => `${header.key}: ${text(header.value)}`)).toEqual([
      `weir-origin: ${topic}/0/1`,
      'weir-reason: column 1 of the CSV row: "bad" in count is no integer',
      'weir-code: UNPARSABLE_RECORD',
    ])
  })

  it('of a missing topic reports that', async () => {
    const source = KafkaSource.raw({ ...client(), topic: 'nowhere' })
    await expect(source.discover()).rejects.toMatchObject({ code: 'UNKNOWN_TOPIC' })
  })
})

describe('access', () => {
  const tls = (): object => ({ ca: broker.certificate })

  it('with PLAIN and SCRAM over TLS', async () => {
    const scram = (user: string, config: string): Promise<string> =>
      broker.tool('kafka.admin.ConfigCommand', [
        ...['--alter', '--entity-type', 'users', '--entity-name', user],
        ...['--add-config', config],
      ])
    await scram('grace', 'SCRAM-SHA-256=[password=s256]')
    await scram('edith', 'SCRAM-SHA-512=[password=s512]')
    const topic = await newTopic(client())
    const users = [
      { mechanism: 'PLAIN', username: 'ada', password: KAFKA_USERS.ada },
      { mechanism: 'SCRAM-SHA-256', username: 'grace', password: 's256' },
      { mechanism: 'SCRAM-SHA-512', username: 'edith', password: 's512' },
    ] as const
    for (const sasl of users) {
      const secure = { brokers: broker.saslBootstrap, sasl, tls: tls() }
      await produce(secure, topic, [`${sasl.mechanism}=1`])
      expect(await readLines({ ...secure, topic })).toContain(`${sasl.mechanism}=1`)
    }
  })

  it('is refused to a wrong password and to an unknown certificate', async () => {
    const sasl = { mechanism: 'PLAIN', username: 'ada', password: 'wrong' } as const
    const wrong = openCluster({ brokers: broker.saslBootstrap, sasl, tls: tls() })
    await expect(wrong.topic('t')).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    const untrusting = { brokers: broker.saslBootstrap, sasl, tls: true, deliveryTimeoutMs: 300 }
    await expect(openCluster(untrusting).topic('t')).rejects.toThrow(/self-signed/)
  })
})

describe('topics', () => {
  it('are created, listed and described, and not created twice', async () => {
    const cluster = openCluster(client())
    const name = freshName('admin')
    const configs = { 'retention.ms': '60000' }
    await createKafkaTopic(cluster, { name, partitions: 3, compacted: true, configs })
    // The controller answers before every broker has the topic in its metadata.
    await expect.poll(() => listKafkaTopics(cluster)).toContain(name)
    const settings = await describeKafkaTopic(cluster, name)
    expect(settings).toMatchObject({ 'cleanup.policy': 'compact', 'retention.ms': '60000' })
    expect((await cluster.topic(name)).partitions).toHaveLength(3)
    await expect(createKafkaTopic(cluster, { name })).rejects.toMatchObject({
      code: 'TOPIC_EXISTS',
    })
  })
})
