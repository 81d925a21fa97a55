import { metadataV12 } from '@platformatic/kafka'
import { describe, expect, it } from 'vitest'
import { KafkaCluster } from '../../../src/connectors/kafka/kafka-cluster.ts'
import {
  type BrokerAddress,
  type KafkaConnection,
  parseBrokers,
} from '../../../src/connectors/kafka/kafka-connection.ts'
import { kafkaError, kafkaErrorOf } from '../../../src/connectors/kafka/kafka-errors.ts'
import { retryDelay } from '../../../src/connectors/kafka/kafka-retry.ts'
import { checkVersions } from '../../../src/connectors/kafka/kafka-versions.ts'
import {
  decodeCommittable,
  encodeCommittable,
} from '../../../src/connectors/transactions/committable.ts'
import { WeirError } from '../../../src/core/errors.ts'
import { seededRandom } from '../../../src/core/random.ts'

/** Connections that answer metadata requests with one topic, and count what they were asked. */
class FakeBrokers {
  readonly asked: string[] = []
  readonly down = new Set<number>()

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
    const partition = { errorCode: 0, partitionIndex: 0, leaderId: 2, leaderEpoch: 1 }
    return {
      brokers: [
        { nodeId: 1, host: 'a', port: 1 },
        { nodeId: 2, host: 'a', port: 2 },
      ],
      topics: [{ name: 't', errorCode: 0, topicId: 'id', partitions: [partition] }],
    }
  }
}

describe('KafkaCluster', () => {
  it('goes on to the next broker when one is down', async () => {
    const brokers = new FakeBrokers()
    brokers.down.add(1)
    const cluster = new KafkaCluster({ brokers: 'a:1,a:2' }, { connect: brokers.connect })
    expect(await cluster.leaderOf('t', 0)).toBe(2)
    expect(brokers.asked).toEqual(['a:2'])
  })

  it('asks once for a topic that many ask for, and again when its leaders are forgotten', async () => {
    const brokers = new FakeBrokers()
    const cluster = new KafkaCluster({ brokers: 'a:1' }, { connect: brokers.connect })
    await Promise.all([cluster.topic('t'), cluster.topic('t'), cluster.leaderOf('t', 0)])
    expect(brokers.asked).toHaveLength(1)
    cluster.forgetLeaders('t')
    await cluster.topic('t')
    expect(brokers.asked).toHaveLength(2)
  })

  it('gives up when nobody answers for the delivery timeout', async () => {
    const brokers = new FakeBrokers()
    brokers.down.add(1)
    const options = { brokers: 'a:1', deliveryTimeoutMs: 50 }
    const cluster = new KafkaCluster(options, { connect: brokers.connect })
    await expect(cluster.topic('t')).rejects.toThrow(/within 50 ms.*1 is down/)
  })
})

describe('brokers', () => {
  it('are host and port, IPv6 in brackets', () => {
    expect(parseBrokers('a:1, [::1]:9092')).toEqual([
      { host: 'a', port: 1 },
      { host: '::1', port: 9092 },
    ])
  })

  it.each(['', 'a', 'a:', 'a:0', 'a:70000', '::1:9', 'a:1,'])('are not "%s"', (brokers) => {
    expect(() => parseBrokers(brokers)).toThrow(/write host:port/)
  })
})

describe('errors of the protocol', () => {
  it.each([
    [6, 'CONNECTOR_FAILED', true],
    [47, 'TRANSACTION_FENCED', false],
    [90, 'TRANSACTION_FENCED', false],
    [29, 'ACCESS_DENIED', false],
    [10, 'FRAME_TOO_LARGE', false],
    [1, 'OFFSET_OUT_OF_RANGE', false],
    [9999, 'UNSUPPORTED', false],
  ])('%i is %s', (number, code, retryable) => {
    const error = kafkaError(number, 'x')
    expect({ code: error.code, retryable: error.retryable }).toEqual({ code, retryable })
    expect(kafkaErrorOf(error)).toBe(number)
  })
})

describe('delays between tries', () => {
  it('double up to a second with jitter, and are 2 ms while a transaction ends', () => {
    const random = seededRandom(1)
    for (let tries = 0; tries < 20; tries++) {
      const full = Math.min(1000, 20 * 2 ** tries)
      const delay = retryDelay(random, tries)
      expect(delay).toBeGreaterThanOrEqual(full / 2)
      expect(delay).toBeLessThan(full)
    }
    expect(retryDelay(random, 9, kafkaError(51, 'x'))).toBe(2)
  })
})

describe('a committable', () => {
  const identity = { transactionalId: 'weir/j/s/0/1/2', producerId: 4_097, epoch: 3 }

  const committable = { identity, witness: { topic: 'out', partition: 3, offset: 77 } }

  it('has these bytes', () => {
    expect(Buffer.from(encodeCommittable(committable)).toString('hex')).toBe(
      '0200011000000000000003000e776569722f6a2f732f302f312f32030000004d00000000000000036f7574',
    )
  })

  it('is read back, without its place in the log too, and of version 1', () => {
    expect(decodeCommittable(encodeCommittable(committable))).toEqual(committable)
    const bare = { identity, witness: undefined }
    expect(decodeCommittable(encodeCommittable(bare))).toEqual(bare)
    const first = Buffer.from('0100011000000000000003000e776569722f6a2f732f302f312f32', 'hex')
    expect(decodeCommittable(first)).toEqual(bare)
  })

  it('is refused when it is of another version', () => {
    const encoded = encodeCommittable(committable)
    encoded[0] = 3
    expect(() => decodeCommittable(encoded)).toThrow(/committable 3; this build reads 1 and 2/)
  })
})

describe('a broker', () => {
  /** What a Kafka of today offers, with one request changed. */
  const offers = (apiKey: number, maxVersion: number | undefined) =>
    Array.from({ length: 80 }, (_, key) => ({ apiKey: key, maxVersion: 17 })).flatMap((offer) =>
      offer.apiKey !== apiKey ? [offer] : maxVersion === undefined ? [] : [{ apiKey, maxVersion }],
    )

  it('that offers every request is taken', () => {
    expect(() => checkVersions('b:1', offers(1, 13))).not.toThrow()
  })

  it.each([
    [1, 12, 'Kafka at b:1 is too old: it offers Fetch only up to version 12, version 13 is needed'],
    [66, undefined, 'it offers no ListTransactions requests'],
  ])('that is too old for request %i is refused with what to do', (apiKey, version, message) => {
    expect(() => checkVersions('b:1', offers(apiKey, version))).toThrow(message)
    expect(() => checkVersions('b:1', offers(apiKey, version))).toThrow(/upgrade the broker/)
  })
})
