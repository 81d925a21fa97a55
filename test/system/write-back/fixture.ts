import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openTopics } from '../../../src/connectors/topics/open.ts'
import type { TopicsPlace } from '../../../src/connectors/topics/place.ts'
import { scanTopic } from '../../../src/connectors/topics/scan.ts'
import type { PartitionBounds, TopicStore } from '../../../src/connectors/topics/store.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { isWeirError } from '../../../src/core/errors.ts'
import { serveAlsJob } from '../../../src/jobs/serve/als.ts'
import { dataDirectory } from '../../../src/jobs/serve/data-directory.ts'
import { type AlsLearningJobOptions, learnAlsJob } from '../../../src/jobs/serve/learning-als.ts'
import type { ServedJob } from '../../../src/jobs/served-job.ts'
import { publishAls } from '../../../src/kinds/factors/publish.ts'
import type { Rating } from '../../../src/models/ratings/rating.ts'
import type { LearnedPart } from '../../../src/models/registry/learned-part.ts'
import { encodeMarker, markerKey } from '../../../src/models/registry/version-marker.ts'
import { deltasTopic } from '../../../src/models/topic/topics.ts'
import { readyVersions } from '../../../src/models/versions/model-versions.ts'
import type { CheckpointManifest } from '../../../src/runtime/checkpoint/protocol/checkpoint-types.ts'
import { decodeSplit, SPLITS } from '../../../src/runtime/source/split-state.ts'
import type { AlsModel } from '../../../src/training/als/solver/model.ts'
import { modelDeltaOf } from '../../recovery/model-delta-of.ts'
import { BUILT_MODULES_FLAG } from '../../run/setup/built-modules.ts'
import { until } from '../../run/until.ts'

export const TOPIC = 'als-model'
export const OBSERVATIONS = 'observations'
const KILLED = new URL('./killed.process.ts', import.meta.url)
const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** How a job learns. */
export type LearningRule = Pick<AlsLearningJobOptions, 'rule' | 'window' | 'neverStop'>

/** A job that learns, and how many rows each of its write-backs wrote. */
export interface Learning {
  readonly job: ServedJob
  readonly writtenBack: readonly number[]
  readonly warnings: readonly string[]
  /** Versions on which every slot learns or has learned, in the order of their starts. */
  readonly versions: readonly number[]
  /** Resolves when every slot learns. */
  readonly learning: Promise<void>
  /** Ends a slot's thread and waits until every slot learns again. */
  kill(slot: number): Promise<void>
}

/** A model topic with version 1 and its observations, and processes that learn and serve it. */
export class WriteBackFixture implements AsyncDisposable {
  readonly topics: TopicStore
  readonly root: string
  private readonly place: TopicsPlace
  private readonly learns: LearningRule

  private constructor(
    root: string,
    place: TopicsPlace,
    topics: TopicStore,
    learns: LearningRule = { rule: { rule: 'gram' } },
  ) {
    this.root = root
    this.place = place
    this.topics = topics
    this.learns = learns
  }

  /** Topics in a log of a new folder, or in a Kafka. `segmentBytes`: of the deltas. `learns`: how jobs learn. @default gram */
  static async start(
    model: AlsModel,
    kafka?: { brokers: string },
    segmentBytes?: number,
    learns?: LearningRule,
  ): Promise<WriteBackFixture> {
    const root = mkdtempSync(join(tmpdir(), 'weir-write-back-'))
    const place = kafka === undefined ? { logDirectory: dataDirectory(root).log } : { kafka }
    const topics = await openTopics(place)
    await topics.create(OBSERVATIONS, { partitions: 3 })
    if (segmentBytes !== undefined) {
      await topics.create(deltasTopic(TOPIC), { partitions: 3, segmentBytes })
    }
    const fixture = new WriteBackFixture(root, place, topics, learns)
    await fixture.publish(model, 1)
    return fixture
  }

  /** As `startLearning`; waits until every slot learns. */
  async learn(
    process: string,
    writeBackMs?: number,
    deleteDeltas = false,
    observations = OBSERVATIONS,
    savepoint?: string,
  ): Promise<Learning> {
    const started = await this.startLearning(
      process,
      writeBackMs,
      deleteDeltas,
      observations,
      savepoint,
    )
    // Without this, a job that has failed is waited for as long as the test may take.
    const ended = started.job.execution.result.then(() => {
      throw new Error(`${process} ended before every slot learned`)
    })
    await Promise.race([started.learning, ended])
    return started
  }

  /** Starts a job that learns. `process`: jobs of one name continue from each other's checkpoints, or from a savepoint. */
  async startLearning(
    process: string,
    writeBackMs?: number,
    deleteDeltas = false,
    observations = OBSERVATIONS,
    savepoint?: string,
  ): Promise<Learning> {
    const warnings: string[] = []
    const learning = Promise.withResolvers<void>()
    const versions: number[] = []
    const writtenBack: number[] = []
    const job = await learnAlsJob({
      ...this.options(process, savepoint),
      slots: 2,
      job: { observations, ...this.learns },
      writeBackMs,
      deleteDeltas,
      onLive: () => {},
      onLearning: (version) => {
        versions.push(version)
        learning.resolve()
      },
      onWrittenBack: ({ rows }) => writtenBack.push(rows),
      onWarning: (warning) => warnings.push(warning),
    })
    const kill = async (slot: number): Promise<void> => {
      const before = versions.length
      job.execution.killSlot(slot)
      await until('every slot learns again', () => versions.length > before)
    }
    return { job, writtenBack, warnings, versions, learning: learning.promise, kill }
  }

  /** Starts a job that serves the topic and does not learn; waits until a version is live. */
  async serve(process: string, version = 1): Promise<ServedJob> {
    const live = Promise.withResolvers<void>()
    const job = await serveAlsJob({
      ...this.options(process),
      slots: 1,
      onLive: (each) => {
        if (each === version) live.resolve()
      },
    })
    await live.promise
    return job
  }

  /** Publishes a model as a version. */
  async publish(model: AlsModel, version: number): Promise<void> {
    const log = this.topics
    await publishAls(model, { log, topic: TOPIC, version, clock: systemClock, partitions: 3 })
  }

  /** Writes the marker of a version again, with another text of what its rows include. */
  async writeLearned(version: number, learned: LearnedPart): Promise<void> {
    const markers = await readyVersions(this.topics, TOPIC)
    const marker = markers.find((each) => each.version === version)!
    const producer = await this.topics.producer(TOPIC)
    for (let partition = 0; partition < 3; partition++) {
      const value = encodeMarker({ ...marker, partitions: 3, learned })
      producer.sendRecord(encoder.encode(markerKey(version)), value, learned.atMs, partition, [])
    }
    await producer.sync()
    await producer.close()
  }

  /**
   * Kills another process in the middle of a write-back to a log; runs `before` when some of its rows are in the
   * topic. This process has the log open or not as before, unless `before` opens it.
   */
  async killWriteBack(before: () => Promise<void> = async () => {}): Promise<void> {
    const child = fork(KILLED, [this.place.logDirectory!, TOPIC], {
      execArgv: [BUILT_MODULES_FLAG],
    })
    await once(child, 'message')
    await before()
    const exit = once(child, 'exit')
    child.kill('SIGKILL')
    await exit
  }

  /** Closes the log that this process has open; the next use opens it again. */
  async closeLog(): Promise<void> {
    await this.topics[Symbol.asyncDispose]()
  }

  private options(process: string, savepoint?: string) {
    const data = dataDirectory(this.root)
    return {
      topic: TOPIC,
      queryThreads: 1,
      port: 0,
      place: this.place,
      data: {
        ...data,
        checkpoints: join(this.root, process, 'checkpoints'),
        state: join(this.root, process, 'state'),
      },
      configuration: {
        'execution.checkpointing.interval': '200 ms',
        'restart-strategy.type': 'fixed-delay',
        'restart-strategy.fixed-delay.attempts': '100',
        'restart-strategy.fixed-delay.delay': '10 ms',
        ...(savepoint === undefined ? {} : { 'execution.state-recovery.path': savepoint }),
      },
    }
  }

  /** Appends ratings to the observations. */
  async rate(ratings: readonly Rating[], observations = OBSERVATIONS): Promise<void> {
    const producer = await this.topics.producer(observations)
    for (const { user, item, rating, timestamp } of ratings) {
      const line = encoder.encode(`${user},${item},${rating}`)
      producer.sendRecord(encoder.encode(user), line, timestamp, -1, [])
    }
    await producer.sync()
    await producer.close()
  }

  /** Waits until each of this many ratings has been learned and its delta folded, by all jobs together. */
  async untilLearned(job: ServedJob, ratings: number): Promise<void> {
    const isLearned = async (): Promise<boolean> => {
      const { distinct } = await this.deltas()
      return distinct === ratings && (await hasReadAll(job, this.topics, TOPIC))
    }
    await until(`${ratings} ratings are learned`, isLearned, { everyMs: 20 })
  }

  /** Waits until the topic has all observations as rows, and exactly those that the job serves. */
  async untilWritten(job: ServedJob): Promise<void> {
    const isWritten = async (): Promise<boolean> => {
      const [marker] = await readyVersions(this.topics, TOPIC)
      const ends = (await this.topics.bounds(OBSERVATIONS)).map(({ end }) => end)
      if (JSON.stringify(marker?.learned?.next) !== JSON.stringify(ends)) return false
      const [written, served] = [await this.topicRows(), await servedRows(job)]
      return [...served].every(([key, row]) => written.get(key) === row)
    }
    await until('the topic has the rows that the job serves', isWritten, { everyMs: 20 })
  }

  /** Deltas in the topic, and the distinct ratings that they are of. */
  async deltas(): Promise<{ readonly all: number; readonly distinct: number }> {
    const distinct = new Set<string>()
    let all = 0
    await scanTopic(this.topics, deltasTopic(TOPIC), (record) => {
      const { partition, offset } = modelDeltaOf(record.value()!)
      distinct.add(`${partition}/${offset}`)
      all++
      return true
    })
    return { all, distinct: distinct.size }
  }

  /** Sum of the first offsets of the partitions of the deltas: those before are deleted. */
  async firstDeltas(): Promise<number> {
    const bounds = await this.topics.bounds(deltasTopic(TOPIC))
    return bounds.reduce((sum, { start }) => sum + start, 0)
  }

  /** The last row of each key in the topic, as hexadecimal digits. */
  async topicRows(): Promise<Map<string, string>> {
    const rows = new Map<string, string>()
    await scanTopic(this.topics, TOPIC, (record) => {
      const key = decoder.decode(record.key()!)
      if (!key.startsWith('!')) rows.set(key.replace(/@1$/, ''), hex(record.value()!))
      return true
    })
    return rows
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.topics[Symbol.asyncDispose]()
    rmSync(this.root, { recursive: true, force: true })
  }
}

/** The rows that a job serves, as hexadecimal digits. */
export async function servedRows(job: ServedJob): Promise<Map<string, string>> {
  const reader = await job.reader()
  const entries = await reader.scan('ALS_MODEL', { from: '', to: '\u{10ffff}', limit: 20_000 })
  return new Map(entries.map(({ key, value }) => [key, hex(value)]))
}

/** Sum of a metric over all slots. */
export async function metric(job: ServedJob, name: string): Promise<number> {
  const metrics = Object.entries(await job.metrics())
  return metrics
    .filter(([key]) => key.endsWith(`.${name}`))
    .reduce((sum, [, value]) => sum + Number(value), 0)
}

/** Whether a checkpoint of a job has all observations and all deltas of a model that are in the topics. */
export async function hasReadAll(
  job: ServedJob,
  topics: TopicStore,
  model: string,
  observations = OBSERVATIONS,
): Promise<boolean> {
  try {
    const { manifest } = await job.execution.takeCheckpoint()
    return (
      isAtEnd(manifest, 'observations', await topics.bounds(observations)) &&
      isAtEnd(manifest, 'deltas-topic', await topics.bounds(deltasTopic(model)))
    )
  } catch (error) {
    // A slot is being restarted.
    if (isWeirError(error, 'CHECKPOINT_DECLINED')) return false
    throw error
  }
}

function isAtEnd(
  { operators }: CheckpointManifest,
  source: string,
  bounds: readonly PartitionBounds[],
): boolean {
  const states = operators.find(({ uid }) => uid === source)?.operatorState.flat() ?? []
  const splits = states.filter(({ name }) => name === SPLITS).flatMap(({ entries }) => entries)
  const next = new Map(
    splits.map(decodeSplit).map(({ partition, nextOffset }) => [partition, nextOffset]),
  )
  return bounds.every(({ partition, end }) => next.get(partition) === end)
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}
