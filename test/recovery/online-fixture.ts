import { join } from 'node:path'
import type { KafkaClientOptions } from '../../src/connectors/kafka/kafka-options.ts'
import { openTopics, type TopicsPlace } from '../../src/connectors/topics/open-topics.ts'
import { scanTopic } from '../../src/connectors/topics/scan-topic.ts'
import type { TopicStore } from '../../src/connectors/topics/topic-store.ts'
import { sleep, systemClock } from '../../src/core/clock.ts'
import { VersionCoordinator } from '../../src/jobmanager/version-coordinator.ts'
import { MODEL_ROWS_UID } from '../../src/jobs/als-serving.ts'
import {
  DELTAS_UID,
  LEARNER_UID,
  type OnlineAlsOptions,
  RATINGS_UID,
} from '../../src/jobs/online-als.ts'
import { LearningCoordinator } from '../../src/jobs/online-coordinator.ts'
import type { LearningPlace } from '../../src/jobs/online-places.ts'
import { versionFacts } from '../../src/jobs/online-version.ts'
import { publishAls } from '../../src/jobs/publish-als.ts'
import { retireVersions } from '../../src/jobs/retire-version.ts'
import { decodeModelDelta, deltasTopic, type ModelDelta } from '../../src/models/model-delta.ts'
import type { OnlineRuleOptions } from '../../src/models/online-rules.ts'
import type { Rating } from '../../src/models/rating.ts'
import type { JobExecution } from '../../src/runtime/job-execution.ts'
import type { ServingGateway } from '../../src/runtime/serving-gateway.ts'
import { RowTableReader } from '../../src/state/row-table-reader.ts'
import type { RowTableShare } from '../../src/state/row-table-share.ts'
import { MiniCluster } from '../../src/testing/mini-cluster.ts'
import type { AlsModel } from '../../src/training/als-model.ts'

const TOPIC = 'als-model'
const OBSERVATIONS = 'observations'
const PARTITIONS = 3
const decoder = new TextDecoder()
const encoder = new TextEncoder()

/** A row as it lies in a slot's table. */
export interface StoredRow {
  readonly vector: Float32Array
  readonly updateCount: number
}

/** What a learning job under test is started with. */
export interface LearningOptions {
  readonly root: string
  readonly model: AlsModel
  readonly rule: OnlineRuleOptions
  readonly parallelism: number
  readonly kafka?: KafkaClientOptions
  readonly job?: Partial<OnlineAlsOptions>
  readonly checkpointInterval?: string
}

/** A learning job on worker threads over topics of its own, whose rows a test reads in place. */
export class LearningFixture implements AsyncDisposable {
  readonly job: JobExecution
  readonly topics: TopicStore
  /** By version, how far it has learned when it goes live. */
  readonly places: Map<number, readonly LearningPlace[]>
  /** Which version is live: the highest, until it is told. */
  readonly versions: VersionCoordinator
  private readonly cluster: MiniCluster
  private readonly shares: Map<string, RowTableShare>
  private readonly producer: Awaited<ReturnType<TopicStore['producer']>>

  private constructor(
    cluster: MiniCluster,
    job: JobExecution,
    topics: TopicStore,
    shares: Map<string, RowTableShare>,
    producer: Awaited<ReturnType<TopicStore['producer']>>,
    live: Pick<LearningFixture, 'places' | 'versions'>,
  ) {
    this.places = live.places
    this.versions = live.versions
    this.cluster = cluster
    this.job = job
    this.topics = topics
    this.shares = shares
    this.producer = producer
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
    const learning = new LearningCoordinator({ learnerUid: LEARNER_UID, clock: systemClock })
    // Version 1 has learned nothing of the observations.
    const none = Array.from({ length: PARTITIONS }, (_, partition) => ({
      partition,
      start: 0,
      next: 0,
    }))
    const places = new Map<number, readonly LearningPlace[]>([[1, none]])
    const versions = new VersionCoordinator({
      model: 0,
      partitions: 2,
      clock: systemClock,
      onLive: (version, marker) =>
        learning.live({ ...versionFacts(version, marker), places: places.get(version) }),
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
    const module = new URL('../../src/jobs/online-als.ts', import.meta.url)
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
        [MODEL_ROWS_UID]: versions,
        [LEARNER_UID]: learning,
        [RATINGS_UID]: learning,
        [DELTAS_UID]: learning,
      },
      serving: gateway(shares),
    })
    const producer = await topics.producer(OBSERVATIONS)
    return new LearningFixture(cluster, job, topics, shares, producer, { places, versions })
  }

  /** Publishes a further version. */
  async publish(model: AlsModel, version: number): Promise<void> {
    await publishAls(model, { log: this.topics, topic: TOPIC, version, clock: systemClock })
  }

  /** Deletes the rows of versions, as a policy does. */
  async retire(versions: readonly number[]): Promise<void> {
    await retireVersions(this.topics, TOPIC, versions, systemClock)
  }

  /** Versions of which some slot has a table of any state. */
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

  /** The observations that the topic holds, by user, from the given places on. */
  async observed(places: readonly LearningPlace[]): Promise<Map<string, number>> {
    const counts = new Map<string, number>()
    await scanTopic(this.topics, OBSERVATIONS, (record, partition) => {
      if (record.offset < (places.find((place) => place.partition === partition)?.next ?? 0)) {
        return true
      }
      const user = decoder.decode(record.key()!)
      counts.set(user, (counts.get(user) ?? 0) + 1)
      return true
    })
    return counts
  }

  /** Where the observations end now. */
  async ends(): Promise<readonly LearningPlace[]> {
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

  /** Waits until the writes of all rows of a state are so many; more than wanted ends it, too. */
  async untilWritten(state: 'user-rows' | 'item-rows', wanted: number, version = 1): Promise<void> {
    const end = systemClock.monotonicMs() + 60_000
    for (;;) {
      let sum = 0
      for (const { updateCount } of this.rows(state, version).values()) sum += updateCount
      if (sum >= wanted && this.job.status === 'RUNNING') return
      if (systemClock.monotonicMs() > end) throw new Error(`${sum} of ${wanted} writes of ${state}`)
      await sleep(systemClock, 5)
    }
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

  /** Waits until no row of a state has changed for a second. */
  async settled(state: 'user-rows' | 'item-rows'): Promise<void> {
    const writes = (): number =>
      [...this.rows(state).values()].reduce((sum, { updateCount }) => sum + updateCount, 0)
    for (let before = -1; before !== writes(); await sleep(systemClock, 1000)) before = writes()
  }

  /** Every committed delta of the log. */
  async allDeltas(): Promise<(ModelDelta & { key: string })[]> {
    const deltas: (ModelDelta & { key: string })[] = []
    await scanTopic(this.topics, deltasTopic(TOPIC), (record) => {
      const key = decoder.decode(record.key()!).replace(/@1$/, '')
      deltas.push({ ...decodeModelDelta(record.value()!.slice()), key })
      return true
    })
    return deltas
  }

  /** Every delta of the log with its item's key, the first of each rating. */
  async distinctDeltas(): Promise<{ deltas: (ModelDelta & { key: string })[]; total: number }> {
    const seen = new Set<string>()
    const deltas: (ModelDelta & { key: string })[] = []
    let total = 0
    await scanTopic(this.topics, deltasTopic(TOPIC), (record) => {
      const delta = decodeModelDelta(record.value()!.slice())
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

function readRow(reader: RowTableReader, row: number, rows: Map<string, StoredRow>): void {
  const key = new Uint8Array(64)
  const vector = new Float32Array(reader.layout.dimension)
  const meta = { updateCount: 0, partition: 0, offset: 0, eventTime: 0 }
  for (;;) {
    const sequence = reader.openRow(row)
    if ((sequence & 1) !== 0) continue
    if (!reader.isLive(row)) return
    const length = reader.keyInto(row, key, 0)
    if (!reader.metaInto(row, sequence, meta)) continue
    if (!reader.readInto(row, sequence, vector, 0)) continue
    const { updateCount } = meta
    rows.set(decoder.decode(key.subarray(0, length)), { vector, updateCount })
    return
  }
}

/** Collects the tables of the newest attempt; nobody asks slots anything. */
function gateway(shares: Map<string, RowTableShare>): ServingGateway {
  const name = (share: RowTableShare): string => `${share.state}@${share.version}/${share.slot}`
  return {
    threads: 0,
    jobStarted() {},
    tableOpened: (share) => shares.set(name(share), share),
    tableDropped(share) {
      if (shares.get(name(share))?.memory === share.memory) shares.delete(name(share))
    },
    attachSlot() {},
    onThreadReplaced() {},
    slotStatus() {},
    declareQueryable() {},
  }
}
