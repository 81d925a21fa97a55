import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTopics } from '../../../src/connectors/topics/open.ts'
import { scanTopic } from '../../../src/connectors/topics/scan.ts'
import type { TopicProducer, TopicStore } from '../../../src/connectors/topics/store.ts'
import { hasTitle } from '../../../src/jobmanager/process/left-over.ts'
import { deltasTopic } from '../../../src/jobs/model-topic/topics.ts'
import { modelDeltaOf } from '../../recovery/model-delta-of.ts'
import { pause } from '../../run/pause.ts'
import { until } from '../../run/until.ts'
import { TestCluster } from './cluster-fixture.ts'

const PATIENT = { timeout: 120_000 }
const USERS = 40
const EACH = 20
const encoder = new TextEncoder()

/**
 * The model has one item, and ratings of newcomers do not move it: a user's row follows from the ratings of the user
 * alone, neither from how users take turns, nor from whether a slot that starts can already read the item's row.
 */
const MODEL = ['--users', String(USERS), '--items', '1', '--factors', '8']
const RULE = ['--rule', 'sgd', '--newcomers', '1e-12']
const RATINGS = Array.from({ length: USERS * EACH }, (_, i) => {
  const user = String((i % USERS) + 1)
  return { user, line: `${user},1,${1 + ((i * 7) % 5)}` }
})

/** Rows of the model by key, and the positions of the topics that the job reads. */
interface Learned {
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
class Learning implements AsyncDisposable {
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

  static async start(): Promise<Learning> {
    const cluster = await TestCluster.withModel(MODEL)
    const topics = await openTopics({ logDirectory: join(cluster.folder, 'log') })
    await topics.create('observations', { partitions: 3 })
    const producer = await topics.producer('observations')
    const often = ['-D', 'execution.checkpointing.interval=500ms']
    const job = await cluster.submit('learn', 'als', ...RULE, ...often)
    await cluster.reaches(job, 'RUNNING')
    return new Learning({ cluster, job, topics, producer })
  }

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
    return until('every rating is learned', learned, { timeoutMs: 120_000, everyMs: 50 })
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

  async parallelism(): Promise<readonly number[]> {
    const { vertices } = await this.cluster.read<{
      readonly vertices: readonly { readonly parallelism: number }[]
    }>(`/jobs/${this.job}`)
    return vertices.map(({ parallelism }) => parallelism)
  }

  private async rows(): Promise<Learned['rows']> {
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

function expectSame(found: Learned, expected: Learned): void {
  expect([...found.rows.keys()]).toEqual([...expected.rows.keys()])
  for (const [key, row] of found.rows) {
    for (const [i, value] of row.entries()) {
      expect(value, key).toBeCloseTo(expected.rows.get(key)![i]!, 5)
    }
  }
}

describe('rescaling a job that learns', () => {
  let learning: Learning

  beforeAll(async () => {
    learning = await Learning.start()
  })

  afterAll(async () => await learning?.[Symbol.asyncDispose]())

  it('loses no rating and counts none twice, with more slots and with fewer', async () => {
    const { cluster, job } = learning
    await learning.rate(RATINGS.slice(0, 200))
    for (const [i, slots] of ['3', '1'].entries()) {
      // Ratings come while the job takes its last checkpoint, is away, and restores.
      const rescaled = cluster.ask('rescale', job.slice(0, 8), '--parallelism', slots)
      for (let at = 200 + 300 * i; at < 500 + 300 * i; at += 10) {
        await learning.rate(RATINGS.slice(at, at + 10))
        await pause(50, 'ratings come over the time of a rescaling')
      }
      const { code, stdout, stderr } = await rescaled
      expect([code, stderr]).toEqual([0, ''])
      expect(stdout).toContain(`Rescaled job ${job}. Its new parallelism is ${slots}.`)
      expect(Math.max(...(await learning.parallelism()))).toBe(Number(slots))
    }
    const found = await learning.settled()
    expect(await learning.ratingsWithDelta()).toBe(RATINGS.length)
    await using other = await Learning.start()
    await other.rate(RATINGS)
    expectSame(found, await other.settled())
  })

  it('keeps rows and positions where no rating comes', async () => {
    const { cluster, job } = learning
    const before = await learning.settled()
    const wanted = Math.max(...(await learning.parallelism())) === 2 ? 3 : 2
    const { 'request-id': id } = await cluster.send<{ readonly 'request-id': string }>(
      'PATCH',
      `/jobs/${job}/rescaling?parallelism=${wanted}`,
    )
    await expect
      .poll(() => cluster.read(`/jobs/${job}/rescaling/${id}`), PATIENT)
      .toEqual({ status: { id: 'COMPLETED' }, operation: {} })
    expect(Math.max(...(await learning.parallelism()))).toBe(wanted)
    const after = await learning.settled()
    expect([[...after.rows], after.positions]).toEqual([[...before.rows], before.positions])
  })

  it('is the same for requirements that have every vertex', async () => {
    const { cluster, job } = learning
    // With one slot, a vertex whose parallelism is fixed looks like any other.
    expect(await cluster.ask('rescale', job, '-p', '2')).toMatchObject({ code: 0 })
    const path = `/jobs/${job}/resource-requirements`
    type Bounds = Record<string, { parallelism: { lowerBound: number; upperBound: number } }>
    const requirements = await cluster.read<Bounds>(path)
    for (const { parallelism } of Object.values(requirements)) {
      if (parallelism.lowerBound < parallelism.upperBound) parallelism.upperBound = 3
    }
    expect(await cluster.send('PUT', path, requirements)).toEqual({})
    expect(Math.max(...(await learning.parallelism()))).toBe(3)
  })

  it('is refused above the max parallelism, and the job goes on in the same process', async () => {
    const { cluster, job } = learning
    const pid = await cluster.jobPid(job)
    const refused = await cluster.ask('rescale', job, '-p', '200')
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringMatching(/INVALID_ARGUMENT: .*max parallelism 128/),
    ])
    expect(await cluster.jobPid(job)).toBe(pid)
    await cluster.reaches(job, 'RUNNING')
  })
})

describe('rescaling', () => {
  let cluster: TestCluster

  beforeAll(async () => {
    cluster = await TestCluster.start()
  })

  afterAll(async () => await cluster?.[Symbol.asyncDispose]())

  it('is finished by the next JobManager where the first one is killed meanwhile', async () => {
    const job = await cluster.submit('run', 'als-serving', '--slots', '1')
    await cluster.reaches(job, 'RUNNING')
    const pid = await cluster.jobPid(job)
    await cluster.send('PATCH', `/jobs/${job}/rescaling?parallelism=2`)
    // The process of the job ends when the record with the new parallelism is stored.
    await expect.poll(() => hasTitle(pid, 'weir'), { ...PATIENT, interval: 5 }).toBe(false)
    process.kill(cluster.pid, 'SIGKILL')
    await expect.poll(async () => (await cluster.local('cluster', 'status')).code, PATIENT).toBe(1)
    await cluster.startJobManager()
    await cluster.reaches(job, 'RUNNING')
    const { vertices } = await cluster.read<{ vertices: { parallelism: number }[] }>(`/jobs/${job}`)
    expect(Math.max(...vertices.map(({ parallelism }) => parallelism))).toBe(2)
    expect((await cluster.ask('cancel', job)).code).toBe(0)
  })

  it('leaves a job that does not start with the new parallelism with the one that it had', async () => {
    const slots = ['--slots', '2', '-D', 'taskmanager.numberOfTaskSlots=2']
    const job = await cluster.submit('run', 'als-serving', ...slots)
    await cluster.reaches(job, 'RUNNING')
    const refused = await cluster.ask('rescale', job, '--parallelism', '3')
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringMatching(/INVALID_ARGUMENT: .*numberOfTaskSlots/),
    ])
    await cluster.reaches(job, 'RUNNING')
    expect((await cluster.ask('info', job)).stdout).toContain('RUNNING')
    expect((await cluster.ask('cancel', job)).code).toBe(0)
    const ended = await cluster.ask('rescale', job, '--parallelism', '1')
    expect([ended.code, ended.stderr]).toEqual([1, expect.stringContaining('ILLEGAL_STATE')])
  })
})
