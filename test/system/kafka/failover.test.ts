import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { KafkaSink } from '../../../src/connectors/kafka/sink.ts'
import { KafkaSource } from '../../../src/connectors/kafka/source.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { MetricGroup } from '../../../src/core/metrics.ts'
import type { DeliveryGuarantee, SinkWriter } from '../../../src/operators/port/sink.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { commitSeed } from '../../services/commit-seed.ts'
import { KafkaBroker } from '../../services/kafka/broker.ts'
import { bytes, drain, newTopic, openCluster, openReader, readAll, text } from './fixture.ts'

let broker: KafkaBroker
const client = (): { brokers: string } => ({ brokers: broker.bootstrap })

beforeAll(async () => {
  broker = await KafkaBroker.start({ nodes: 3, startsQuickly: true })
})

afterAll(() => broker?.stop())

async function openWriter(
  topic: string,
  guarantee: DeliveryGuarantee,
): Promise<SinkWriter<number>> {
  const writer = new KafkaSink<number>({
    ...client(),
    topic,
    guarantee,
    batchBytes: 4_000,
    serialize: (value, record) => {
      record.key = bytes(`k${value}`)
      record.value = bytes(`${value}`)
      record.timestamp = Date.now()
    },
  }).createWriter()
  onTestFinished(() => writer.close())
  const metrics = new MetricGroup()
  const place = { subtask: 0, parallelism: 1, attempt: 1, clock: systemClock, metrics }
  await writer.open({ jobName: topic, operatorUid: 'sink', ...place }, [])
  return writer
}

const numbers = (records: readonly { readonly value: Uint8Array | null }[]): number[] =>
  records.map(({ value }) => Number(text(value))).sort((a, b) => a - b)

/** The short part has one of them, by the seed. */
const GUARANTEES = (['at-least-once', 'exactly-once'] as const).filter((_, n) =>
  campaignSize(n === commitSeed() % 2, true),
)

describe.each(GUARANTEES)('%s on three brokers', (guarantee) => {
  it('loses and repeats nothing when the leader is killed and restarted', async () => {
    const topic = await newTopic(client(), { partitions: 6 })
    const reader = await openReader(KafkaSource.raw({ ...client(), topic }))
    const writer = await openWriter(topic, guarantee)
    const total = 6_000
    const reading = drain(reader, total)
    const victim = (await openCluster(client()).topic(topic)).partitions[0]!.leader - 1
    let killed: Promise<void> | undefined
    for (let i = 0; i < total; i++) {
      writer.write(i, 1)
      if (i === 2_000) killed = broker.stopNode('SIGKILL', victim)
      if (i % 500 !== 499) continue
      await writer.commit(await writer.prepareCommit(i))
    }
    await killed
    expect(numbers(await reading)).toEqual(Array.from({ length: total }, (_, i) => i))
    await broker.startNode(victim)
    expect(numbers(await readAll({ ...client(), topic }))).toHaveLength(total)
  })
})
