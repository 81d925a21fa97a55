import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { KafkaCluster } from '../../../src/connectors/kafka/client/cluster.ts'
import { findCoordinatorV4 } from '../../../src/connectors/kafka/client/library.ts'
import { KafkaSink } from '../../../src/connectors/kafka/sink.ts'
import { KafkaSource } from '../../../src/connectors/kafka/source.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { WeirError } from '../../../src/core/errors.ts'
import { MetricGroup } from '../../../src/core/metrics.ts'
import type { DeliveryGuarantee, SinkWriter } from '../../../src/operators/port/sink.ts'
import { Process, settled } from '../../contracts/group-world.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { commitSeed } from '../../services/commit-seed.ts'
import { KafkaBroker } from '../../services/kafka/broker.ts'
import { bytes, drain, newTopic, openCluster, openReader, readAll, text } from './fixture.ts'
import { kafkaWorld } from './group/kafka-world.ts'

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

/** The node that coordinates a group. */
async function coordinatorOf(cluster: KafkaCluster, groupId: string): Promise<number> {
  return await cluster.retry('the coordinator', async () => {
    const connection = await cluster.anyBroker()
    const answer = await connection.call(findCoordinatorV4.api, 0, [groupId])
    const [found] = answer.coordinators
    if (found!.errorCode === 0) return found!.nodeId
    throw new WeirError('CONNECTOR_FAILED', 'it is not known yet')
  })
}

describe('a group on three brokers', () => {
  it('keeps its members, and takes commits, when its coordinator is killed', async () => {
    const topic = await newTopic(client(), { partitions: 24 })
    const world = kafkaWorld(broker.bootstrap, topic, 'failover')
    const groupId = world.newGroup()
    const [a, b, c] = ['a', 'b', 'c'].map((name) => new Process(world, groupId, name))
    onTestFinished(async () => {
      for (const { member } of [a!, b!, c!]) await member.close()
    })
    await settled(world, [a!, b!])
    const { generationId, memberId } = a!.last!
    const cluster = openCluster(client())
    const victim = await coordinatorOf(cluster, groupId)
    // A round waits for the others at the coordinator that is killed.
    c!.begin()
    await world.until('a hears of c', async () => (await a!.member.heartbeat()) === 'rebalancing')
    await broker.stopNode('SIGKILL', victim - 1)
    expect(await a!.member.heartbeat()).toMatch(/stable|rebalancing/)
    const producer = await world.producer(`${groupId}-a`)
    const offsets = new Map([
      [topic, [{ partition: 0, nextOffset: 7, leaderEpoch: -1, metadata: 'x' }]],
    ])
    const member = { memberId, generationId }
    await world
      .commits(groupId)
      .commit({ transaction: producer, member, groupInstanceId: undefined, offsets })
    await world.end(producer, true)
    await settled(world, [a!, b!, c!])
    expect([a!, b!, c!].flatMap(({ losses }) => losses)).toEqual([])
    expect(a!.last!.memberId).toBe(memberId)
    const found = await world.commits(groupId).fetch(new Map([[topic, [0]]]))
    expect(found.get(topic)!.get(0)).toEqual({ nextOffset: 7, metadata: 'x' })
    expect(await coordinatorOf(cluster, groupId)).not.toBe(victim)
    await broker.startNode(victim - 1)
  })
})
