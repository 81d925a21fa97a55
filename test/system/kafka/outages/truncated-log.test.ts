import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { OutOfRangePolicy } from '../../../../src/connectors/kafka/fetcher.ts'
import { KafkaSource } from '../../../../src/connectors/kafka/source.ts'
import type { TopicRecord } from '../../../../src/connectors/records/topic-record.ts'
import { messageOf } from '../../../../src/core/errors.ts'
import type { SourceReader, SourceSplit } from '../../../../src/operators/port/source.ts'
import { until } from '../../../run/until.ts'
import { KafkaBroker } from '../../../services/kafka/broker.ts'
import {
  bytes,
  drain,
  openCluster,
  openProducer,
  openReader,
  readerContext,
  text,
} from '../fixture.ts'

let broker: KafkaBroker
const client = (): { brokers: string } => ({ brokers: broker.bootstrap })

beforeAll(async () => {
  const properties = { 'min.insync.replicas': '1' }
  broker = await KafkaBroker.start({ nodes: 3, startsQuickly: true, properties })
})

afterAll(() => broker?.stop())

const TOPIC = 'clicks'

/** A topic whose one partition the first two brokers hold; one that has missed records may come to lead. */
async function createTopic(): Promise<void> {
  await broker.tool('org.apache.kafka.tools.TopicCommand', [
    ...['--create', '--topic', TOPIC, '--replica-assignment', '1:2'],
    ...['--config', 'unclean.leader.election.enable=true', '--config', 'min.insync.replicas=1'],
  ])
}

async function restored(
  splits: readonly SourceSplit[],
  outOfRange: OutOfRangePolicy,
): Promise<SourceReader<TopicRecord>> {
  const reader = KafkaSource.raw({ ...client(), topic: TOPIC, outOfRange }).createReader()
  onTestFinished(() => reader.close())
  await reader.open(readerContext())
  await reader.addSplits(splits)
  return reader
}

const failureOf = (reader: SourceReader<TopicRecord>): Promise<unknown> =>
  drain(reader, 1).catch((error: unknown) => error)

describe('an unclean election of a leader that has missed records', () => {
  it('is noticed by every reader of the lost records, and not in the way of a producer', async () => {
    await createTopic()
    const producer = await openProducer(client(), TOPIC)
    const write = async (from: number, count: number): Promise<void> => {
      for (let i = from; i < from + count; i++) {
        producer.sendRecord(null, bytes(`${i}`), Date.now(), 0, [])
        if (i % 10 === 9) producer.dispatch()
      }
      await producer.flush()
    }
    const reader = await openReader(KafkaSource.raw({ ...client(), topic: TOPIC }))
    await write(0, 100)
    expect(await drain(reader, 100)).toHaveLength(100)
    await broker.stopNode('SIGKILL', 1)
    // The second broker misses these.
    await write(100, 100)
    expect(await drain(reader, 100)).toHaveLength(100)
    const checkpoint = reader.snapshot()
    expect(checkpoint).toMatchObject([{ partition: 0, nextOffset: 200 }])
    await broker.stopNode('SIGKILL', 0)
    await broker.startNode(1)
    const cluster = openCluster(client())
    await until('the second broker leads', async () => {
      cluster.forgetLeaders(TOPIC)
      return (await cluster.leaderOf(TOPIC, 0).catch(() => -1)) === 2
    })
    // The new leader has numbers of the producer's batches that the old ones do not follow.
    await write(1000, 300)

    const error = await failureOf(reader)
    expect(error).toMatchObject({
      code: 'OFFSET_OUT_OF_RANGE',
      details: { topic: TOPIC, partition: 0, offset: 200, truncatedAt: 100 },
    })
    expect(messageOf(error)).toMatch(/clicks\/0 was truncated at offset 100.* to 200/)
    // After a restart from the checkpoint, too.
    expect(await failureOf(await restored(checkpoint, 'fail'))).toMatchObject({
      code: 'OFFSET_OUT_OF_RANGE',
      details: { offset: 200, truncatedAt: 100 },
    })
    const going = await restored(checkpoint, 'earliest-of-truncation')
    const values = (await drain(going, 300)).map(({ value }) => Number(text(value)))
    expect(values).toEqual(Array.from({ length: 300 }, (_, i) => 1000 + i))
    // A checkpoint of an earlier build has no epoch, and is read as before.
    const old = checkpoint.map(({ leaderEpoch: _, ...split }) => split)
    expect(await drain(await restored(old, 'fail'), 200)).toHaveLength(200)
  })
})
