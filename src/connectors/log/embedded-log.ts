import * as fs from 'node:fs'
import type { LogBackend, ProducerIdentity } from './log-backend.ts'
import { connectLog } from './log-host.ts'
import type { LogOptions } from './log-owner.ts'
import { EmbeddedLogProducer, type ProducerOptions } from './log-producer.ts'
import {
  PartitionReader,
  type PartitionReaderOptions,
  partitionBounds,
} from './partition-reader.ts'
import type { PartitionStatus } from './partition-status.ts'
import { listTopics, partitionPath, readTopicConfig, type TopicConfig } from './topic-config.ts'

/** Durable topics in a directory. */
export class EmbeddedLog {
  readonly directory: string
  /** The one writer of the directory, in this thread or another. */
  readonly backend: LogBackend

  private constructor(directory: string, backend: LogBackend) {
    this.directory = directory
    this.backend = backend
  }

  /** Opens the directory for writing, creating it if needed. Throws LOG_LOCKED. */
  static async open(directory: string, options: LogOptions = {}): Promise<EmbeddedLog> {
    fs.mkdirSync(directory, { recursive: true })
    const real = fs.realpathSync(directory)
    return new EmbeddedLog(real, await connectLog(real, options))
  }

  /** See LogBackend. */
  createTopic(topic: string, config: Partial<TopicConfig> = {}): Promise<void> {
    return this.backend.createTopic(topic, config)
  }

  /** Names of the topics. */
  topics(): string[] {
    return listTopics(this.directory)
  }

  /** Configuration of a topic. Throws UNKNOWN_TOPIC. */
  describe(topic: string): TopicConfig {
    return readTopicConfig(this.directory, topic)
  }

  /** Present bounds of a partition. Throws UNKNOWN_TOPIC. */
  bounds(topic: string, partition: number): PartitionStatus {
    return partitionBounds(partitionPath(this.directory, topic, partition))
  }

  /** A producer for one topic. Throws UNKNOWN_TOPIC. */
  producer(topic: string, options: ProducerOptions = {}): EmbeddedLogProducer {
    return new EmbeddedLogProducer(this.backend, topic, this.describe(topic).partitions, options)
  }

  /** A reader of one partition. Throws UNKNOWN_TOPIC. */
  reader(topic: string, partition: number, options: PartitionReaderOptions = {}): PartitionReader {
    return new PartitionReader(partitionPath(this.directory, topic, partition), options)
  }

  /** Raises the number of partitions of a topic. Throws INVALID_ARGUMENT for a lower one. */
  setPartitions(topic: string, partitions: number): Promise<void> {
    return this.backend.setPartitions(topic, partitions)
  }

  /** Removes a topic with its records. Throws UNKNOWN_TOPIC. */
  deleteTopic(topic: string): Promise<void> {
    return this.backend.deleteTopic(topic)
  }

  /** Commits or aborts a prepared transaction, also one of a process that has ended. */
  endTransaction(producer: ProducerIdentity, commit: boolean): Promise<void> {
    return this.backend.endTransaction(producer, commit)
  }

  /** Gives up this use of the log; the last use in the process closes it. */
  close(): Promise<void> {
    return this.backend.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}
