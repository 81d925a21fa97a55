import { WeirError } from '../../core/errors.ts'
import { requestOf, topicRight } from './client/access-rights.ts'
import type { KafkaCluster } from './client/cluster.ts'
import { throwKafkaError } from './client/errors.ts'
import { offsetForLeaderEpochV4 } from './client/library.ts'

/** A position in a partition: the offset after a record, and the epoch of the leader that wrote the record. */
export interface EpochPosition {
  readonly offset: number
  readonly epoch: number
}

/** What a leader says of an epoch: the largest one up to it that it knows, and the offset after its last record. */
export interface EpochEnd {
  /** -1 when it knows none. */
  readonly epoch: number
  /** -1 when it knows none. */
  readonly endOffset: number
}

/** Whether the log in front of a position is the one that was read. */
export type LogHistory =
  | { readonly kind: 'same' }
  /** The leader does not know the epoch, so whether the log was truncated is unknown. */
  | { readonly kind: 'unknown' }
  /** Records from `offset` on were removed, or replaced by others. */
  | { readonly kind: 'truncated'; readonly offset: number }

/**
 * Decides from the end of the position's epoch whether a log was truncated, as after an unclean election of its
 * leader (KIP-320).
 */
export function logHistory(position: EpochPosition, { epoch, endOffset }: EpochEnd): LogHistory {
  if (epoch < 0 || endOffset < 0) return { kind: 'unknown' }
  if (epoch === position.epoch && endOffset >= position.offset) return { kind: 'same' }
  // Without the position's epoch at least the record before the position is another one.
  return { kind: 'truncated', offset: Math.max(0, Math.min(endOffset, position.offset - 1)) }
}

/** Asks the leader of a partition for the end of an epoch. */
export async function epochEnd(
  cluster: KafkaCluster,
  place: { readonly topic: string; readonly partition: number },
  leaderEpoch: number,
): Promise<EpochEnd> {
  const { topic, partition } = place
  const doing = `end of leader epoch ${leaderEpoch} of ${topic}/${partition}`
  const request = requestOf(cluster, doing, topicRight('Describe', topic))
  return await cluster.retry(doing, async () => {
    try {
      const { leader, leaderEpoch: current } = await cluster.leadershipOf(topic, partition)
      const connection = await cluster.node(leader)
      const asked = { partitionIndex: partition, currentLeaderEpoch: current, leaderEpoch }
      const topics = [{ name: topic, partitions: [asked] }]
      const answer = await connection.call(offsetForLeaderEpochV4.api, -1, topics)
      const found = answer.topics[0]!.partitions[0]!
      throwKafkaError(found.errorCode, request)
      return { epoch: found.leaderEpoch, endOffset: Number(found.endOffset) }
    } catch (error) {
      cluster.forgetLeaders(topic)
      throw error
    }
  })
}

/** The error of a job that must not continue behind a truncation. */
export function truncatedError(
  place: { readonly topic: string; readonly partition: number },
  { offset, epoch }: EpochPosition,
  truncatedAt: number,
): WeirError {
  const { topic, partition } = place
  const message = `the log of ${topic}/${partition} was truncated at offset ${truncatedAt}, as by an unclean election of its leader: the records from there to ${offset}, which this job has read (leader epoch ${epoch}), are gone or replaced by others; the job does not continue because outOfRange is fail. Restore a checkpoint from before offset ${truncatedAt}, or set outOfRange to earliest-of-truncation to continue there: the results of the records that are gone stay`
  const details = { topic, partition, offset, truncatedAt, leaderEpoch: epoch, outOfRange: 'fail' }
  return new WeirError('OFFSET_OUT_OF_RANGE', message, { details })
}
