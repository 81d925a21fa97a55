import type { Isolation } from '../../records/topic-options.ts'
import { requestOf, topicRight } from './access-rights.ts'
import type { KafkaCluster } from './cluster.ts'
import type { KafkaConnection } from './connection.ts'
import { KAFKA_ERRORS, throwKafkaError } from './errors.ts'
import { listOffsetsV7, offsetCommitV8, offsetFetchV8 } from './library.ts'

/** An offset of a partition: its first, its end, or the first at or after a time in ms. */
export type OffsetQuery = 'earliest' | 'latest' | { readonly timestamp: number }

/** A search for an offset. */
export interface OffsetSearch {
  readonly topic: string
  readonly partition: number
  readonly query: OffsetQuery
  readonly isolation: Isolation
}

/** Timeout of a group commit, ms: the next commit includes it. */
const COMMIT_TIMEOUT_MS = 3_000

/** Finds an offset; the end of the partition when no record is as late as the time. */
export async function findOffset(cluster: KafkaCluster, search: OffsetSearch): Promise<number> {
  const { topic, partition, query, isolation } = search
  const timestamp = query === 'earliest' ? -2 : query === 'latest' ? -1 : query.timestamp
  const doing = `offsets of ${topic}/${partition}`
  const request = requestOf(cluster, doing, topicRight('Describe', topic))
  const found = await cluster.retry(doing, async () => {
    try {
      const { leader, leaderEpoch } = await cluster.leadershipOf(topic, partition)
      const connection = await cluster.node(leader)
      const answer = await connection.call(listOffsetsV7.api, -1, isolationNumber(isolation), [
        {
          name: topic,
          partitions: [
            {
              partitionIndex: partition,
              // A broker that leads in another epoch refuses: its end of the partition may be an old one.
              currentLeaderEpoch: leaderEpoch,
              timestamp: BigInt(Math.trunc(timestamp)),
            },
          ],
        },
      ])
      const result = answer.topics[0]!.partitions[0]!
      throwKafkaError(result.errorCode, request)
      return Number(result.offset)
    } catch (error) {
      cluster.forgetLeaders(topic)
      throw error
    }
  })
  if (found >= 0) return found
  return await findOffset(cluster, { ...search, query: 'latest' })
}

/** A partition, and the epoch of its leader; -1 for any. */
export interface LedPartition {
  readonly partition: number
  readonly leaderEpoch: number
}

/**
 * Those of some partitions whose end their leader knows. A leader that was elected just now may not know
 * it, and a broker that does not lead a partition in this epoch does not either.
 */
export async function partitionsWithEnds(
  connection: KafkaConnection,
  topic: string,
  partitions: readonly LedPartition[],
): Promise<ReadonlySet<number>> {
  const answer = await connection.call(listOffsetsV7.api, -1, isolationNumber('read_uncommitted'), [
    {
      name: topic,
      partitions: partitions.map(({ partition, leaderEpoch }) => ({
        ...{ partitionIndex: partition, currentLeaderEpoch: leaderEpoch, timestamp: -1n },
      })),
    },
  ])
  const found = answer.topics.flatMap((one) => one.partitions)
  const known = found.filter(({ errorCode }) => errorCode === KAFKA_ERRORS.NONE)
  return new Set(known.map(({ partitionIndex }) => partitionIndex))
}

function isolationNumber(isolation: Isolation): 0 | 1 {
  return isolation === 'read_committed' ? 1 : 0
}

/** The offset that a group committed for a partition, -1 when there is none. */
export async function committedOffset(
  cluster: KafkaCluster,
  group: string,
  { topic, partition }: { readonly topic: string; readonly partition: number },
): Promise<number> {
  const answer = await cluster.callCoordinator({
    kind: 'group',
    key: group,
    doing: `committed offsets of group "${group}"`,
    needs: [topicRight('Describe', topic)],
    request: (connection) =>
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
    errorOf: ({ groups }) =>
      groups[0]!.errorCode || (groups[0]!.topics[0]?.partitions[0]?.errorCode ?? 0),
  })
  return Number(answer.groups[0]!.topics[0]?.partitions[0]?.committedOffset ?? -1)
}

/** Offsets of a topic to commit for a group. */
export interface GroupOffsets {
  readonly group: string
  readonly topic: string
  readonly offsets: readonly {
    readonly partition: number
    readonly nextOffset: number
    /** @default not known */
    readonly leaderEpoch?: number
  }[]
}

/** Commits offsets for a group without members, so that lag tools see them. */
export async function commitOffsets(
  cluster: KafkaCluster,
  { group, topic, offsets }: GroupOffsets,
): Promise<void> {
  const partitions = offsets.map(({ partition, nextOffset, leaderEpoch = -1 }) => ({
    partitionIndex: partition,
    committedOffset: BigInt(nextOffset),
    committedLeaderEpoch: leaderEpoch,
    committedMetadata: '',
  }))
  await cluster.callCoordinator({
    kind: 'group',
    key: group,
    doing: `commit for group "${group}"`,
    needs: [topicRight('Read', topic)],
    request: (connection) =>
      connection.call(offsetCommitV8.api, group, -1, '', null, [{ name: topic, partitions }]),
    errorOf: ({ topics }) =>
      topics.flatMap((entry) => entry.partitions).find((entry) => entry.errorCode !== 0)
        ?.errorCode ?? 0,
    timeoutMs: COMMIT_TIMEOUT_MS,
  })
}
