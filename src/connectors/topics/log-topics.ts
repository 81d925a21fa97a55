import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Cancel } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import { checkOptions } from '../../core/options/shape.ts'
import type { Source } from '../../operators/port/source.ts'
import { EmbeddedLog } from '../log/embedded-log.ts'
import { LogSource } from '../log/source.ts'
import { readStatus, statusPath, topicBounds } from '../log/storage/partition-status.ts'
import {
  hasTopic,
  listTopics,
  logIdOf,
  partitionPath,
  readTopicConfig,
} from '../log/storage/topic-config.ts'
import { visitStored } from '../log/stored-records.ts'
import { FileWatch } from '../log/writer/file-watch.ts'
import {
  NEW_TOPIC,
  type NewTopic,
  type PartitionBounds,
  type StoredRecords,
  TOPIC_SOURCE,
  type TopicDescription,
  type TopicIdentity,
  type TopicProducer,
  type TopicSourceOptions,
  type TopicStore,
} from './store.ts'

/** The topics of an embedded log's directory, which is opened for writing at the first write. */
export class LogTopics implements TopicStore {
  readonly place: string
  private readonly directory: string
  readonly stored: StoredRecords
  private opened: Promise<EmbeddedLog> | undefined

  constructor(directory: string) {
    this.directory = directory
    this.place = `the embedded log in ${directory}`
    this.stored = {
      visit: (topic, visitor) => visitStored(directory, topic, visitor),
      erase: (topic, offsets) => this.erase(topic, offsets),
    }
  }

  private log(): Promise<EmbeddedLog> {
    this.opened ??= EmbeddedLog.open(this.directory).catch((error: unknown) => {
      // The next call tries again: another process may have let go of the log.
      this.opened = undefined
      throw error
    })
    return this.opened
  }

  async topics(): Promise<readonly string[]> {
    return listTopics(this.directory)
  }

  async has(topic: string): Promise<boolean> {
    return hasTopic(this.directory, topic)
  }

  async describe(topic: string): Promise<TopicDescription> {
    const config = readTopicConfig(this.directory, topic)
    const { partitions, cleanupPolicy, retentionMs, retentionBytes } = config
    return {
      topic,
      ...this.identityNow(topic),
      partitions,
      cleanupPolicy,
      retentionMs,
      retentionBytes,
    }
  }

  async bounds(topic: string): Promise<readonly PartitionBounds[]> {
    return topicBounds(this.directory, topic)
  }

  async identity(topic: string): Promise<TopicIdentity> {
    const { directory } = this
    // Topics of an earlier build get their ids when the log is opened; those that may not be written have none.
    if (readTopicConfig(directory, topic).id === '') await this.log().catch(() => undefined)
    return this.identityNow(topic)
  }

  private identityNow(topic: string): TopicIdentity {
    const { id } = readTopicConfig(this.directory, topic)
    const cluster = logIdOf(this.directory)
    return { id, ...(cluster === undefined ? {} : { cluster }) }
  }

  async create(topic: string, config: NewTopic): Promise<void> {
    checkOptions('topics.create', NEW_TOPIC, config)
    const { replicationFactor: _, ...kept } = config
    if (hasTopic(this.directory, topic)) {
      const message = `topic "${topic}" exists already in ${this.place}; use it as it is, or take another name`
      throw new WeirError('TOPIC_EXISTS', message, { details: { topic } })
    }
    await (await this.log()).createTopic(topic, kept)
  }

  async deleteRecords(topic: string, before: readonly number[]): Promise<void> {
    const { partitions } = await this.describe(topic)
    const log = await this.log()
    for (const [partition, offset] of before.slice(0, partitions).entries()) {
      if (offset > 0) await log.deleteRecords(topic, partition, offset)
    }
  }

  private async erase(
    topic: string,
    offsets: ReadonlyMap<number, readonly number[]>,
  ): Promise<number> {
    const log = await this.log()
    let erased = 0
    for (const [partition, some] of offsets) {
      erased += await log.eraseRecords(topic, partition, some)
    }
    return erased
  }

  async producer(topic: string, transactionalId?: string): Promise<TopicProducer> {
    const producer = (await this.log()).producer(topic)
    let isOpen = transactionalId !== undefined
    if (transactionalId !== undefined) await producer.begin(transactionalId, 'session')
    return {
      sendRecord: producer.sendRecord.bind(producer),
      ready: () => producer.ready(),
      whenReady: () => producer.whenReady(),
      positionOf: (key) => producer.positionOf(key),
      async sync() {
        if (isOpen) await producer.commit()
        else await producer.sync()
        isOpen = false
      },
      async close() {
        // After a failed commit no transaction is open, and the caller has its error.
        if (producer.inTransaction) await producer.abort()
        isOpen = false
      },
    }
  }

  /** Opening the log drops them. Where it can't be opened, its owner lives or the next one drops them. */
  async dropAbandoned(topic: string): Promise<void> {
    const { partitions } = readTopicConfig(this.directory, topic)
    const paths = Array.from({ length: partitions }, (_, partition) =>
      partitionPath(this.directory, topic, partition),
    )
    const statuses = paths.map((path) => readStatus(path))
    if (statuses.every(({ lastStable, endOffset }) => lastStable === endOffset)) return
    await this.log().catch(() => undefined)
  }

  watch(topic: string, onChange: () => void): Cancel | undefined {
    const watch = new FileWatch()
    watch.open(this.changing(topic), onChange)
    return watch.isOpen ? () => watch.close() : undefined
  }

  /** The files that change with the topic: its statuses, or the folder in which it will be created. */
  private changing(topic: string): readonly string[] {
    const { directory } = this
    if (!hasTopic(directory, topic)) return [existingFolder(directory)]
    const { partitions } = readTopicConfig(directory, topic)
    return Array.from({ length: partitions }, (_, partition) =>
      statusPath(partitionPath(directory, topic, partition)),
    )
  }

  source<T>(options: TopicSourceOptions<T>): Source<T> {
    checkOptions('topics.source', TOPIC_SOURCE, options)
    return new LogSource({ ...options, directory: this.directory })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const log = await this.opened?.catch(() => undefined)
    this.opened = undefined
    await log?.close()
  }
}

/** The folder, or its nearest parent that exists. */
function existingFolder(folder: string): string {
  let at = folder
  while (!existsSync(at) && dirname(at) !== at) at = dirname(at)
  return at
}
