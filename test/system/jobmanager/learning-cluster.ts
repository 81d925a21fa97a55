import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openTopics } from '../../../src/connectors/topics/open.ts'
import { scanTopic } from '../../../src/connectors/topics/scan.ts'
import type { TopicProducer, TopicStore } from '../../../src/connectors/topics/store.ts'
import { deltasTopic } from '../../../src/models/topic/topics.ts'
import { modelDeltaOf } from '../../recovery/model-delta-of.ts'
import { until } from '../../run/until.ts'
import { TestCluster } from './cluster-fixture.ts'

const USERS = 40
const EACH = 20
const encoder = new TextEncoder()

/**
 * The model has one item, and ratings of newcomers do not move it: a user's row follows from the ratings of the user
 * alone, neither from how users take turns, nor from whether a slot that starts can already read the item's row.
 */
const MODEL = ['--users', String(USERS), '--items', '1', '--factors', '8']
const RULE = ['--rule', 'sgd', '--newcomers', '1e-12']
/** Ratings of all users, in turns. */
export const RATINGS = Array.from({ length: USERS * EACH }, (_, i) => {
  const user = String((i % USERS) + 1)
  return { user, line: `${user},1,${1 + ((i * 7) % 5)}` }
})

/** Rows of the model by key, and the positions of the topics that the job reads. */
export interface Learned {
  readonly rows: ReadonlyMap<string, readonly number[]>
  readonly positions: readonly unknown[]
}

interface LearningParts {
  readonly cluster: TestCluster
  readonly job: string
  readonly topics: TopicStore
  readonly producer: TopicProducer
}

/** A cluster with a job that learns the ratings which the test writes. The test owns the log. */
export class LearningCluster implements AsyncDisposable {
  readonly cluster: TestCluster
  readonly job: string
  private readonly topics: TopicStore
  private readonly producer: TopicProducer
  private sent = 0

  private constructor({ cluster, job, topics, producer }: LearningParts) {
    this.cluster = cluster
    this.job = job
    this.topics = topics
    this.producer = producer
  }

  /** `flags`: of the command that learns. */
  static async start(...flags: readonly string[]): Promise<LearningCluster> {
    const cluster = await TestCluster.withModel(MODEL)
    const topics = await openTopics({ logDirectory: join(cluster.folder, 'log') })
    await topics.create('observations', { partitions: 3 })
    const producer = await topics.producer('observations')
    const often = ['-D', 'execution.checkpointing.interval=500ms']
    // A port of its own: the one that a JobManager chooses may go to a job of another test while this one is rescaled.
    const own = ['--port', '0']
    const job = await cluster.submit('learn', 'als', ...RULE, ...often, ...own, ...flags)
    await cluster.reaches(job, 'RUNNING')
    return new LearningCluster({ cluster, job, topics, producer })
  }

  /** Appends ratings to the observations. */
  async rate(ratings: typeof RATINGS): Promise<void> {
    for (const { user, line } of ratings) {
      this.producer.sendRecord(encoder.encode(user), encoder.encode(line), 0, -1, [])
    }
    await this.producer.sync()
    this.sent += ratings.length
  }

  /** Resolves when every rating that was written is in the rows of its user and of its item. */
  settled(): Promise<Learned> {
    const learned = async (): Promise<Learned | undefined> => {
      if ((await this.ratingsWithDelta()) < this.sent) return undefined
      // All deltas are in their topic: there is no more to come than what the sources have before them.
      const positions = await this.positionsAtEnd()
      return positions && { rows: await this.rows(), positions }
    }
    return until('every rating is learned', learned, { everyMs: 50 })
  }

  /** Number of ratings with a delta of their item; one that is sent twice counts once. */
  async ratingsWithDelta(): Promise<number> {
    const positions = new Set<string>()
    await scanTopic(this.topics, deltasTopic('als-model'), (record) => {
      const { partition, offset } = modelDeltaOf(record.value()!)
      positions.add(`${partition}/${offset}`)
      return true
    })
    return positions.size
  }

  /** The parallelism of each vertex of the job. */
  async parallelism(): Promise<readonly number[]> {
    const { vertices } = await this.cluster.read<{
      readonly vertices: readonly { readonly parallelism: number }[]
    }>(`/jobs/${this.job}`)
    return vertices.map(({ parallelism }) => parallelism)
  }

  /** The rows that the job serves. */
  async rows(): Promise<Learned['rows']> {
    const rows = new Map<string, readonly number[]>()
    let after: string | null = ''
    while (after !== null) {
      const page: Page = await this.read(`states/ALS_MODEL/rows?limit=500&after=${after}`)
      for (const { key, value } of page.rows ?? []) rows.set(key, value)
      after = page.next ?? null
    }
    return rows
  }

  /** The positions of the sources; undefined while not all records are applied. */
  private async positionsAtEnd(): Promise<Learned['positions'] | undefined> {
    const { sources = [] } = await this.read<{ readonly sources?: readonly Source[] }>('topics')
    if (sources.length === 0 || sources.some(({ lag }) => lag !== 0)) return undefined
    return sources.map(({ topic, partitions }) => [
      topic,
      partitions.map(({ position }) => position),
    ])
  }

  /** What the processes of the job have logged. */
  async log(): Promise<string> {
    return await readFile(
      join(this.cluster.folder, 'jobmanager', 'logs', `${this.job}.log`),
      'utf8',
    )
  }

  private read<T>(path: string): Promise<T> {
    return this.cluster.read<T>(`/weir/jobs/${this.job}/${path}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.producer.close()
    await this.cluster[Symbol.asyncDispose]()
    await this.topics[Symbol.asyncDispose]()
  }
}

interface Page {
  readonly rows?: readonly { readonly key: string; readonly value: readonly number[] }[]
  readonly next?: string | null
}

interface Source {
  readonly topic: string
  readonly lag: number | null
  readonly partitions: readonly { readonly position: number | null }[]
}
