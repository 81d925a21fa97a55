import { metadataV12 } from '@platformatic/kafka'
import { describe, expect, it } from 'vitest'
import { KafkaCluster } from '../../../../src/connectors/kafka/client/cluster.ts'
import type {
  BrokerAddress,
  KafkaConnection,
} from '../../../../src/connectors/kafka/client/connection.ts'
import type { Cancel } from '../../../../src/core/clock.ts'
import { WeirError } from '../../../../src/core/errors.ts'
import { seededRandom } from '../../../../src/core/random.ts'
import { ManualClock } from '../../../../src/testing/manual-clock.ts'

/** Connections that answer metadata requests with one topic, and count the requests. */
class FakeBrokers {
  readonly asked: string[] = []
  readonly down = new Set<number>()
  /** Answers without the topic, before the one that has it. */
  missing = 0

  connect = async ({ host, port }: BrokerAddress): Promise<KafkaConnection> => {
    if (this.down.has(port)) throw new WeirError('CONNECTOR_FAILED', `${port} is down`)
    const call = async (api: unknown): Promise<unknown> => {
      this.asked.push(`${host}:${port}`)
      expect(api).toBe(metadataV12.api)
      return this.metadata()
    }
    return { isOpen: true, call: call as KafkaConnection['call'], close: async () => undefined }
  }

  private metadata(): unknown {
    const partitions = [{ errorCode: 0, partitionIndex: 0, leaderId: 2, leaderEpoch: 1 }]
    return {
      brokers: [
        { nodeId: 1, host: 'a', port: 1 },
        { nodeId: 2, host: 'a', port: 2 },
      ],
      topics: this.missing-- > 0 ? [] : [{ name: 't', errorCode: 0, topicId: 'id', partitions }],
    }
  }
}

/** A clock on which every wait is over at once. */
class EagerClock extends ManualClock {
  override after(delayMs: number, callback: () => void): Cancel {
    const cancel = super.after(delayMs, callback)
    setImmediate(() => this.advance(delayMs))
    return cancel
  }
}

describe('KafkaCluster', () => {
  it('uses the next broker when one is down', async () => {
    const brokers = new FakeBrokers()
    brokers.down.add(1)
    const cluster = new KafkaCluster({ brokers: 'a:1,a:2' }, { connect: brokers.connect })
    expect(await cluster.leaderOf('t', 0)).toBe(2)
    expect(brokers.asked).toEqual(['a:2'])
  })

  it('sends one request for concurrent calls, and another one when the leaders were dropped', async () => {
    const brokers = new FakeBrokers()
    const cluster = new KafkaCluster({ brokers: 'a:1' }, { connect: brokers.connect })
    await Promise.all([cluster.topic('t'), cluster.topic('t'), cluster.leaderOf('t', 0)])
    expect(brokers.asked).toHaveLength(1)
    cluster.forgetLeaders('t')
    await cluster.topic('t')
    expect(brokers.asked).toHaveLength(2)
  })

  it('looks for a topic that was created for as long as its caller says', async () => {
    const brokers = new FakeBrokers()
    const world = { connect: brokers.connect, clock: new EagerClock(), random: seededRandom(1) }
    const cluster = new KafkaCluster({ brokers: 'a:1' }, world)
    brokers.missing = 12
    await expect(cluster.topic('t')).rejects.toThrow(/topic "t" does not exist/)
    brokers.missing = 12
    expect(await cluster.topic('t', 15_000)).toMatchObject({ name: 't', topicId: 'id' })
  })

  it('fails when no broker answers within the delivery timeout', async () => {
    const brokers = new FakeBrokers()
    brokers.down.add(1)
    const options = { brokers: 'a:1', deliveryTimeoutMs: 50 }
    const cluster = new KafkaCluster(options, { connect: brokers.connect })
    await expect(cluster.topic('t')).rejects.toThrow(/within 50 ms.*1 is down/)
  })
})
