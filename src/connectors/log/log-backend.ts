import type { TopicConfig } from './topic-config.ts'

/** A producer of one transactional id; an older epoch of the same id is fenced. */
export interface ProducerIdentity {
  readonly transactionalId: string
  readonly producerId: number
  /** 0 <= epoch < 2^15. */
  readonly epoch: number
}

/** Where a transactional id stands. */
export interface TransactionDescription extends ProducerIdentity {
  readonly state: 'empty' | 'ongoing' | 'committed' | 'aborted'
}

/** How hard appends are forced to the disk before they are acknowledged. */
export type FsyncPolicy = 'none' | 'every-batch' | { readonly intervalMs: number }

/**
 * The one writer of a log directory, in its own thread or reached by messages from others. Batches
 * are given away: their ArrayBuffer may be transferred, so the caller must not touch it again until
 * the append has resolved.
 */
export interface LogBackend {
  /**
   * Creates a topic, or finds it with the same partition count. Throws TOPIC_EXISTS when it exists
   * otherwise, INVALID_ARGUMENT.
   */
  createTopic(topic: string, config: Partial<TopicConfig>): Promise<void>
  /** Raises the number of partitions. Throws UNKNOWN_TOPIC, INVALID_ARGUMENT for a lower one. */
  setPartitions(topic: string, partitions: number): Promise<void>
  deleteTopic(topic: string): Promise<void>
  /**
   * Appends one record batch and resolves with its base offset. A batch that is transactional must
   * come from the current epoch of its `transactionalId`: else TRANSACTION_FENCED.
   */
  append(
    topic: string,
    partition: number,
    batch: Uint8Array<ArrayBuffer>,
    transactionalId?: string,
  ): Promise<number>
  /** Forces everything appended to the topic onto the disk. */
  sync(topic: string): Promise<void>
  /** Takes over a transactional id with a new epoch; what its last producer left open is aborted. */
  initProducer(transactionalId: string): Promise<ProducerIdentity>
  /**
   * Commits or aborts the transaction of this epoch, also in another process than the one that began
   * it; repeating the same end is harmless. Throws TRANSACTION_FENCED, INVALID_TRANSACTION.
   */
  endTransaction(producer: ProducerIdentity, commit: boolean): Promise<void>
  /** Transactional ids that begin with `prefix`. */
  listTransactions(prefix: string): Promise<readonly TransactionDescription[]>
  /** Applies retention and compaction now. */
  clean(): Promise<void>
  close(): Promise<void>
}
