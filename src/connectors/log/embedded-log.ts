import * as fs from 'node:fs'
import { flag, kindOf, listOf, name, wholeNumber } from '../../core/options/kinds.ts'
import { checkArgument, checkOptions } from '../../core/options/shape.ts'
import { nodeFileSystem } from '../../files/node-file-system.ts'
import type { ProducerIdentity } from '../transactions/producer-identity.ts'
import { EmbeddedLogProducer, LOG_PRODUCER, type ProducerOptions } from './producer.ts'
import { requireOwnPlace } from './storage/partition-identity.ts'
import {
  PARTITION_READER,
  PartitionReader,
  type PartitionReaderOptions,
} from './storage/partition-reader.ts'
import type { PartitionStatus } from './storage/partition-status.ts'
import { readStatus } from './storage/partition-status.ts'
import {
  listTopics,
  partitionPath,
  readTopicConfig,
  type StoredTopic,
  type TopicConfig,
} from './storage/topic-config.ts'
import { connectLogWriter } from './writer/connect.ts'
import { LOG, type LogOptions } from './writer/log-options.ts'
import type { LogWriter } from './writer/log-writer.ts'

/** Durable topics in a directory. */
export class EmbeddedLog {
  readonly directory: string
  /** The one writer of the directory, in this thread or another one. */
  readonly writer: LogWriter

  private constructor(directory: string, writer: LogWriter) {
    this.directory = directory
    this.writer = writer
  }

  /** Opens the directory for writing and creates it if needed. Throws LOG_LOCKED. */
  static async open(directory: string, options: LogOptions = {}): Promise<EmbeddedLog> {
    checkArgument('EmbeddedLog.open', 'directory', name, directory)
    checkOptions('EmbeddedLog.open', LOG, options)
    nodeFileSystem.makeFolderSync(directory)
    const real = fs.realpathSync(directory)
    return new EmbeddedLog(real, await connectLogWriter(real, options))
  }

  /** Creates a topic; see `LogWriter.createTopic`. */
  createTopic(topic: string, config: Partial<TopicConfig> = {}): Promise<void> {
    return this.writer.createTopic(topic, config)
  }

  /** Names of the topics. */
  topics(): string[] {
    return listTopics(this.directory)
  }

  /** Configuration and id of a topic. Throws UNKNOWN_TOPIC. */
  describe(topic: string): StoredTopic {
    return readTopicConfig(this.directory, topic)
  }

  /** Current bounds of a partition. Throws UNKNOWN_TOPIC, MALFORMED_DATA. */
  bounds(topic: string, partition: number): PartitionStatus {
    checkPartition('log.bounds', topic, partition)
    const path = partitionPath(this.directory, topic, partition)
    requireOwnPlace(nodeFileSystem, path)
    return readStatus(path)
  }

  /** A producer for one topic. Throws UNKNOWN_TOPIC. */
  producer(topic: string, options: ProducerOptions = {}): EmbeddedLogProducer {
    checkOptions('log.producer', LOG_PRODUCER, options)
    const { partitions } = this.describe(topic)
    return new EmbeddedLogProducer(this.writer, { topic, partitions }, options)
  }

  /** A reader of one partition. Throws UNKNOWN_TOPIC. */
  reader(topic: string, partition: number, options: PartitionReaderOptions = {}): PartitionReader {
    checkPartition('log.reader', topic, partition)
    checkOptions('log.reader', PARTITION_READER, options)
    return new PartitionReader(partitionPath(this.directory, topic, partition), options)
  }

  /** Raises the number of partitions of a topic. Throws INVALID_ARGUMENT for a lower one. */
  setPartitions(topic: string, partitions: number): Promise<void> {
    return this.writer.setPartitions(topic, partitions)
  }

  /** Removes a topic with its records. Throws UNKNOWN_TOPIC. */
  deleteTopic(topic: string): Promise<void> {
    return this.writer.deleteTopic(topic)
  }

  /** Removes the segments of a partition whose records are all below an offset. Throws UNKNOWN_TOPIC. */
  async deleteRecords(topic: string, partition: number, before: number): Promise<void> {
    checkPartition('log.deleteRecords', topic, partition)
    checkArgument('log.deleteRecords', 'before', OFFSET, before)
    await this.writer.deleteRecords(topic, partition, before)
  }

  /**
   * Takes single records out of a partition, durably, also where the topic keeps all; every other record keeps its
   * offset. Returns how many were there. Throws UNKNOWN_TOPIC, ILLEGAL_STATE behind the start of an open transaction.
   */
  async eraseRecords(
    topic: string,
    partition: number,
    offsets: readonly number[],
  ): Promise<number> {
    checkPartition('log.eraseRecords', topic, partition)
    checkArgument('log.eraseRecords', 'offsets', OFFSETS, offsets)
    return await this.writer.eraseRecords(topic, partition, offsets)
  }

  /** Commits or aborts a prepared transaction, also of a process that has ended. */
  async endTransaction(producer: ProducerIdentity, commit: boolean): Promise<void> {
    checkArgument('log.endTransaction', 'producer', PRODUCER, producer)
    checkArgument('log.endTransaction', 'commit', flag, commit)
    await this.writer.endTransaction(producer, commit)
  }

  /** Ends this use of the log. The last use in the process closes the log. */
  close(): Promise<void> {
    return this.writer.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

const OFFSET = wholeNumber({ min: 0 })
const OFFSETS = listOf(OFFSET)
const PRODUCER = kindOf<ProducerIdentity>(
  'the identity of a producer, which its prepare() returns',
  (given) => typeof (given as Partial<ProducerIdentity> | null)?.transactionalId === 'string',
)

function checkPartition(call: string, topic: unknown, partition: unknown): void {
  checkArgument(call, 'topic', name, topic)
  checkArgument(call, 'partition', OFFSET, partition)
}
