import * as fsp from 'node:fs/promises'
import { join } from 'node:path'
import type { Cancel, Clock } from '../../core/clock.ts'
import { requireArgument, WeirError } from '../../core/errors.ts'
import type {
  FsyncPolicy,
  LogBackend,
  ProducerIdentity,
  TransactionDescription,
} from './log-backend.ts'
import { LogChanges } from './log-changes.ts'
import { PartitionLog } from './partition-log.ts'
import {
  checkTopicName,
  hasTopic,
  partitionPath,
  readTopicConfig,
  type TopicConfig,
  topicConfig,
  topicPath,
  writeTopicConfig,
} from './topic-config.ts'

/** How a log directory is written. */
export interface LogOptions {
  /** Default: every 100 ms. */
  readonly fsync?: FsyncPolicy
  /** Time between runs of retention and compaction in ms; default 30,000. */
  readonly cleanIntervalMs?: number
  readonly clock?: Clock
}

const DEFAULT_SYNC_INTERVAL_MS = 100

/** The writer of a log directory, for use inside its own thread. */
export class LogOwner implements LogBackend {
  private readonly directory: string
  private readonly fsync: FsyncPolicy
  private readonly changes: LogChanges
  private readonly partitions = new Map<string, Promise<PartitionLog>>()
  private readonly timers: Cancel[] = []

  constructor(directory: string, options: LogOptions = {}) {
    this.directory = directory
    this.fsync = options.fsync ?? { intervalMs: DEFAULT_SYNC_INTERVAL_MS }
    this.changes = new LogChanges(directory)
  }

  async createTopic(topic: string, given: Partial<TopicConfig>): Promise<void> {
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
    for (let partition = 0; partition < config.partitions; partition++) {
      await this.partition(topic, partition)
    }
  }

  async setPartitions(topic: string, partitions: number): Promise<void> {
    const config = readTopicConfig(this.directory, topic)
    requireArgument(
      partitions >= config.partitions,
      `topic "${topic}" has ${config.partitions} partitions; their number can only grow`,
    )
    writeTopicConfig(topicPath(this.directory, topic), topicConfig({ ...config, partitions }))
    for (let partition = 0; partition < partitions; partition++) {
      await this.partition(topic, partition)
    }
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
      onChange: () => this.changes.announce({ topic, partition }),
    })
  }

  async append(topic: string, partition: number, batch: Uint8Array<ArrayBuffer>): Promise<number> {
    return (await this.partition(topic, partition)).append(batch)
  }

  async sync(topic: string): Promise<void> {
    if (this.fsync === 'none') return
    for (const [name, partition] of this.partitions) {
      if (name.startsWith(`${topic}/`)) await (await partition).sync()
    }
  }

  initProducer(_transactionalId: string): Promise<ProducerIdentity> {
    return Promise.reject(new WeirError('UNSUPPORTED', 'transactions are not there yet'))
  }

  endTransaction(_producer: ProducerIdentity, _commit: boolean): Promise<void> {
    return Promise.reject(new WeirError('UNSUPPORTED', 'transactions are not there yet'))
  }

  listTransactions(_prefix: string): Promise<readonly TransactionDescription[]> {
    return Promise.resolve([])
  }

  clean(): Promise<void> {
    return Promise.resolve()
  }

  async close(): Promise<void> {
    for (const cancel of this.timers) cancel()
    const partitions = await Promise.allSettled(this.partitions.values())
    this.partitions.clear()
    for (const opened of partitions) {
      if (opened.status === 'fulfilled') await opened.value.close()
    }
    this.changes.close()
  }
}
