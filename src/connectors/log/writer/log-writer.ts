import type { ProducerIdentity } from '../../transactions/producer-identity.ts'
import type { TopicConfig } from '../storage/topic-config.ts'
import type { TransactionLifetime } from './transaction-state.ts'

/** State of a transactional id. */
export interface TransactionDescription extends ProducerIdentity {
  readonly state: 'empty' | 'ongoing' | 'committed' | 'aborted'
}

/** When appends are forced to the disk: never, before each acknowledgement, or at intervals. */
export type FsyncPolicy = 'none' | 'every-batch' | { readonly intervalMs: number }

/**
 * The one writer of a log directory: in the calling thread, or reached by messages from other threads
 * and processes. The writer takes over each batch: its ArrayBuffer may be transferred, so the caller
 * must not use it until the append has resolved.
 */
export interface LogWriter {
  /**
   * Creates a topic; one that exists with the same number of partitions is kept. Throws TOPIC_EXISTS
   * when it has another number of partitions, INVALID_ARGUMENT.
   */
  createTopic(topic: string, config: Partial<TopicConfig>): Promise<void>
  /** Raises the number of partitions. Throws UNKNOWN_TOPIC, INVALID_ARGUMENT for a lower one. */
  setPartitions(topic: string, partitions: number): Promise<void>
  deleteTopic(topic: string): Promise<void>
  /** Removes the segments of a partition whose records are all below an offset. Throws UNKNOWN_TOPIC. */
  deleteRecords(topic: string, partition: number, before: number): Promise<void>
  /**
   * Takes single records out of a partition; all others keep their offsets. Resolves, once that is durable, with how many
   * were there. Throws UNKNOWN_TOPIC, ILLEGAL_STATE behind the start of an open transaction.
   */
  eraseRecords(topic: string, partition: number, offsets: readonly number[]): Promise<number>
  /**
   * Appends one record batch and resolves with its base offset. A transactional batch must come from
   * the current epoch of its `transactionalId`: else TRANSACTION_FENCED.
   */
  append(
    topic: string,
    partition: number,
    batch: Uint8Array<ArrayBuffer>,
    transactionalId?: string,
  ): Promise<number>
  /** A buffer of an appended batch, for another batch: only where batches are transferred, and come back. */
  spareBuffer?(): ArrayBuffer | undefined
  /** Forces everything appended to the topic onto the disk. */
  sync(topic: string): Promise<void>
  /**
   * Takes over a transactional id with a new epoch and aborts the open transaction of the last one.
   * `lifetime`: default `handle`.
   */
  initProducer(transactionalId: string, lifetime?: TransactionLifetime): Promise<ProducerIdentity>
  /**
   * Commits or aborts the transaction of this epoch, also from another process than the one that began
   * it; repeating the same end is harmless. Throws TRANSACTION_FENCED, INVALID_TRANSACTION.
   */
  endTransaction(producer: ProducerIdentity, commit: boolean): Promise<void>
  /** Transactional ids that begin with `prefix`. */
  listTransactions(prefix: string): Promise<readonly TransactionDescription[]>
  /** Applies retention and compaction now. */
  clean(): Promise<void>
  close(): Promise<void>
}
