import { WeirError } from '../../../core/errors.ts'
import { coordinatorRight, requestOf, topicRight } from '../client/access-rights.ts'
import type { KafkaCluster } from '../client/cluster.ts'
import { kafkaErrorEntry } from '../client/error-table.ts'
import { KAFKA_ERRORS, kafkaError, throwKafkaError } from '../client/errors.ts'
import { addOffsetsToTxnV3, offsetFetchV8, txnOffsetCommitV3 } from '../client/library.ts'
import {
  type CommittedPartition,
  type CommittedPartitions,
  checkCommit,
  DEFAULT_METADATA_BYTES,
  type GroupCommits,
  type TransactionalCommit,
} from './commits.ts'
import type { TopicPartitions } from './envelope.ts'
import { groupLossOf } from './kafka-member.ts'
import { GroupError } from './membership-loss.ts'

/** Options of the offsets of a group. */
export interface KafkaGroupCommitsOptions {
  readonly groupId: string
  /** Bytes of the text beside an offset that the brokers store; default 4,096, as of `offset.metadata.max.bytes`. */
  readonly maxMetadataBytes?: number
}

/** The offsets of a group of a Kafka, by AddOffsetsToTxn, TxnOffsetCommit and OffsetFetch. */
export class KafkaGroupCommits implements GroupCommits {
  private readonly cluster: KafkaCluster
  private readonly groupId: string
  private readonly maxMetadataBytes: number

  constructor(cluster: KafkaCluster, options: KafkaGroupCommitsOptions) {
    this.cluster = cluster
    this.groupId = options.groupId
    this.maxMetadataBytes = options.maxMetadataBytes ?? DEFAULT_METADATA_BYTES
  }

  async commit(commit: TransactionalCommit): Promise<void> {
    checkCommit(this.groupId, commit, this.maxMetadataBytes)
    await this.addOffsets(commit)
    await this.commitOffsets(commit)
  }

  /** Makes the group part of the transaction. The broker refuses it for some ms after the last transaction: it is repeated. */
  private async addOffsets({ transaction }: TransactionalCommit): Promise<void> {
    const { transactionalId, producerId, epoch } = transaction
    const doing = `commit of group "${this.groupId}" in "${transactionalId}"`
    await this.cluster.callCoordinator({
      kind: 'transaction',
      key: transactionalId,
      doing,
      needs: [coordinatorRight('group', this.groupId)],
      request: (connection) =>
        connection.call(
          addOffsetsToTxnV3.api,
          transactionalId,
          BigInt(producerId),
          epoch,
          this.groupId,
        ),
      errorOf: ({ errorCode }) => errorCode,
    })
  }

  private async commitOffsets(commit: TransactionalCommit): Promise<void> {
    const { transaction, member, groupInstanceId, offsets } = commit
    const { transactionalId, producerId, epoch } = transaction
    const topics = [...offsets].map(([name, partitions]) => ({
      name,
      partitions: partitions.map(({ partition, nextOffset, leaderEpoch, metadata }) => ({
        partitionIndex: partition,
        committedOffset: BigInt(nextOffset),
        committedLeaderEpoch: leaderEpoch,
        committedMetadata: metadata,
      })),
    }))
    const doing = `commit of group "${this.groupId}" in "${transactionalId}"`
    const answer = await this.cluster.callCoordinator({
      kind: 'group',
      key: this.groupId,
      doing,
      request: (connection) =>
        connection.call(
          txnOffsetCommitV3.api,
          transactionalId,
          this.groupId,
          BigInt(producerId),
          epoch,
          member.generationId,
          member.memberId,
          groupInstanceId ?? null,
          topics,
        ),
      errorOf: (found) => retriableOf(found.topics),
    })
    this.checkAnswer(doing, answer.topics, commit)
  }

  /** Throws the error of a partition, if one has any: one that stays comes before one that may pass. */
  private checkAnswer(doing: string, topics: AnsweredTopics, commit: TransactionalCommit): void {
    const refused = topics.flatMap(({ name, partitions }) =>
      partitions
        .filter(({ errorCode }) => errorCode !== KAFKA_ERRORS.NONE)
        .map(({ partitionIndex, errorCode }) => ({ name, partitionIndex, errorCode })),
    )
    const worst = refused.find(({ errorCode }) => !isRetriable(errorCode)) ?? refused[0]
    if (worst === undefined) return
    const { name, partitionIndex, errorCode } = worst
    throw this.commitError(errorCode, `${doing}, ${name}/${partitionIndex}`, name, commit)
  }

  private commitError(
    errorCode: number,
    doing: string,
    topic: string,
    { transaction, offsets }: TransactionalCommit,
  ): WeirError {
    const loss = groupLossOf(errorCode)
    if (loss !== undefined) return new GroupError(loss, doing)
    if (errorCode === KAFKA_ERRORS.OFFSET_METADATA_TOO_LARGE) {
      const texts = offsets.get(topic)?.map(({ metadata }) => Buffer.byteLength(metadata)) ?? []
      const bytes = Math.max(...texts)
      const message = `${doing}: the text beside an offset has ${bytes} bytes, which is more than offset.metadata.max.bytes of the brokers`
      return new WeirError('FRAME_TOO_LARGE', message, { details: { topic, bytes } })
    }
    const rights = [
      coordinatorRight('group', this.groupId),
      coordinatorRight('transaction', transaction.transactionalId),
      topicRight('Read', topic),
    ]
    return kafkaError(errorCode, requestOf(this.cluster, doing, ...rights))
  }

  async fetch(partitions: TopicPartitions): Promise<CommittedPartitions> {
    const groupId = this.groupId
    const topics = [...partitions].map(([name, indexes]) => ({
      name,
      partitionIndexes: [...indexes],
    }))
    const doing = `committed offsets of group "${groupId}"`
    const answer = await this.cluster.callCoordinator({
      kind: 'group',
      key: groupId,
      doing,
      request: (connection) =>
        connection.call(
          offsetFetchV8.api,
          [{ groupId, memberId: null, memberEpoch: -1, topics }],
          true,
        ),
      errorOf: ({ groups }) => groups[0]!.errorCode || retriableOf(groups[0]!.topics),
    })
    const found = answer.groups[0]!.topics
    return new Map(
      topics.map(({ name, partitionIndexes }) => {
        const partitionsOf = found.find((topic) => topic.name === name)?.partitions ?? []
        const committed = partitionIndexes.map((index) => {
          const one = partitionsOf.find(({ partitionIndex }) => partitionIndex === index)
          return [index, this.committedIn(one, doing, name)] as const
        })
        return [name, new Map(committed)]
      }),
    )
  }

  private committedIn(
    found: FetchedPartition | undefined,
    doing: string,
    topic: string,
  ): CommittedPartition {
    if (found === undefined) {
      throw new WeirError('CONNECTOR_FAILED', `${doing}: the answer has not all of "${topic}"`)
    }
    if (found.errorCode === KAFKA_ERRORS.UNSTABLE_OFFSET_COMMIT) return 'unstable'
    const request = requestOf(this.cluster, doing, topicRight('Describe', topic))
    throwKafkaError(found.errorCode, request)
    if (found.committedOffset < 0n) return 'none'
    return { nextOffset: Number(found.committedOffset), metadata: found.metadata ?? '' }
  }
}

/** Topics of an answer with an error number for each partition. */
type AnsweredTopics = readonly {
  readonly name: string
  readonly partitions: readonly { readonly partitionIndex: number; readonly errorCode: number }[]
}[]

/** A partition in an answer about committed offsets. */
interface FetchedPartition {
  readonly errorCode: number
  readonly committedOffset: bigint
  readonly metadata?: string | null | undefined
}

/** The first error of an answer, if the same request may succeed for all its partitions; 0 if it may not, or has none. */
function retriableOf(topics: AnsweredTopics): number {
  const numbers = topics
    .flatMap(({ partitions }) => partitions.map(({ errorCode }) => errorCode))
    .filter(
      (number) => number !== KAFKA_ERRORS.NONE && number !== KAFKA_ERRORS.UNSTABLE_OFFSET_COMMIT,
    )
  return numbers.every(isRetriable) ? (numbers[0] ?? 0) : 0
}

function isRetriable(errorCode: number): boolean {
  return kafkaErrorEntry(errorCode).kind === 'retriable'
}
