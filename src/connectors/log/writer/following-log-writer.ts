import type { ProducerIdentity } from '../../transactions/producer-identity.ts'
import type { TopicConfig } from '../storage/topic-config.ts'
import type { LogWriter, TransactionDescription } from './log-writer.ts'
import { HandoverError } from './remote-log-writer.ts'
import type { TransactionLifetime } from './transaction-state.ts'

/**
 * Writer of a log that another process owns for now. An owner that ends in order says so: then the calls
 * that it has not executed go to the next owner, in their order, and the caller notices nothing. An owner
 * that is killed leaves unknown which calls it has executed: they fail.
 */
export class FollowingLogWriter implements LogWriter {
  private owner: Promise<LogWriter>
  private readonly next: () => Promise<LogWriter>
  private closed = false

  /** `next`: the writer of the next owner, which may be this process. */
  constructor(owner: LogWriter, next: () => Promise<LogWriter>) {
    this.owner = Promise.resolve(owner)
    this.next = next
  }

  private async call<Result>(run: (writer: LogWriter) => Promise<Result>): Promise<Result> {
    for (;;) {
      const { owner } = this
      const writer = await owner
      try {
        return await run(writer)
      } catch (error) {
        if (!(error instanceof HandoverError) || this.closed) throw error
        if (this.owner === owner) this.owner = this.next()
      }
    }
  }

  createTopic(topic: string, config: Partial<TopicConfig>): Promise<void> {
    return this.call((writer) => writer.createTopic(topic, config))
  }

  setPartitions(topic: string, partitions: number): Promise<void> {
    return this.call((writer) => writer.setPartitions(topic, partitions))
  }

  deleteTopic(topic: string): Promise<void> {
    return this.call((writer) => writer.deleteTopic(topic))
  }

  deleteRecords(topic: string, partition: number, before: number): Promise<void> {
    return this.call((writer) => writer.deleteRecords(topic, partition, before))
  }

  eraseRecords(topic: string, partition: number, offsets: readonly number[]): Promise<number> {
    return this.call((writer) => writer.eraseRecords(topic, partition, offsets))
  }

  append(
    topic: string,
    partition: number,
    batch: Uint8Array<ArrayBuffer>,
    transactionalId?: string,
  ): Promise<number> {
    return this.call((writer) => writer.append(topic, partition, batch, transactionalId))
  }

  sync(topic: string): Promise<void> {
    return this.call((writer) => writer.sync(topic))
  }

  initProducer(transactionalId: string, lifetime?: TransactionLifetime): Promise<ProducerIdentity> {
    return this.call((writer) => writer.initProducer(transactionalId, lifetime))
  }

  endTransaction(producer: ProducerIdentity, commit: boolean): Promise<void> {
    return this.call((writer) => writer.endTransaction(producer, commit))
  }

  listTransactions(prefix: string): Promise<readonly TransactionDescription[]> {
    return this.call((writer) => writer.listTransactions(prefix))
  }

  clean(): Promise<void> {
    return this.call((writer) => writer.clean())
  }

  async close(): Promise<void> {
    this.closed = true
    // Where no next owner was found, nothing is open.
    await this.owner.then(
      (writer) => writer.close(),
      () => undefined,
    )
  }
}
