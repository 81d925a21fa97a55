import type { Producer } from 'kafkajs'
import { createTopicOn, openProducer } from '../kafka/client.ts'
import type { World } from '../world/world.ts'
import type { CopySite } from './copy-site.ts'

const LOOK_MS = 50
const CONNECT_LIMIT_MS = 60_000

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Of each topic: a broker that has missed records may come to lead. */
const CONFIGURATION = { 'unclean.leader.election.enable': 'true', 'min.insync.replicas': '1' }

/** A pair of brokers that hold topics of one partition, and that loses the newest records of one of them. */
export class UncleanPair {
  private readonly world: World
  private readonly limitMs: number
  /** Index of the broker that leads, and of the one that comes to lead. */
  private readonly first: number
  private readonly second: number

  constructor({ world, random, limitMs }: CopySite) {
    const { nodes } = world.broker
    this.world = world
    this.limitMs = limitMs
    this.first = random.below(nodes.length)
    this.second = (this.first + 1) % nodes.length
  }

  /** Creates topics that only the two brokers hold. */
  async create(topics: readonly string[]): Promise<void> {
    const { world, first, second } = this
    const replicas = [first, second].map((index) => world.broker.nodes[index]!.id)
    for (const topic of topics) {
      await createTopicOn(world.directBrokers, topic, { replicas, configuration: CONFIGURATION })
    }
  }

  /** Kills the second broker: what is written from now on is on the first alone. */
  async killSecond(): Promise<void> {
    await this.world.broker.stopNode('SIGKILL', this.second)
  }

  /** Kills the first broker and starts the second one, which leads, without what it has missed. */
  async elect(topics: readonly string[]): Promise<void> {
    const { world, first, second } = this
    await world.broker.stopNode('SIGKILL', first)
    await world.broker.startNode(second)
    const giveUpAt = performance.now() + this.limitMs
    for (const topic of topics) {
      const place = { topic, partition: 0, without: [first] }
      while ((await world.leaderOf(place).catch(() => -1)) !== second) {
        if (performance.now() > giveUpAt) throw new Error(`no unclean election of ${topic}`)
        await pause(LOOK_MS)
      }
    }
  }

  /** Starts the first broker in the background. */
  startFirst(): void {
    this.world.startBrokerLater(this.first)
  }
}

/** Writes records to the one partition of a topic, as a producer of its own. */
export async function writeRecords(
  { directBrokers }: World,
  topic: string,
  values: readonly string[],
): Promise<void> {
  const producer = await connected(directBrokers)
  const messages = values.map((value) => ({ key: value, value: Buffer.from(value), partition: 0 }))
  try {
    await producer.send({ topic, messages, acks: -1 })
  } finally {
    await producer.disconnect()
  }
}

/** A producer. While brokers are away and another one takes over their work, a connection fails now and then. */
async function connected(brokers: string): Promise<Producer> {
  const giveUpAt = performance.now() + CONNECT_LIMIT_MS
  for (;;) {
    try {
      return await openProducer(brokers)
    } catch (error) {
      if (performance.now() > giveUpAt) throw error
      await pause(LOOK_MS)
    }
  }
}
