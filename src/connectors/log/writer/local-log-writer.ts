import type { Clock } from '../../../core/clock.ts'
import {
  asWeirError,
  isWeirError,
  messageOf,
  requireArgument,
  WeirError,
} from '../../../core/errors.ts'
import { DurableFolders } from '../../../files/durable-folders.ts'
import type { FileSystem } from '../../../files/file-system.ts'
import type { ProducerIdentity } from '../../transactions/producer-identity.ts'
import { cleanPartition, dropBefore, retainPartition } from '../cleaning/cleaner.ts'
import { eraseRecords } from '../cleaning/erase.ts'
import { claimPlace } from '../storage/partition-identity.ts'
import { PartitionWriter } from '../storage/partition-writer.ts'
import { longestSegmentMs } from '../storage/retention.ts'
import {
  checkTopicName,
  hasTopic,
  listTopics,
  partitionPath,
  readTopicConfig,
  type TopicConfig,
  TRANSACTIONS_CONFIG,
  TRANSACTIONS_TOPIC,
  topicConfig,
  topicPath,
  writeTopicConfig,
} from '../storage/topic-config.ts'
import { BackgroundWork } from './background-work.ts'
import { type ChangeAnnouncer, LogChanges } from './changes.ts'
import { type LogOptions, resolveLogOptions } from './log-options.ts'
import type { FsyncPolicy, LogWriter, TransactionDescription } from './log-writer.ts'
import { OpenPartitions, placeOf } from './open-partitions.ts'
import {
  assignTopicId,
  createTopicFolder,
  deleteTopicFolder,
  removeLeftovers,
} from './topic-folders.ts'
import { TransactionCoordinator } from './transaction-coordinator.ts'
import type { TransactionLifetime } from './transaction-state.ts'

/** A transactional id that was not used for this long is removed. */
const TRANSACTION_EXPIRY_MS = 7 * 24 * 3_600_000
const STATES_PARTITION = `${TRANSACTIONS_TOPIC}/0`
/** Least time between two looks at what retention removes, ms. */
const LEAST_RETAIN_MS = 1_000
/** Most bytes of a partition that `close` cleans. */
const CLEANED_AT_CLOSE_BYTES = 4 * 1024 * 1024

/**
 * The writer of a log directory, in the thread that owns the directory. The file is long because it
 * implements every operation of one port.
 */
export class LocalLogWriter implements LogWriter {
  private readonly directory: string
  private readonly options: Required<LogOptions>
  private readonly files: FileSystem
  private readonly clock: Clock
  private readonly fsync: FsyncPolicy
  private readonly changes: ChangeAnnouncer
  private readonly partitions: OpenPartitions
  private readonly transactions: TransactionCoordinator
  private readonly background: BackgroundWork
  private closed = false
  /** Names of the partitions at which retention looks more often. */
  private readonly retained = new Set<string>()
  /** Whether retention and compaction have run. */
  private isCleaned = false
  /** Whether a file was found damaged: then nothing is removed that an explanation may need. */
  private isDamaged = false
  /** The last run of retention and compaction, after which the next one begins. */
  private cleaning: Promise<void> = Promise.resolve()
  /** The last creation of a topic, after which the next one begins. */
  private topicChanges: Promise<void> = Promise.resolve()

  private constructor(directory: string, options: LogOptions, changes: ChangeAnnouncer) {
    this.directory = directory
    this.options = resolveLogOptions(options)
    this.files = this.options.files
    this.clock = this.options.clock
    this.fsync = this.options.fsync
    this.background = new BackgroundWork(this.clock)
    this.changes = changes
    this.partitions = new OpenPartitions((name) => this.openPartition(name))
    this.transactions = new TransactionCoordinator({
      clock: this.clock,
      states: () => this.partition(TRANSACTIONS_TOPIC, 0),
      syncStates: () => this.syncStates(),
      syncPartition: (partition) => (this.fsync === 'none' ? Promise.resolve() : partition.sync()),
      partition: (name) => this.partitionNamed(name),
    })
  }

  /**
   * Opens the directory: recovers every partition and finishes decided transactions. The caller holds
   * the directory's lock.
   */
  static async open(
    directory: string,
    options: LogOptions = {},
    changes: ChangeAnnouncer = new LogChanges(directory),
  ): Promise<LocalLogWriter> {
    const writer = new LocalLogWriter(directory, options, changes)
    await writer.withTypedErrors(() => writer.load())
    writer.startTimers()
    return writer
  }

  private async load(): Promise<void> {
    const { directory, files } = this
    await new DurableFolders(files, directory).make(directory)
    await files.syncFolder(directory)
    await removeLeftovers(files, directory)
    await this.createTopic(TRANSACTIONS_TOPIC, TRANSACTIONS_CONFIG)
    this.assignId(TRANSACTIONS_TOPIC)
    await this.transactions.load()
    for (const topic of listTopics(directory, files)) {
      // A damaged topic is unusable, the others are not: its first use throws the error again.
      await this.openStoredTopic(topic).catch((error: unknown) => {
        if (!isWeirError(error) || error.retryable) throw error
        this.warn(error.message)
      })
    }
    await this.transactions.resume()
  }

  /** Runs work on files; a refusal of the system becomes a typed error with its advice. */
  private async withTypedErrors<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      throw asWeirError(error, 'CONNECTOR_FAILED', `the log in ${this.directory}`)
    }
  }

  private async openStoredTopic(topic: string): Promise<void> {
    this.assignId(topic)
    await this.openTopic(topic)
  }

  /** Gives a topic of an earlier build its id. */
  private assignId(topic: string): void {
    const { files, directory, options } = this
    try {
      assignTopicId(files, directory, { topic, newId: options.newId })
    } catch (error) {
      if (isWeirError(error)) throw error
      options.warn(`topic "${topic}" got no id (${messageOf(error)}); the next opening tries again`)
    }
  }

  private async openTopic(topic: string): Promise<void> {
    const { partitions } = readTopicConfig(this.directory, topic, this.files)
    for (let partition = 0; partition < partitions; partition++) {
      await this.partition(topic, partition)
    }
  }

  private startTimers(): void {
    const { fsync, background } = this
    if (typeof fsync === 'object') background.every(fsync.intervalMs, () => this.syncAll())
    const { cleanIntervalMs } = this.options
    if (!Number.isFinite(cleanIntervalMs)) return
    background.every(cleanIntervalMs, () => this.clean())
    // A log that is open for moments only keeps no more than others.
    background.once(() => this.retain(() => true))
  }

  /** Looks at a partition that keeps records for a short time more often than at the others. */
  private retainOften(name: string, config: TopicConfig): void {
    const everyMs = Math.max(LEAST_RETAIN_MS, longestSegmentMs(config))
    const { cleanIntervalMs } = this.options
    const isOften = config.retentionMs >= 0 && everyMs < cleanIntervalMs
    if (!isOften || !Number.isFinite(cleanIntervalMs) || this.retained.has(name)) return
    this.retained.add(name)
    const path = partitionPath(this.directory, ...placeOf(name))
    this.background.every(everyMs, () => this.retain((partition) => partition.path === path))
  }

  private retain(isChosen: (partition: PartitionWriter) => boolean): Promise<void> {
    return this.afterCleaning(() =>
      this.partitions.runOnAll(async (partition) => {
        if (!this.closed && isChosen(partition)) {
          await retainPartition(partition, this.clock.nowMs())
        }
      }),
    )
  }

  private async partitionNamed(name: string): Promise<PartitionWriter | undefined> {
    const [topic] = placeOf(name)
    if (!hasTopic(this.directory, topic, this.files)) return undefined
    return await this.partitions.get(name)
  }

  private async syncAll(): Promise<void> {
    await this.partitions.runOnAll((partition) => partition.sync())
  }

  /** Failures of partitions so far. */
  get failures(): number {
    return this.partitions.failures
  }

  /** Whether the partition `topic/number` failed after the failure `since`. */
  failedAfter(name: string, since: number): boolean {
    return this.partitions.failedAfter(name, since)
  }

  /** A partition of the topic, `topic/number`, that failed after the failure `since`. */
  failedIn(topic: string, since: number): string | undefined {
    return this.partitions.failedIn(topic, since)
  }

  /** Opens the partitions again that have failed. Those that the disk still refuses stay failed. */
  recoverFailed(): Promise<void> {
    return this.partitions.recover(async (name) => {
      if (name === STATES_PARTITION) await this.transactions.storeAgain()
    })
  }

  createTopic(topic: string, given: Partial<TopicConfig>): Promise<void> {
    const creating = this.topicChanges.then(() =>
      this.withTypedErrors(() => this.createTopicNow(topic, given)),
    )
    this.topicChanges = creating.catch(() => undefined)
    return creating
  }

  private async createTopicNow(topic: string, given: Partial<TopicConfig>): Promise<void> {
    checkTopicName(topic)
    const config = topicConfig(given)
    if (hasTopic(this.directory, topic, this.files)) {
      const existing = readTopicConfig(this.directory, topic, this.files)
      if (given.partitions === undefined || existing.partitions === config.partitions) {
        // A first call may have failed on its partitions.
        await this.openTopic(topic)
        return
      }
      const message = `topic "${topic}" exists with ${existing.partitions} partitions, not ${config.partitions}`
      throw new WeirError('TOPIC_EXISTS', message, { details: { topic } })
    }
    const stored = { ...config, id: this.options.newId() }
    await createTopicFolder(this.files, this.directory, { topic, stored })
    await this.openTopic(topic)
  }

  async setPartitions(topic: string, partitions: number): Promise<void> {
    const { id, ...config } = readTopicConfig(this.directory, topic, this.files)
    requireArgument(
      partitions >= config.partitions,
      `topic "${topic}" has ${config.partitions} partitions; the number can only grow`,
    )
    const folder = topicPath(this.directory, topic)
    const grown = topicConfig({ ...config, partitions })
    writeTopicConfig(this.files, folder, { ...grown, id })
    await this.openTopic(topic)
  }

  async deleteTopic(topic: string): Promise<void> {
    const { partitions } = readTopicConfig(this.directory, topic, this.files)
    for (let partition = 0; partition < partitions; partition++) {
      await this.partitions.close(`${topic}/${partition}`)
    }
    await deleteTopicFolder(this.files, this.directory, topic)
  }

  deleteRecords(topic: string, partition: number, before: number): Promise<void> {
    return this.afterCleaning(async () => {
      dropBefore(await this.partition(topic, partition), before)
    })
  }

  eraseRecords(topic: string, partition: number, offsets: readonly number[]): Promise<number> {
    return this.afterCleaning(async () =>
      eraseRecords(await this.partition(topic, partition), new Set(offsets)),
    )
  }

  /** Runs work on segments after what runs on them already. */
  private afterCleaning<T>(work: () => Promise<T>): Promise<T> {
    const working = this.cleaning.then(() => this.withTypedErrors(work))
    this.cleaning = working.then(() => {}).catch(() => {})
    return working
  }

  /** The writer of a partition, which is opened (and recovered) on first use. Throws UNKNOWN_TOPIC. */
  partition(topic: string, partition: number): Promise<PartitionWriter> {
    return this.partitions.get(`${topic}/${partition}`)
  }

  private openPartition(name: string): Promise<PartitionWriter> {
    return this.withTypedErrors(() => this.openPartitionNow(name))
  }

  private async openPartitionNow(name: string): Promise<PartitionWriter> {
    const [topic, partition] = placeOf(name)
    const config = readTopicConfig(this.directory, topic, this.files)
    if (!(partition >= 0 && partition < config.partitions)) {
      const message = `topic "${topic}" has partitions 0 to ${config.partitions - 1}, not ${partition}`
      throw new WeirError('UNKNOWN_TOPIC', message, { details: { topic, partition } })
    }
    const path = partitionPath(this.directory, topic, partition)
    await new DurableFolders(this.files, path).make(path)
    claimPlace(this.files, path, { topic, id: config.id, partition })
    this.retainOften(name, config)
    return PartitionWriter.open(path, config, {
      files: this.files,
      warn: (message) => this.warn(message),
      syncEveryWrite: this.fsync === 'every-batch',
      openTransactions: this.transactions.openIn(name),
      onChange: () => this.changes.announce({ topic, partition }),
      onFailure: () => this.partitions.recordFailure(name),
    })
  }

  async append(
    topic: string,
    partition: number,
    batch: Uint8Array<ArrayBuffer>,
    transactionalId?: string,
  ): Promise<number> {
    const writer = await this.partition(topic, partition)
    if (transactionalId === undefined) return await writer.append(batch)
    const name = `${topic}/${partition}`
    return await this.transactions.append(transactionalId, { name, writer, batch })
  }

  async sync(topic: string): Promise<void> {
    if (this.fsync === 'none') return
    await this.partitions.sync(topic)
    // A transaction that is prepared must be known after a power cut.
    await this.syncStates()
  }

  /** Forces the states of transactions to the disk, if the policy forces anything. */
  private async syncStates(): Promise<void> {
    if (this.fsync !== 'none') await (await this.partition(TRANSACTIONS_TOPIC, 0)).sync()
  }

  initProducer(transactionalId: string, lifetime?: TransactionLifetime): Promise<ProducerIdentity> {
    return this.transactions.initProducer(transactionalId, lifetime)
  }

  /** Aborts what a session leaves open of its transactions with the lifetime `session`: epochs by id. */
  endSession(epochs: ReadonlyMap<string, number>): Promise<void> {
    return this.transactions.endSession(epochs)
  }

  endTransaction(producer: ProducerIdentity, commit: boolean): Promise<void> {
    return this.transactions.endTransaction(producer, commit)
  }

  listTransactions(prefix: string): Promise<readonly TransactionDescription[]> {
    return Promise.resolve(this.transactions.list(prefix))
  }

  clean(): Promise<void> {
    return this.afterCleaning(() => this.cleanAll())
  }

  private async cleanAll(): Promise<void> {
    await this.transactions.expire(this.options.transactionTimeoutMs, TRANSACTION_EXPIRY_MS)
    await this.partitions.runOnAll(async (partition) => {
      if (!this.closed) await cleanPartition(partition, this.clock.nowMs())
    })
    this.isCleaned = true
  }

  private warn(message: string): void {
    this.isDamaged = true
    this.options.warn(message)
  }

  /** Cleans the small partitions of a log that was not open for long enough, as that of a registry. */
  private async cleanSmall(): Promise<void> {
    await this.partitions.runOnAll(async (partition) => {
      const bytes = partition.closedSegments().reduce((sum, { size }) => sum + size, 0)
      if (bytes > 0 && bytes <= CLEANED_AT_CLOSE_BYTES) {
        await cleanPartition(partition, this.clock.nowMs())
      }
    })
  }

  async close(): Promise<void> {
    this.closed = true
    await this.background.close()
    await this.cleaning
    const mayClean = !this.isDamaged && Number.isFinite(this.options.cleanIntervalMs)
    if (mayClean && !this.isCleaned) await this.cleanSmall().catch(() => undefined)
    await this.transactions.handOver().catch(() => undefined)
    await this.partitions.closeAll()
    this.changes.close()
  }
}
