import { consumerGroupHeartbeatV1 } from '@platformatic/kafka'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { KafkaGroupCommits } from '../../../../src/connectors/kafka/group/kafka-commits.ts'
import { KafkaGroupMember } from '../../../../src/connectors/kafka/group/kafka-member.ts'
import { messageOf } from '../../../../src/core/errors.ts'
import { groupContract } from '../../../contracts/group.ts'
import { Process, settled } from '../../../contracts/group-world.ts'
import { type SharedKafka, sharedKafka } from '../../../services/lending/kafka.ts'
import { newTopic, openCluster } from '../fixture.ts'
import { kafkaWorld } from './kafka-world.ts'

let broker: SharedKafka
let topic: string

beforeAll(async () => {
  broker = await sharedKafka()
  topic = await newTopic({ brokers: broker.bootstrap }, { partitions: 24 })
})

afterAll(async () => {
  await broker?.[Symbol.asyncDispose]()
})

groupContract('Kafka', () => kafkaWorld(broker.bootstrap, topic, 'group'))

it("Kafka's own tool shows which member owns which partition", async () => {
  const world = kafkaWorld(broker.bootstrap, topic, 'shown')
  const groupId = world.newGroup()
  const processes = ['a', 'b'].map((name) => new Process(world, groupId, name))
  onTestFinished(async () => {
    for (const { member } of processes) await member.close()
  })
  await settled(world, processes)
  const tool = 'org.apache.kafka.tools.consumer.group.ConsumerGroupCommand'
  const text = await broker.tool(tool, ['--describe', '--members', '--verbose', '--group', groupId])
  for (const { last, partitions } of processes) {
    const row = text.split('\n').find((line) => line.includes(last!.memberId))
    expect(row, text).toMatch(new RegExp(`\\b1 .*${topic}[(:]${partitions[0]}\\b`))
  }
})

it('a broker stores the largest assignment that is not refused', async () => {
  const world = kafkaWorld(broker.bootstrap, topic, 'large')
  const member = world.member({ groupId: world.newGroup() })
  onTestFinished(() => member.close())
  const userData = new Uint8Array(999_000)
  const { assignment } = await member.join(new Uint8Array(0), ([only]) => {
    return new Map([[only!.memberId, { topicPartitions: new Map(), userData }]])
  })
  expect(assignment.userData).toHaveLength(999_000)
  expect(await member.heartbeat()).toBe('stable')
})

it('a user without a right to the group gets the command that grants it', async () => {
  const cluster = openCluster({
    brokers: broker.saslBootstrap,
    sasl: { mechanism: 'PLAIN', username: 'bob', password: 'bob-secret' },
    tls: { ca: broker.certificate },
  })
  const grant =
    /is not allowed: User:bob needs READ on group "secret-group"; let an administrator run: kafka-acls --add --allow-principal User:bob --operation Read --group secret-group$/
  const member = new KafkaGroupMember(cluster, { groupId: 'secret-group' })
  const joining = member.join(new Uint8Array(0), () => new Map())
  expect(await joining.then(String, messageOf)).toMatch(grant)
  const commits = new KafkaGroupCommits(cluster, { groupId: 'secret-group' })
  expect(await commits.fetch(new Map([[topic, [0]]])).then(String, messageOf)).toMatch(grant)
})

/** Lets a consumer of Kafka's newer protocol, KIP-848, join a group. Returns the error number. */
async function joinAsNewConsumer(groupId: string, memberEpoch: number): Promise<number> {
  const cluster = openCluster({ brokers: broker.bootstrap })
  const { errorCode } = await cluster.callCoordinator({
    kind: 'group',
    key: groupId,
    doing: 'join of a consumer',
    request: (connection) =>
      connection.call(
        consumerGroupHeartbeatV1.api,
        groupId,
        'stranger',
        memberEpoch,
        null,
        null,
        60_000,
        [topic],
        null,
        null,
        [],
      ),
    errorOf: () => 0,
  })
  return errorCode
}

it('a consumer of the newer protocol does not take a group over, and its group is not entered', async () => {
  const world = kafkaWorld(broker.bootstrap, topic, 'newer')
  const [own, other] = [world.newGroup(), world.newGroup()]
  const process = new Process(world, own, 'a')
  const entering = new Process(world, other, 'b')
  onTestFinished(async () => {
    for (const { member } of [process, entering]) await member.close()
  })
  await settled(world, [process])
  const GROUP_ID_NOT_FOUND = 69
  expect(await joinAsNewConsumer(own, 0)).toBe(GROUP_ID_NOT_FOUND)
  expect(await process.member.heartbeat()).toBe('stable')
  expect(await joinAsNewConsumer(other, 0)).toBe(0)
  const joining = entering.member.join(new Uint8Array(1), () => new Map())
  expect(await joining.then(String, messageOf)).toMatch(/take another group/)
  expect(await joinAsNewConsumer(other, -1)).toBe(0)
})
