import { requireArgument, WeirError } from '../../../core/errors.ts'
import type { TransactionIdentity } from '../client/identity.ts'
import type { TopicPartitions } from './envelope.ts'
import type { Generation } from './member.ts'

/** An offset of a partition to commit, with a text beside it. */
export interface PartitionCommit {
  readonly partition: number
  readonly nextOffset: number
  /** Epoch of the leader of the partition; -1 when it is not known. */
  readonly leaderEpoch: number
  /** Text that `fetch` returns beside the offset; a broker stores 4,096 bytes of it by default. */
  readonly metadata: string
}

/** A commit that becomes true with its transaction. */
export interface TransactionalCommit {
  /** The transaction; it must be ended by the caller, and aborted after an error. */
  readonly transaction: TransactionIdentity
  readonly member: Pick<Generation, 'memberId' | 'generationId'>
  readonly groupInstanceId: string | undefined
  /** Commits by topic. */
  readonly offsets: ReadonlyMap<string, readonly PartitionCommit[]>
}

/** What a group has for a partition: `unstable` while a transaction with a commit for it is open. */
export type CommittedPartition =
  | 'none'
  | 'unstable'
  | { readonly nextOffset: number; readonly metadata: string }

/** What a group has for partitions, by topic and partition. */
export type CommittedPartitions = ReadonlyMap<string, ReadonlyMap<number, CommittedPartition>>

/** The port to the offsets of a group. */
export interface GroupCommits {
  /**
   * Adds offsets to a transaction, under a membership: all of them, or the transaction must be aborted. Throws
   * GroupError when the membership is lost, TRANSACTION_FENCED when the transactional id has a newer user,
   * TRANSACTION_ABORTED when the broker has ended the transaction, FRAME_TOO_LARGE for a text that the broker would
   * not store, INVALID_ARGUMENT without a member id: the broker would accept that from anyone.
   */
  commit(commit: TransactionalCommit): Promise<void>
  /** What the group has for each of some partitions. */
  fetch(partitions: TopicPartitions): Promise<CommittedPartitions>
}

/** Default of `offset.metadata.max.bytes` of a broker: bytes of the text beside an offset. */
export const DEFAULT_METADATA_BYTES = 4_096

/** Throws for a commit that must not be sent, as `commit` of the port says: INVALID_ARGUMENT, FRAME_TOO_LARGE. */
export function checkCommit(
  groupId: string,
  { member, offsets }: TransactionalCommit,
  maxMetadataBytes: number,
): void {
  requireArgument(
    member.memberId !== '' && member.generationId >= 0,
    `commit for group "${groupId}": no membership is named; the broker would accept the offsets from anyone, so it was not asked`,
  )
  for (const [topic, partitions] of offsets) {
    for (const { partition, metadata } of partitions) {
      const bytes = Buffer.byteLength(metadata)
      if (bytes <= maxMetadataBytes) continue
      const message = `commit for group "${groupId}": the text beside the offset of ${topic}/${partition} has ${bytes} bytes, and the brokers store at most ${maxMetadataBytes} (offset.metadata.max.bytes)`
      const details = { topic, partition, bytes, maxMetadataBytes }
      throw new WeirError('FRAME_TOO_LARGE', message, { details })
    }
  }
}
