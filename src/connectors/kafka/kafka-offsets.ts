import type { KafkaCluster } from './kafka-cluster.ts'
import { throwKafkaError } from './kafka-errors.ts'
import { listOffsetsV7, offsetCommitV8, offsetFetchV8 } from './kafka-library.ts'

/** Which offset of a partition: its first, its end, or the first at or after a time in ms. */
export type OffsetQuery = 'earliest' | 'latest' | { readonly timestamp: number }

/** Which records a reader may see. */
export type KafkaIsolation = 'read_committed' | 'read_uncommitted'

/** A group commit is given up after this, ms: the next one tells the same and more. */
const COMMIT_TIMEOUT_MS = 3_000

/** The offset a query finds; the end of the partition when no record is as late as the time. */
export async function findOffset(
  cluster: KafkaCluster,
  topic: string,
  partition: number,
  query: OffsetQuery,
  isolation: KafkaIsolation,
): Promise<number> {
  const timestamp = query === 'earliest' ? -2 : query === 'latest' ? -1 : query.timestamp
  const doing = `offsets of ${topic}/${partition}`
  const found = await cluster.retry(doing, async () => {
    try {
      const connection = await cluster.node(await cluster.leaderOf(topic, partition))
      const answer = await connection.call(listOffsetsV7.api, -1, isolationNumber(isolation), [
        {
          name: topic,
          partitions: [
            {
              partitionIndex: partition,
              currentLeaderEpoch: -1,
              timestamp: BigInt(Math.trunc(timestamp)),
            },
          ],
        },
      ])
      const result = answer.topics[0]!.partitions[0]!
      throwKafkaError(result.errorCode, doing)
      return Number(result.offset)
    } catch (error) {
      cluster.forgetLeaders(topic)
      throw error
    }
  })
  if (found >= 0) return found
  return await findOffset(cluster, topic, partition, 'latest', isolation)
}

function isolationNumber(isolation: KafkaIsolation): 0 | 1 {
  return isolation === 'read_committed' ? 1 : 0
}

/** The offset a group committed for a partition, -1 when it did not. */
export async function committedOffset(
  cluster: KafkaCluster,
  group: string,
  topic: string,
  partition: number,
): Promise<number> {
  const doing = `committed offsets of group "${group}"`
  const answer = await cluster.callCoordinator(
    'group',
    group,
    doing,
    (connection) =>
      connection.call(
        offsetFetchV8.api,
        [
          {
            groupId: group,
            memberId: null,
            memberEpoch: -1,
            topics: [{ name: topic, partitionIndexes: [partition] }],
          },
        ],
        true,
      ),
    ({ groups }) => groups[0]!.errorCode || (groups[0]!.topics[0]?.partitions[0]?.errorCode ?? 0),
  )
  return Number(answer.groups[0]!.topics[0]?.partitions[0]?.committedOffset ?? -1)
}

/** Commits offsets of a topic for a group without members, so that lag tools see them. */
export async function commitOffsets(
  cluster: KafkaCluster,
  group: string,
  topic: string,
  offsets: readonly { readonly partition: number; readonly nextOffset: number }[],
): Promise<void> {
  const partitions = offsets.map(({ partition, nextOffset }) => ({
    partitionIndex: partition,
    committedOffset: BigInt(nextOffset),
    committedLeaderEpoch: -1,
    committedMetadata: '',
  }))
  await cluster.callCoordinator(
    'group',
    group,
    `commit for group "${group}"`,
    (connection) =>
      connection.call(offsetCommitV8.api, group, -1, '', null, [{ name: topic, partitions }]),
    ({ topics }) =>
      topics.flatMap((entry) => entry.partitions).find((entry) => entry.errorCode !== 0)
        ?.errorCode ?? 0,
    COMMIT_TIMEOUT_MS,
  )
}
