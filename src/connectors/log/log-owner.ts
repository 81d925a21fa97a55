import * as fsp from 'node:fs/promises'
import { join } from 'node:path'
import { type Cancel, type Clock, systemClock } from '../../core/clock.ts'
import { requireArgument, WeirError } from '../../core/errors.ts'
import type {
  FsyncPolicy,
  LogBackend,
  ProducerIdentity,
  TransactionDescription,
} from './log-backend.ts'
import { LogChanges } from './log-changes.ts'
import { cleanPartition } from './log-cleaner.ts'
import { PartitionLog } from './partition-log.ts'
import {
  checkTopicName,
  hasTopic,
  listTopics,
  partitionPath,
  readTopicConfig,
  type TopicConfig,
  topicConfig,
  topicPath,
  writeTopicConfig,
} from './topic-config.ts'
import { TransactionCoordinator } from './transaction-coordinator.ts'

/** How a log directory is written. */
export interface LogOptions {
  /** Default: every 100 ms. */
  readonly fsync?: FsyncPolicy
  /** Time between runs of retention and compaction in ms; default 30,000. */
  readonly cleanIntervalMs?: number
  /** A transaction that is open for longer is aborted, in ms; default 15 minutes. */
  readonly transactionTimeoutMs?: number
  readonly clock?: Clock
}

const DEFAULT_SYNC_INTERVAL_MS = 100
const DEFAULT_CLEAN_INTERVAL_MS = 30_000
const DEFAULT_TRANSACTION_TIMEOUT_MS = 15 * 60_000
/** A transactional id that nothing has used for this long is forgotten. */
const TRANSACTION_EXPIRY_MS = 7 * 24 * 3_600_000
/** Internal topic of the transactions' states. */
const TRANSACTIONS_TOPIC = '__transactions'

/** The writer of a log directory, for use inside its own thread. */
export class LogOwner implements LogBackend {
  private readonly directory: string
  private readonly clock: Clock
  private readonly fsync: FsyncPolicy
  private readonly transactionTimeoutMs: number
  private readonly changes: LogChanges
  private readonly partitions = new Map<string, Promise<PartitionLog>>()
  private readonly transactions: TransactionCoordinator
  private readonly timers = new Map<object, Cancel>()
  /** Background work under way, which `close` waits for. */
  private readonly background = new Set<Promise<void>>()
  private closed = false
  /** The last run of retention and compaction; the next one follows it. */
  private cleaning: Promise<void> = Promise.resolve()
  /** The last creation of a topic; the next one follows it. */
  private topicChanges: Promise<void> = Promise.resolve()

  private constructor(directory: string, options: LogOptions) {
    this.directory = directory
    this.clock = options.clock ?? systemClock
    this.fsync = options.fsync ?? { intervalMs: DEFAULT_SYNC_INTERVAL_MS }
    this.transactionTimeoutMs = options.transactionTimeoutMs ?? DEFAULT_TRANSACTION_TIMEOUT_MS
    this.changes = new LogChanges(directory)
    this.transactions = new TransactionCoordinator({
      clock: this.clock,
      states: () => this.partition(TRANSACTIONS_TOPIC, 0),
      partition: (name) => this.partitionNamed(name),
    })
  }

  /**
   * Opens the directory: recovers every partition, finishes decided transactions. The caller holds
   * the directory's lock.
   */
  static async open(directory: string, options: LogOptions = {}): Promise<LogOwner> {
    const owner = new LogOwner(directory, options)
    await owner.createTopic(TRANSACTIONS_TOPIC, { cleanupPolicy: 'compact' })
    await owner.transactions.load()
    for (const topic of listTopics(directory)) await owner.openTopic(topic)
    await owner.transactions.resume()
    owner.startTimers(options)
    return owner
  }

  private async openTopic(topic: string): Promise<void> {
    const { partitions } = readTopicConfig(this.directory, topic)
    for (let partition = 0; partition < partitions; partition++) {
      await this.partition(topic, partition)
    }
  }

  private startTimers(options: LogOptions): void {
    if (typeof this.fsync === 'object') this.every(this.fsync.intervalMs, () => this.syncAll())
    this.every(options.cleanIntervalMs ?? DEFAULT_CLEAN_INTERVAL_MS, () => this.clean())
  }

  /** Repeats background work; what fails is tried again the next time. */
  private every(intervalMs: number, work: () => Promise<void>): void {
    if (this.closed) return
    const slot = {}
    const cancel = this.clock.after(intervalMs, () => {
      this.timers.delete(slot)
      const running = work()
        .catch(() => undefined)
        .then(() => {
          this.background.delete(running)
          this.every(intervalMs, work)
        })
      this.background.add(running)
    })
    this.timers.set(slot, cancel)
  }

  private async partitionNamed(name: string): Promise<PartitionLog | undefined> {
    const slash = name.lastIndexOf('/')
    const topic = name.slice(0, slash)
    if (!hasTopic(this.directory, topic)) return undefined
    return await this.partition(topic, Number(name.slice(slash + 1)))
  }

  private async syncAll(): Promise<void> {
    for (const partition of [...this.partitions.values()]) await (await partition).sync()
  }

  createTopic(topic: string, given: Partial<TopicConfig>): Promise<void> {
    const creating = this.topicChanges.then(() => this.createTopicAlone(topic, given))
    this.topicChanges = creating.catch(() => undefined)
    return creating
  }

  private async createTopicAlone(topic: string, given: Partial<TopicConfig>): Promise<void> {
    checkTopicName(topic)
    const config = topicConfig(given)
    if (hasTopic(this.directory, topic)) {
      const existing = readTopicConfig(this.directory, topic)
      if (given.partitions === undefined || existing.partitions === config.partitions) return
      const message = `topic "${topic}" exists with ${existing.partitions} partitions, not ${config.partitions}`
      throw new WeirError('TOPIC_EXISTS', message, { details: { topic } })
    }
    const temporary = join(this.directory, `.new-${topic}`)
    await fsp.rm(temporary, { recursive: true, force: true })
    await fsp.mkdir(temporary, { recursive: true })
    writeTopicConfig(temporary, config)
    await fsp.rename(temporary, topicPath(this.directory, topic))
    await this.openTopic(topic)
  }

  async setPartitions(topic: string, partitions: number): Promise<void> {
    const config = readTopicConfig(this.directory, topic)
    requireArgument(
      partitions >= config.partitions,
      `topic "${topic}" has ${config.partitions} partitions; their number can only grow`,
    )
    writeTopicConfig(topicPath(this.directory, topic), topicConfig({ ...config, partitions }))
    await this.openTopic(topic)
  }

  async deleteTopic(topic: string): Promise<void> {
    const { partitions } = readTopicConfig(this.directory, topic)
    for (let partition = 0; partition < partitions; partition++) {
      const name = `${topic}/${partition}`
      const log = this.partitions.get(name)
      this.partitions.delete(name)
      await (await log)?.close()
    }
    const doomed = join(this.directory, `.deleted-${topic}`)
    await fsp.rename(topicPath(this.directory, topic), doomed)
    await fsp.rm(doomed, { recursive: true })
  }

  /** The writing side of a partition, opened (and recovered) on first use. Throws UNKNOWN_TOPIC. */
  partition(topic: string, partition: number): Promise<PartitionLog> {
    const name = `${topic}/${partition}`
    const known = this.partitions.get(name)
    if (known !== undefined) return known
    const opening = this.openPartition(topic, partition)
    this.partitions.set(name, opening)
    opening.catch(() => this.partitions.delete(name))
    return opening
  }

  private async openPartition(topic: string, partition: number): Promise<PartitionLog> {
    const config = readTopicConfig(this.directory, topic)
    if (!(partition >= 0 && partition < config.partitions)) {
      const message = `topic "${topic}" has partitions 0 to ${config.partitions - 1}, not ${partition}`
      throw new WeirError('UNKNOWN_TOPIC', message, { details: { topic, partition } })
    }
    return PartitionLog.open(partitionPath(this.directory, topic, partition), config, {
      syncEveryWrite: this.fsync === 'every-batch',
      openTransactions: this.transactions.openIn(`${topic}/${partition}`),
      onChange: () => this.changes.announce({ topic, partition }),
    })
  }

  async append(
    topic: string,
    partition: number,
    batch: Uint8Array<ArrayBuffer>,
    transactionalId?: string,
  ): Promise<number> {
    const log = await this.partition(topic, partition)
    if (transactionalId === undefined) return await log.append(batch)
    return await this.transactions.append(transactionalId, `${topic}/${partition}`, log, batch)
  }

  async sync(topic: string): Promise<void> {
    if (this.fsync === 'none') return
    for (const [name, partition] of this.partitions) {
      if (name.startsWith(`${topic}/`)) await (await partition).sync()
    }
  }

  initProducer(transactionalId: string): Promise<ProducerIdentity> {
    return this.transactions.initProducer(transactionalId)
  }

  endTransaction(producer: ProducerIdentity, commit: boolean): Promise<void> {
    return this.transactions.endTransaction(producer, commit)
  }

  listTransactions(prefix: string): Promise<readonly TransactionDescription[]> {
    return Promise.resolve(this.transactions.list(prefix))
  }

  clean(): Promise<void> {
    const cleaning = this.cleaning.then(() => this.cleanAll())
    this.cleaning = cleaning.catch(() => undefined)
    return cleaning
  }

  private async cleanAll(): Promise<void> {
    await this.transactions.expire(this.transactionTimeoutMs, TRANSACTION_EXPIRY_MS)
    for (const opening of [...this.partitions.values()]) {
      if (this.closed) return
      await cleanPartition(await opening, this.clock.nowMs())
    }
  }

  async close(): Promise<void> {
    this.closed = true
    for (const cancel of this.timers.values()) cancel()
    await Promise.all(this.background)
    await this.cleaning
    const partitions = await Promise.allSettled(this.partitions.values())
    this.partitions.clear()
    for (const opened of partitions) {
      if (opened.status === 'fulfilled') await opened.value.close()
    }
    this.changes.close()
  }
}
