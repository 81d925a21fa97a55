import { join } from 'node:path'
import { sourceTopics } from '../../src/cluster/rest/job/source-topics.ts'
import type { KafkaClientOptions } from '../../src/connectors/kafka/client/options.ts'
import { openTopics } from '../../src/connectors/topics/open.ts'
import type { TopicsPlace } from '../../src/connectors/topics/place.ts'
import { scanTopic } from '../../src/connectors/topics/scan.ts'
import type { TopicProducer, TopicStore } from '../../src/connectors/topics/store.ts'
import { systemClock } from '../../src/core/clock.ts'
import {
  type AlsLearningCoordinator,
  alsLearning,
} from '../../src/jobs/learning/als/coordinator.ts'
import type { OnlineAlsOptions } from '../../src/jobs/learning/als/job.ts'
import { alsVersionMetadata } from '../../src/jobs/learning/als/version.ts'
import type { ResumeOffset } from '../../src/jobs/learning/resume-offsets.ts'
import { publishAls } from '../../src/kinds/factors/publish.ts'
import type { OnlineRuleOptions } from '../../src/models/als/online/rules.ts'
import type { Rating } from '../../src/models/ratings/rating.ts'
import { retireVersions } from '../../src/models/retention/retire-versions.ts'
import { MODEL_ROWS_UID } from '../../src/models/topic/operator.ts'
import { deltasTopic } from '../../src/models/topic/topics.ts'
import { VersionCoordinator } from '../../src/models/topic/version-coordinator.ts'
import type { JobExecution } from '../../src/runtime/job/execution.ts'
import { LocalModelReader } from '../../src/serving/reader/model-reader.ts'
import type { SlotTables } from '../../src/state/catalog/job-catalog.ts'
import { ProgressBoard } from '../../src/state/catalog/progress-board.ts'
import { StateCatalog } from '../../src/state/catalog/state-catalog.ts'
import { RowTableReader } from '../../src/state/rows/reader.ts'
import type { RowTableShare } from '../../src/state/rows/share.ts'
import { MiniCluster } from '../../src/testing/mini-cluster.ts'
import type { AlsModel } from '../../src/training/als/solver/model.ts'
import { until } from '../run/until.ts'
import { type ModelDelta, modelDeltaOf } from './model-delta-of.ts'
import { readRow, type StoredRow, tableCollector } from './row-tables.ts'

const TOPIC = 'als-model'
const OBSERVATIONS = 'observations'
const PARTITIONS = 3
const decoder = new TextDecoder()
const encoder = new TextEncoder()

/** Options of a learning job under test. */
export interface LearningOptions {
  readonly root: string
  readonly model: AlsModel
  readonly rule: OnlineRuleOptions
  readonly parallelism: number
  readonly kafka?: KafkaClientOptions
  readonly job?: Partial<OnlineAlsOptions>
  readonly checkpointInterval?: string
}

interface FixtureParts
  extends Pick<LearningFixture, 'job' | 'topics' | 'resumeOffsets' | 'versions' | 'learning'> {
  readonly cluster: MiniCluster
  readonly shares: Map<string, RowTableShare>
  readonly complete: Map<number, SlotTables>
  readonly producer: TopicProducer
}

/** A learning job on worker threads with its own topics. A test reads its rows in shared memory. */
export class LearningFixture implements AsyncDisposable {
  readonly job: JobExecution
  readonly topics: TopicStore
  /** For each version, how far it has learned when it goes live. */
  readonly resumeOffsets: Map<number, readonly ResumeOffset[]>
  /** The live version: the highest, unless a test sets it. */
  readonly versions: VersionCoordinator
  readonly learning: AlsLearningCoordinator
  private readonly cluster: MiniCluster
  private readonly shares: Map<string, RowTableShare>
  private readonly complete: Map<number, SlotTables>
  private readonly producer: TopicProducer

  private constructor(parts: FixtureParts) {
    this.resumeOffsets = parts.resumeOffsets
    this.versions = parts.versions
    this.learning = parts.learning
    this.cluster = parts.cluster
    this.job = parts.job
    this.topics = parts.topics
    this.shares = parts.shares
    this.complete = parts.complete
    this.producer = parts.producer
  }

  /** Publishes the model as version 1 and starts the job. */
  static async start(options: LearningOptions): Promise<LearningFixture> {
    const { root, model, kafka } = options
    const place: TopicsPlace = kafka === undefined ? { logDirectory: join(root, 'log') } : { kafka }
    const topics = await openTopics(place)
    await topics.create(OBSERVATIONS, { partitions: PARTITIONS })
    await publishAls(model, {
      log: topics,
      topic: TOPIC,
      version: 1,
      clock: systemClock,
      partitions: 2,
    })
    const shares = new Map<string, RowTableShare>()
    const complete = new Map<number, SlotTables>()
    const learning = alsLearning({ clock: systemClock })
    // Version 1 has learned none of the observations.
    const none = Array.from({ length: PARTITIONS }, (_, partition) => ({
      partition,
      start: 0,
      next: 0,
    }))
    const resumeOffsets = new Map<number, readonly ResumeOffset[]>([[1, none]])
    const versions = new VersionCoordinator({
      model: 0,
      partitions: 2,
      clock: systemClock,
      onLive: (version, marker) =>
        learning.live(version, {
          ...alsVersionMetadata(version, marker),
          resumeOffsets: resumeOffsets.get(version),
        }),
    })
    const cluster = new MiniCluster()
    const jobOptions: OnlineAlsOptions = {
      ...place,
      topic: TOPIC,
      observations: OBSERVATIONS,
      dimension: model.dimension,
      rule: options.rule,
      ...options.job,
    }
    const module = new URL('../../src/jobs/learning/als/job.ts', import.meta.url)
    const job = await cluster.startWorkers(module, jobOptions, {
      configuration: {
        'parallelism.default': String(options.parallelism),
        'execution.checkpointing.interval': options.checkpointInterval ?? '60 ms',
        'execution.checkpointing.dir': join(root, 'checkpoints'),
        'state.backend.directory': join(root, 'state'),
        'restart-strategy.type': 'fixed-delay',
        'restart-strategy.fixed-delay.attempts': '100',
        'restart-strategy.fixed-delay.delay': '10 ms',
      },
      coordinators: {
        ...learning.coordinators,
        [MODEL_ROWS_UID]: versions,
      },
      serving: tableCollector(shares, complete),
    })
    const producer = await topics.producer(OBSERVATIONS)
    return new LearningFixture({
      ...{ cluster, job, topics, shares, complete, producer },
      ...{ resumeOffsets, versions, learning },
    })
  }

  /** Publishes another version. */
  async publish(model: AlsModel, version: number): Promise<void> {
    await publishAls(model, { log: this.topics, topic: TOPIC, version, clock: systemClock })
  }

  /** Deletes the rows of versions, as a policy does. */
  async retire(versions: readonly number[]): Promise<void> {
    await retireVersions(this.topics, TOPIC, { versions, clock: systemClock })
  }

  /** Versions with a table of any state in any slot. */
  openVersions(): readonly number[] {
    const versions = new Set([...this.shares.values()].map(({ version }) => version))
    return [...versions].sort((a, b) => a - b)
  }

  /** The sum of a metric over all slots. */
  async metric(name: string): Promise<number> {
    const metrics = Object.entries(await this.job.metrics())
    const found = metrics.filter(([key]) => key.endsWith(`.${name}`))
    return found.reduce((sum, [, value]) => sum + Number(value), 0)
  }

  /** Number of observations in the topic by user, from the given offsets on. */
  async observed(resumeOffsets: readonly ResumeOffset[]): Promise<Map<string, number>> {
    const counts = new Map<string, number>()
    await scanTopic(this.topics, OBSERVATIONS, (record, partition) => {
      if (record.offset < (resumeOffsets.find((each) => each.partition === partition)?.next ?? 0)) {
        return true
      }
      const user = decoder.decode(record.key()!)
      counts.set(user, (counts.get(user) ?? 0) + 1)
      return true
    })
    return counts
  }

  /** The current end offsets of the observations. */
  async ends(): Promise<readonly ResumeOffset[]> {
    const bounds = await this.topics.bounds(OBSERVATIONS)
    return bounds.map(({ partition, start, end }) => ({ partition, start, next: end }))
  }

  /** Appends ratings to the observations. */
  async rate(ratings: Iterable<Rating>): Promise<void> {
    for (const { user, item, rating, timestamp } of ratings) {
      this.sendLine(user, `${user},${item},${rating}`, timestamp)
    }
    await this.producer.sync()
  }

  sendLine(user: string, line: string, timestamp = 0): void {
    this.producer.sendRecord(encoder.encode(user), encoder.encode(line), timestamp, -1, [])
  }

  sync(): Promise<void> {
    return this.producer.sync()
  }

  /** A reader of the rows as query threads have them; the board has the live version of model 0. */
  reader(): LocalModelReader {
    const catalog = new StateCatalog()
    for (const share of this.shares.values()) catalog.add(share)
    for (const tables of this.complete.values()) catalog.setSlotTables(tables)
    return new LocalModelReader({
      catalog,
      board: new ProgressBoard(this.job.board.share),
      slots: {
        ask: () => Promise.reject(new Error('every row is in memory')),
        cancel: () => {},
        giveBack: () => {},
      },
      clock: systemClock,
      modelOf: () => 0,
      server: 'test',
    })
  }

  /** Rows of a version by key, `user-rows` or `item-rows`. */
  rows(state: 'user-rows' | 'item-rows', version = 1): Map<string, StoredRow> {
    const rows = new Map<string, StoredRow>()
    for (const share of this.shares.values()) {
      if (share.state !== state || share.version !== version) continue
      const reader = new RowTableReader(share)
      const { rowsPerSegment, rowShift } = reader.layout
      for (let segment = 0; segment < reader.segments; segment++) {
        if (!reader.hasRows(segment)) continue
        for (let i = 0; i < rowsPerSegment; i++) readRow(reader, (segment << rowShift) + i, rows)
      }
    }
    return rows
  }

  /** Waits until the rows of a state have at least this number of writes in total. */
  async untilWritten(state: 'user-rows' | 'item-rows', wanted: number, version = 1): Promise<void> {
    let sum = 0
    const what = (): string => `${wanted} writes of ${state}, there are ${sum}`
    await until(what, () => {
      const counts = [...this.rows(state, version).values()].map(({ updateCount }) => updateCount)
      sum = counts.reduce((a, b) => a + b, 0)
      return sum >= wanted && this.job.status === 'RUNNING'
    })
  }

  /** Mean squared error of the live predictions, over all slots. */
  async prequentialMse(): Promise<number> {
    const metrics = await this.job.metrics()
    const all = (name: string): number[] =>
      Object.entries(metrics)
        .filter(([key]) => key.endsWith(`.${name}`))
        .map(([, value]) => Number(value))
    const learned = all('ratingsLearned')
    const squares = all('prequentialMse').map((mse, slot) => mse * learned[slot]!)
    const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0)
    return sum(squares) / sum(learned)
  }

  /** Waits until learning is stopped in so many slots. */
  async untilStopped(slots: number): Promise<void> {
    await until(`learning is stopped in ${slots} slots`, async () => {
      return this.job.status === 'RUNNING' && (await this.metric('learningStopped')) === slots
    })
  }

  /** Waits until every delta of the ratings that were learned is committed and applied. */
  async untilApplied(): Promise<void> {
    // The first checkpoint ends the windows, and the second one is behind its commit.
    await this.job.triggerCheckpoint()
    await this.job.triggerCheckpoint()
    await until('the sources are read to their ends', async () => {
      return (await sourceTopics(this.job)).every(({ lag }) => lag === 0)
    })
  }

  /** Every committed delta of the log. */
  async allDeltas(): Promise<(ModelDelta & { key: string })[]> {
    const deltas: (ModelDelta & { key: string })[] = []
    await scanTopic(this.topics, deltasTopic(TOPIC), (record) => {
      const key = decoder.decode(record.key()!).replace(/@1$/, '')
      deltas.push({ ...modelDeltaOf(record.value()!), key })
      return true
    })
    return deltas
  }

  /** The first delta of each rating in the log, with the key of its item. */
  async distinctDeltas(): Promise<{ deltas: (ModelDelta & { key: string })[]; total: number }> {
    const seen = new Set<string>()
    const deltas: (ModelDelta & { key: string })[] = []
    let total = 0
    await scanTopic(this.topics, deltasTopic(TOPIC), (record) => {
      const delta = modelDeltaOf(record.value()!)
      total += 1
      const id = `${delta.partition}/${delta.offset}`
      if (!seen.has(id)) {
        seen.add(id)
        const key = decoder.decode(record.key()!).replace(/@1$/, '')
        deltas.push({ ...delta, key })
      }
      return true
    })
    return { deltas, total }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cluster.close()
    await this.producer.close()
    await this.topics[Symbol.asyncDispose]()
  }
}
