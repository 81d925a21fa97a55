import { describe, expect, it, onTestFinished } from 'vitest'
import { KafkaCluster } from '../../../src/connectors/kafka/client/cluster.ts'
import type { KafkaConnection } from '../../../src/connectors/kafka/client/connection.ts'
import { type FetchRequest, fetchApi } from '../../../src/connectors/kafka/client/fetch-request.ts'
import {
  listOffsetsV7,
  offsetForLeaderEpochV4,
} from '../../../src/connectors/kafka/client/library.ts'
import { KafkaFetcher, type OutOfRangePolicy } from '../../../src/connectors/kafka/fetcher.ts'
import { KafkaSplit } from '../../../src/connectors/kafka/split.ts'
import { MetricGroup } from '../../../src/core/metrics.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { BATCH_FIELDS, writeInt32 } from '../../../src/wire/batch/record-batch-format.ts'
import { RecordBatchWriter } from '../../../src/wire/batch/record-batch-writer.ts'

const partition = { errorCode: 0, partitionIndex: 0, leaderId: 1, leaderEpoch: 1 }
const METADATA = {
  brokers: [{ nodeId: 1, host: 'a', port: 1 }],
  topics: [{ name: 't', errorCode: 0, topicId: 'id', partitions: [partition] }],
}
const EMPTY = {
  ...{ partition: 0, error: 0, limit: 0, highWatermark: 0, logStart: 0 },
  ...{ aborted: [], diverging: false, records: new Uint8Array(0) },
}

/** A leader that was elected just now does not know the end of its partition. */
const NOT_AVAILABLE = 78
const endOf = (errorCode: number): unknown => ({
  topics: [{ partitions: [{ errorCode, partitionIndex: 0 }] }],
})

/** How certain the leader of the partition is at first. */
interface Doubt {
  /** It refuses to say the end of the partition. */
  readonly refuses?: boolean
  /** Another broker says that another one leads. */
  readonly isReplaced?: boolean
  /** Only its first answer takes `ms`. */
  readonly late?: boolean
  /** Collects the fetch requests. */
  readonly requests?: FetchRequest[]
}

/** Metadata of two brokers; the second one asked sees another leader while `isReplaced`. */
const metadataOf = (leaderId: number): unknown => ({
  ...METADATA,
  brokers: [...METADATA.brokers, { nodeId: 2, host: 'b', port: 2 }],
  topics: [{ ...METADATA.topics[0], partitions: [{ ...partition, leaderId }] }],
})

/** Fetches an empty partition from a broker whose answers take `ms`; returns the time of its end. */
async function endSeenAfter(
  ms: number,
  { refuses = false, isReplaced = false, late = false, requests = [] }: Doubt = {},
): Promise<number | undefined> {
  const isDoubtful = refuses || isReplaced || late
  const clock = new ManualClock(10_000)
  const never = Promise.withResolvers<never>()
  let fetches = 0
  let metadata = 0
  const call = async (api: unknown, ...[request]: [FetchRequest]): Promise<unknown> => {
    if (api === listOffsetsV7.api) return endOf(refuses && fetches === 0 ? NOT_AVAILABLE : 0)
    if (api !== fetchApi) {
      // The first metadata assigns the leader, the later ones come from the other broker.
      const isOther = isReplaced && metadata++ > 0 && fetches === 0
      return isReplaced ? metadataOf(isOther ? 2 : 1) : METADATA
    }
    requests.push(request)
    if (fetches++ > (isDoubtful ? 1 : 0)) return await never.promise
    if (!late || fetches === 1) clock.advance(ms)
    return { error: 0, partitions: [EMPTY] }
  }
  const connection = { isOpen: true, call: call as KafkaConnection['call'], close: async () => {} }
  const world = { clock, connect: async () => connection }
  const cluster = new KafkaCluster({ brokers: 'a:1' }, world)
  const ready = Promise.withResolvers<void>()
  const options = { topic: 't', isolation: 'read_committed', outOfRange: 'fail' } as const
  const errors = new MetricGroup().counter('errors')
  const split = new KafkaSplit({
    partition: 0,
    nextOffset: 0,
    stopOffset: undefined,
    prefetchBytes: 1000,
    verifyChecksums: true,
  })
  const fetcher = new KafkaFetcher(cluster, {
    ...options,
    partitionMaxBytes: 1000,
    errors,
    onReady: ready.resolve,
  })
  onTestFinished(() => never.reject(new Error('closed')))
  never.promise.catch(() => undefined)
  fetcher.add(split)
  await ready.promise
  void fetcher.close()
  return split.takeEndSeen()
}

describe('KafkaFetcher', () => {
  it('takes an answer as of the time of its request, however long it took', async () => {
    expect(await endSeenAfter(300)).toBe(10_000)
  })

  it('takes an answer without records as of the end of the wait of the broker', async () => {
    expect(await endSeenAfter(900)).toBe(10_500)
  })

  it('takes no end from a new leader that does not know it yet', async () => {
    expect(await endSeenAfter(300, { refuses: true })).toBe(10_300)
  })

  it('takes no end from a broker that another one does not see as the leader', async () => {
    expect(await endSeenAfter(300, { isReplaced: true })).toBe(10_300)
  })

  it('doubts a leader whose answer comes late, as that of a frozen broker', async () => {
    // The late answer says nothing about the end, and the next one is of a leader that is confirmed again.
    expect(await endSeenAfter(2_000, { late: true })).toBe(12_000)
  })

  it('says which leadership it means, so that a broker that became a follower refuses', async () => {
    const requests: FetchRequest[] = []
    await endSeenAfter(300, { requests })
    expect(requests[0]!.partitions).toEqual([
      { partition: 0, leaderEpoch: 1, offset: 0, lastFetchedEpoch: -1 },
    ])
  })
})

/** A fetcher that has read up to offset 4 of leader epoch 1, of which the leader has only 2 now. */
async function readTruncated(outOfRange: OutOfRangePolicy) {
  const clock = new ManualClock(0)
  const never = Promise.withResolvers<never>()
  never.promise.catch(() => undefined)
  onTestFinished(() => never.reject(new Error('closed')))
  const requests: FetchRequest[] = []
  const call = async (api: unknown, ...args: unknown[]): Promise<unknown> => {
    if (api === listOffsetsV7.api) return endOf(0)
    if (api === offsetForLeaderEpochV4.api) {
      expect(args[1]).toEqual([
        {
          name: 't',
          partitions: [{ partitionIndex: 0, currentLeaderEpoch: 1, leaderEpoch: 1 }],
        },
      ])
      const found = { errorCode: 0, partition: 0, leaderEpoch: 1, endOffset: 2n }
      return { topics: [{ partitions: [found] }] }
    }
    if (api !== fetchApi) return METADATA
    const request = args[0] as FetchRequest
    requests.push(request)
    if (requests.length > 2) return await never.promise
    // The leader compares what is fetched last with its own log.
    if (request.partitions[0]!.lastFetchedEpoch === 1) {
      return { error: 0, partitions: [{ ...EMPTY, diverging: true }] }
    }
    if (requests.length > 1) return await never.promise
    return {
      error: 0,
      partitions: [{ ...EMPTY, records: fourRecords(), limit: 4, highWatermark: 4 }],
    }
  }
  const connection = { isOpen: true, call: call as KafkaConnection['call'], close: async () => {} }
  const cluster = new KafkaCluster({ brokers: 'a:1' }, { clock, connect: async () => connection })
  const split = new KafkaSplit({
    ...{ partition: 0, nextOffset: 0, stopOffset: undefined },
    ...{ prefetchBytes: 1000, verifyChecksums: true },
  })
  const fetcher = new KafkaFetcher(cluster, {
    ...{ topic: 't', isolation: 'read_committed', outOfRange, partitionMaxBytes: 1000 },
    errors: new MetricGroup().counter('errors'),
    // Everything is delivered as soon as it is there.
    onReady: () => {
      while (split.openBatch()) {
        while (split.batch.next()) split.nextOffset = split.batch.offset + 1
        split.closeBatch()
      }
    },
  })
  onTestFinished(() => void fetcher.close())
  fetcher.add(split)
  return { fetcher, split, requests }
}

/** Offsets 0 to 3, stored by the leader of epoch 1. */
function fourRecords(): Uint8Array {
  const writer = new RecordBatchWriter()
  for (let i = 0; i < 4; i++) writer.append(null, Buffer.from('v'), 1, i)
  const batch = writer.take({})
  writeInt32(batch, BATCH_FIELDS.leaderEpoch, 1)
  return batch
}

describe('KafkaFetcher of a log that was truncated', () => {
  it('fails where the log that was read ends', async () => {
    const { fetcher } = await readTruncated('fail')
    await expect
      .poll(() => fetcher.failure)
      .toMatchObject({
        code: 'OFFSET_OUT_OF_RANGE',
        details: { topic: 't', partition: 0, offset: 4, truncatedAt: 2, leaderEpoch: 1 },
      })
  })

  it.each(['earliest-of-truncation', 'earliest', 'latest'] as const)(
    'continues there with %s',
    async (policy) => {
      const { fetcher, split, requests } = await readTruncated(policy)
      await expect.poll(() => requests.length).toBe(3)
      expect(requests[2]!.partitions).toEqual([
        { partition: 0, leaderEpoch: 1, offset: 2, lastFetchedEpoch: -1 },
      ])
      expect([fetcher.failure, split.nextOffset]).toEqual([undefined, 2])
    },
  )
})
