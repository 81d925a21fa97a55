import { describe, expect, it, onTestFinished } from 'vitest'
import { KafkaCluster } from '../../../src/connectors/kafka/client/cluster.ts'
import type { KafkaConnection } from '../../../src/connectors/kafka/client/connection.ts'
import type { TransactionIdentity } from '../../../src/connectors/kafka/client/identity.ts'
import {
  addPartitionsToTxnV3,
  initProducerIdV4,
} from '../../../src/connectors/kafka/client/library.ts'
import {
  type ProduceRequest,
  produceApi,
} from '../../../src/connectors/kafka/client/produce-request.ts'
import { KafkaProducer } from '../../../src/connectors/kafka/producer.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { BATCH_FIELDS, readInt32 } from '../../../src/wire/batch/record-batch-format.ts'
import { RecordBatchReader } from '../../../src/wire/batch/record-batch-reader.ts'

const metadata = (partitions: number): unknown => ({
  brokers: [{ nodeId: 1, host: 'a', port: 1 }],
  coordinators: [{ errorCode: 0, nodeId: 1, host: 'a', port: 1 }],
  topics: [
    {
      ...{ name: 't', errorCode: 0, topicId: 'id' },
      partitions: Array.from({ length: partitions }, (_, partitionIndex) => ({
        ...{ errorCode: 0, partitionIndex, leaderId: 1, leaderEpoch: 1 },
      })),
    },
  ],
})

/** What a broker stored of one batch. */
interface StoredBatch {
  readonly partition: number
  readonly producerId: number
  readonly sequence: number
  readonly values: readonly string[]
}

/** A broker that refuses batches with an error number, of a producer id until another one comes. */
class RefusingBroker {
  readonly stored: StoredBatch[] = []
  readonly refuses = new Map<number, number>()
  /** Partitions of the topic. */
  partitions = 2
  readonly clock = new ManualClock(0)
  /** Answer to a partition that is added to a transaction. */
  addError = 0
  issued = 0

  private call = async (api: unknown, ...[request]: [ProduceRequest]): Promise<unknown> => {
    if (api === initProducerIdV4.api) {
      return { errorCode: 0, producerId: BigInt(++this.issued), producerEpoch: 0 }
    }
    if (api === addPartitionsToTxnV3.api) {
      const resultsByPartition = [{ partitionIndex: 0, partitionErrorCode: this.addError }]
      return { resultsByTransaction: [{ topicResults: [{ resultsByPartition }] }] }
    }
    if (api !== produceApi) return metadata(this.partitions)
    const partitionResponses = request.batches.map(({ partition, bytes }) => ({
      ...{ index: partition, errorCode: this.append(partition, bytes), baseOffset: 0n },
    }))
    return { responses: [{ partitionResponses }] }
  }

  private append(partition: number, bytes: Uint8Array): number {
    const reader = new RecordBatchReader()
    reader.open(bytes)
    const { producerId } = reader
    const error = this.refuses.get(producerId)
    if (error !== undefined) return error
    const values: string[] = []
    while (reader.next()) values.push(Buffer.from(reader.value()!).toString())
    const sequence = readInt32(bytes, BATCH_FIELDS.baseSequence)
    this.stored.push({ partition, producerId, sequence, values })
    return 0
  }

  async open(identity?: TransactionIdentity, clock?: ManualClock): Promise<KafkaProducer> {
    const { call } = this
    const connection = {
      isOpen: true,
      call: call as KafkaConnection['call'],
      close: async () => {},
    }
    const options = { brokers: 'a:1', metadataMaxAgeMs: 60_000 }
    const world = { connect: async () => connection, ...(clock === undefined ? {} : { clock }) }
    const cluster = new KafkaCluster(options, world)
    const producer = await KafkaProducer.open(cluster, 't', { identity, codec: 'gzip' })
    onTestFinished(async () => {
      producer.close()
      await cluster.close()
    })
    return producer
  }
}

function send(producer: KafkaProducer, partition: number, value: string): void {
  producer.sendRecord(null, Buffer.from(value), 1, partition, [])
  producer.dispatch()
}

describe('an idempotent producer', () => {
  it.each([
    [45, 'after an unclean election of the leader'],
    [59, 'whose id the broker has forgotten'],
    [47, 'whose epoch the broker refuses'],
  ])('sends everything under another id after error %i, %s', async (error) => {
    const broker = new RefusingBroker()
    const producer = await broker.open()
    send(producer, 0, 'a')
    await producer.flush()
    broker.refuses.set(1, error)
    for (const value of ['b', 'c', 'd']) send(producer, 0, value)
    send(producer, 1, 'x')
    await producer.flush()
    send(producer, 0, 'e')
    send(producer, 1, 'y')
    await producer.flush()
    // The numbers of each partition begin at 0 under the new id, and grow by one.
    expect(broker.stored.filter(({ partition }) => partition === 0)).toEqual(
      [
        { producerId: 1, sequence: 0, values: ['a'] },
        { producerId: 2, sequence: 0, values: ['b'] },
        { producerId: 2, sequence: 1, values: ['c'] },
        { producerId: 2, sequence: 2, values: ['d'] },
        { producerId: 2, sequence: 3, values: ['e'] },
      ].map((batch) => ({ partition: 0, ...batch })),
    )
    expect(broker.stored.filter(({ partition }) => partition === 1)).toEqual(
      [
        { producerId: 2, sequence: 0, values: ['x'] },
        { producerId: 2, sequence: 1, values: ['y'] },
      ].map((batch) => ({ partition: 1, ...batch })),
    )
  })
})

describe('a producer of a topic that gets more partitions', () => {
  it('uses them when its metadata is as old as it may be', async () => {
    const broker = new RefusingBroker()
    const { clock } = broker
    const producer = await broker.open(undefined, clock)
    const used = async (): Promise<number> => {
      broker.stored.length = 0
      for (let i = 0; i < 100; i++) {
        producer.sendRecord(Buffer.from(`k${i}`), Buffer.from('v'), 1, -1, [])
      }
      await producer.flush()
      return new Set(broker.stored.map(({ partition }) => partition)).size
    }
    expect(await used()).toBe(2)
    broker.partitions = 4
    clock.advance(59_999)
    expect(await used()).toBe(2)
    clock.advance(1)
    await expect.poll(used).toBe(4)
    // The next look is due after the same time.
    broker.partitions = 8
    clock.advance(60_000)
    await expect.poll(used).toBe(8)
    producer.close()
    expect(clock.pending).toBe(0)
  })
})

describe('a transactional producer', () => {
  const identity = { transactionalId: 'job/sink/0/1/1', producerId: 9, epoch: 3 }

  it.each([45, 48, 49, 52, 59, 120])(
    'fails after error %i with a code that a restart passes',
    async (error) => {
      const broker = new RefusingBroker()
      const producer = await broker.open(identity)
      broker.refuses.set(9, error)
      send(producer, 0, 'a')
      await expect(producer.flush()).rejects.toMatchObject({ code: 'TRANSACTION_ABORTED' })
      expect(broker.stored).toEqual([])
    },
  )

  it('fails in the same way when its transactional id has expired', async () => {
    const broker = new RefusingBroker()
    broker.addError = 49
    const producer = await broker.open(identity)
    send(producer, 0, 'a')
    await expect(producer.flush()).rejects.toMatchObject({
      code: 'TRANSACTION_ABORTED',
      message: expect.stringContaining('INVALID_PRODUCER_ID_MAPPING') as string,
    })
    expect(broker.stored).toEqual([])
  })
})
