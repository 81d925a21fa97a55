import { expect, it } from 'vitest'
import type { KafkaCluster } from '../../../../src/connectors/kafka/client/cluster.ts'
import type { KafkaConnection } from '../../../../src/connectors/kafka/client/connection.ts'
import { findOffset } from '../../../../src/connectors/kafka/client/offsets.ts'

const FENCED_LEADER_EPOCH = 74

interface AskedTopic {
  readonly partitions: readonly { readonly currentLeaderEpoch: number }[]
}

/** A partition whose leader is in epoch 5; the metadata say 4 until they are requested again. */
function partitionInEpoch5(): { readonly cluster: KafkaCluster; readonly asked: number[] } {
  const asked: number[] = []
  let leaderEpoch = 4
  const connection: Partial<KafkaConnection> = {
    call: (async (_api: unknown, _replica: number, _isolation: number, [topic]: AskedTopic[]) => {
      const { currentLeaderEpoch } = topic!.partitions[0]!
      asked.push(currentLeaderEpoch)
      const errorCode = currentLeaderEpoch === 5 ? 0 : FENCED_LEADER_EPOCH
      const offset = errorCode === 0 ? 100n : -1n
      return { topics: [{ partitions: [{ errorCode, offset }] }] }
    }) as unknown as KafkaConnection['call'],
  }
  const cluster: Partial<KafkaCluster> = {
    leadershipOf: async () => ({ leader: 1, leaderEpoch }),
    node: async () => connection as KafkaConnection,
    forgetLeaders: () => {
      leaderEpoch = 5
    },
    retry: async (_doing, attempt) => await attempt().catch(() => attempt()),
  }
  return { cluster: cluster as KafkaCluster, asked }
}

it('an end of a partition is asked for in the epoch of its leader, and again with new metadata', async () => {
  const { cluster, asked } = partitionInEpoch5()
  const search = { topic: 't', partition: 0, query: 'latest', isolation: 'read_committed' } as const
  expect(await findOffset(cluster, search)).toBe(100)
  expect(asked).toEqual([4, 5])
})
