import { describe, expect, it, onTestFinished } from 'vitest'
import { type FetchRequest, fetchApi } from '../../../src/connectors/kafka/fetch-request.ts'
import { KafkaCluster } from '../../../src/connectors/kafka/kafka-cluster.ts'
import type { KafkaConnection } from '../../../src/connectors/kafka/kafka-connection.ts'
import { KafkaFetcher } from '../../../src/connectors/kafka/kafka-fetcher.ts'
import { KafkaSplit } from '../../../src/connectors/kafka/kafka-split.ts'
import { MetricGroup } from '../../../src/core/metrics.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'

const partition = { errorCode: 0, partitionIndex: 0, leaderId: 1, leaderEpoch: 1 }
const METADATA = {
  brokers: [{ nodeId: 1, host: 'a', port: 1 }],
  topics: [{ name: 't', errorCode: 0, topicId: 'id', partitions: [partition] }],
}
const EMPTY = {
  ...{ partition: 0, error: 0, limit: 0, logStart: 0 },
  ...{ aborted: [], records: new Uint8Array(0) },
}

/** Fetches an empty partition from a broker whose first answer takes `ms`; when it was the end. */
async function endSeenAfter(ms: number): Promise<number | undefined> {
  const clock = new ManualClock(10_000)
  const never = Promise.withResolvers<never>()
  let fetches = 0
  const call = async (api: unknown, ..._args: [FetchRequest]): Promise<unknown> => {
    if (api !== fetchApi) return METADATA
    if (fetches++ > 0) return await never.promise
    clock.advance(ms)
    return { error: 0, partitions: [EMPTY] }
  }
  const connection = { isOpen: true, call: call as KafkaConnection['call'], close: async () => {} }
  const world = { clock, connect: async () => connection }
  const cluster = new KafkaCluster({ brokers: 'a:1' }, world)
  const ready = Promise.withResolvers<void>()
  const options = { topic: 't', isolation: 'read_committed', outOfRange: 'fail' } as const
  const errors = new MetricGroup().counter('errors')
  const split = new KafkaSplit(0, 0, undefined, 1000, true)
  const fetcher = new KafkaFetcher(
    cluster,
    { ...options, partitionMaxBytes: 1000 },
    errors,
    ready.resolve,
  )
  onTestFinished(() => never.reject(new Error('closed')))
  never.promise.catch(() => undefined)
  fetcher.add(split)
  await ready.promise
  void fetcher.close()
  return split.takeEndSeen()
}

describe('KafkaFetcher', () => {
  it('takes an answer as of the time when it was asked for, however long it was on its way', async () => {
    expect(await endSeenAfter(300)).toBe(10_000)
  })

  it('knows that an answer without records was not made before the wait of the broker was over', async () => {
    expect(await endSeenAfter(900)).toBe(10_500)
  })
})
