import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { WeirClient } from '../../../src/client/weir-client.ts'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import type { TopicProducer } from '../../../src/connectors/topics/store.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { readableValue } from '../../../src/core/formats/readable-value.ts'
import {
  COUNTS_VERSION,
  ITEM_COUNTS,
  KNOWN_ITEMS,
  USER_COUNTS,
} from '../../../src/jobs/histories/states.ts'
import { dataDirectory } from '../../../src/jobs/serve/data-directory.ts'
import { serveHistories } from '../../../src/jobs/serve/histories.ts'
import { serveSvmJob } from '../../../src/jobs/serve/svm.ts'
import type { ServedJob } from '../../../src/jobs/served-job.ts'
import { publishableWeights, publishLinear } from '../../../src/kinds/linear/publish.ts'
import { SVM_MODEL } from '../../../src/models/topic/linear-serving-function.ts'
import {
  type Answer,
  atLeast,
  type Consistency,
  type ReadPosition,
} from '../../../src/wire/model-reader.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { pause } from '../../run/pause.ts'
import { until } from '../../run/until.ts'

const PARTITIONS = 3
/** Reads that each wait for the record that was appended just before. */
const READS = campaignSize(30, 60)
/** Reads after which a slot is killed. */
const KILLED_AFTER = [READS / 3, (2 * READS) / 3]
/** Records of a backlog, so that the job is behind for longer than the bound of a read. */
const BACKLOG = 30_000
const BACKLOGS = 3
const MAX_AGE_MS = 20
/** As long as a busy machine may need to restart the job. */
const DEADLINE_MS = 120_000

const encoder = new TextEncoder()

let root: string
let topics: LogTopics

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'weir-read-bounds-'))
  topics = new LogTopics(dataDirectory(root).log)
})

afterEach(async () => {
  await topics[Symbol.asyncDispose]()
  rmSync(root, { recursive: true, force: true })
})

/** Appends lines to the partitions of a topic, and knows the position of each. */
class Appender implements AsyncDisposable {
  private readonly producer: TopicProducer
  private readonly ends: number[]
  private count = 0

  private constructor(producer: TopicProducer, ends: number[]) {
    this.producer = producer
    this.ends = ends
  }

  static async open(topic: string): Promise<Appender> {
    const ends = (await topics.bounds(topic)).map(({ end }) => end)
    return new Appender(await topics.producer(topic), ends)
  }

  /** The partition of the next line: one after the other. */
  get partition(): number {
    return this.count % this.ends.length
  }

  /** Appends a line; its position when it is acknowledged. */
  async append(line: string): Promise<ReadPosition> {
    const position = this.send(line)
    await this.producer.sync()
    return position
  }

  /** Appends lines; resolves when they are acknowledged. */
  async appendAll(lines: Iterable<string>): Promise<void> {
    for (const line of lines) {
      this.send(line)
      if (!this.producer.ready()) await this.producer.whenReady()
    }
    await this.producer.sync()
  }

  private send(line: string): ReadPosition {
    const { partition } = this
    this.count += 1
    this.producer.sendRecord(null, encoder.encode(line), 0, partition, [])
    const offset = this.ends[partition]!++
    return { source: 0, partition, offset }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.producer.close()
  }
}

/** A job whose state follows the lines of a topic. */
interface Following extends AsyncDisposable {
  readonly job: ServedJob
  readonly appender: Appender
  /** Line number `n`, for a partition. */
  lineOf(n: number, partition: number): string
  /** What reads of the effects of line `n` find. */
  read(
    n: number,
    partition: number,
    consistency: Consistency,
    deadlineMs?: number,
  ): Promise<unknown>
  /** What they must find, where `ofPartition` lines of the partition have come. */
  expected(n: number, partition: number, ofPartition: number): unknown
}

const configuration = (): Record<string, string> => ({
  'parallelism.default': '2',
  'execution.checkpointing.dir': dataDirectory(root).checkpoints,
  'execution.checkpointing.interval': '200 ms',
  'state.backend.directory': dataDirectory(root).state,
  'restart-strategy.type': 'fixed-delay',
  'restart-strategy.fixed-delay.attempts': '100',
  'restart-strategy.fixed-delay.delay': '10 ms',
})

/** The value of the first answer; undefined for an unknown key. */
function valueIn<T>(answers: readonly Answer<T>[]): T | undefined {
  const answer = answers[0]!
  if (answer.ok) return answer.value
  if (answer.error.code === 'UNKNOWN_KEY') return undefined
  throw answer.error
}

/** Histories: each line is of another user; an item is rated by all lines of its partition. */
async function histories(): Promise<Following> {
  await topics.create('observations', { partitions: PARTITIONS })
  const job = await serveHistories({
    place: { logDirectory: dataDirectory(root).log },
    observations: 'observations',
    configuration: configuration(),
    port: 0,
  })
  const client = await WeirClient.connect({ port: job.port, deadlineMs: DEADLINE_MS })
  const appender = await Appender.open('observations')
  return {
    job,
    appender,
    lineOf: (n, partition) => `user${n},item${partition},${1 + (n % 5)}`,
    read: async (n, partition, consistency, deadlineMs = DEADLINE_MS) => {
      const options = { consistency, deadlineMs }
      const counts = { ...options, version: COUNTS_VERSION }
      const [known, ofUser, ofItem] = await Promise.all([
        client.values(KNOWN_ITEMS, [`user${n}`], options).then(valueIn),
        client.rows(USER_COUNTS, [`user${n}`], counts).then(valueIn),
        client.rows(ITEM_COUNTS, [`item${partition}`], counts).then(valueIn),
      ])
      const items = known === undefined ? undefined : readableValue(known, { kind: 'map' })
      return { items, ofUser: ofUser?.[0], ofItem: ofItem?.[0] }
    },
    expected: (n, partition, ofPartition) => ({
      items: [[`item${partition}`, 1 + (n % 5)]],
      ofUser: 1,
      ofItem: ofPartition,
    }),
    async [Symbol.asyncDispose]() {
      await client.close()
      await appender[Symbol.asyncDispose]()
      await job.close()
    },
  }
}

/** Features of a linear model. */
const FEATURES = 200_000

/** A served linear model: each line sets two weights, in blocks that are far from each other. */
async function linearModel(): Promise<Following> {
  await publishLinear(publishableWeights(new Float64Array(FEATURES).fill(1), 0), {
    log: topics,
    topic: 'svm-model',
    version: 1,
    range: 64,
    clock: systemClock,
    partitions: PARTITIONS,
  })
  const live = vi.fn()
  const job = await serveSvmJob({
    data: dataDirectory(root),
    topic: 'svm-model',
    slots: 2,
    queryThreads: 1,
    port: 0,
    configuration: configuration(),
    onLive: live,
  })
  await until('the model is live', () => live.mock.calls.length > 0)
  const client = await WeirClient.connect({ port: job.port, deadlineMs: DEADLINE_MS })
  const appender = await Appender.open('svm-model')
  const featuresOf = (n: number): readonly [number, number] => [n, FEATURES / 2 + n]
  return {
    job,
    appender,
    lineOf: (n) =>
      `0,${featuresOf(n)
        .map((feature) => `${feature}:${n + 2}`)
        .join(';')}`,
    read: async (n, _partition, consistency, deadlineMs = DEADLINE_MS) => {
      const features = { ids: Uint32Array.from(featuresOf(n)), values: Float32Array.of(1, 1) }
      const product = await client.sparseDot(SVM_MODEL, features, { consistency, deadlineMs })
      return valueIn([product])?.sum
    },
    expected: (n) => 2 * (n + 2),
    async [Symbol.asyncDispose]() {
      await client.close()
      await appender[Symbol.asyncDispose]()
      await job.close()
    },
  }
}

describe.each([
  ['histories', histories],
  ['svm-serving', linearModel],
] as const)('%s', (_, start) => {
  it('reads at a position include the acknowledged record, also while a slot is killed', async () => {
    await using following = await start()
    const { appender, job } = following
    const ofPartition = Array.from({ length: PARTITIONS }, () => 0)
    let old = 0
    for (let n = 0; n < READS; n++) {
      const { partition } = appender
      const position = await appender.append(following.lineOf(n, partition))
      const wanted = following.expected(n, partition, ++ofPartition[partition]!)
      if (KILLED_AFTER.includes(n)) job.execution.killSlot(KILLED_AFTER.indexOf(n))
      // Beside a read that does not wait, which shows that there is something to wait for.
      const [atPosition, live] = await Promise.all([
        following.read(n, partition, atLeast(position)),
        following.read(n, partition, { level: 'live' }).catch(() => undefined),
      ])
      expect(atPosition).toEqual(wanted)
      if (JSON.stringify(live) !== JSON.stringify(wanted)) old++
    }
    expect(job.execution.failures).toHaveLength(KILLED_AFTER.length)
    expect(old).toBeGreaterThan(0)
    const beyond = atLeast({ source: 0, partition: 0, offset: 1_000_000 })
    // On a busy machine the deadline of the client may pass before the answer arrives.
    await expect(following.read(0, 0, beyond, 300)).rejects.toMatchObject({
      code: expect.stringMatching(/^(NOT_UP_TO_BOUND|DEADLINE_EXCEEDED)$/),
    })
  })

  it('bounded reads include all that was acknowledged before the bound, behind any backlog', async () => {
    await using following = await start()
    const { appender } = following
    let n = 0
    const line = (): string => following.lineOf(n++, appender.partition)
    const lines = function* (count: number): Generator<string> {
      for (let i = 0; i < count; i++) yield line()
    }
    await following.appender.append(line())
    await following.read(0, 0, atLeast({ source: 0, partition: 0, offset: 0 }))
    let old = 0
    for (let round = 1; round <= BACKLOGS; round++) {
      await appender.appendAll(lines(BACKLOG))
      const { partition } = appender
      const last = n
      await appender.append(line())
      await pause(MAX_AGE_MS + 5, 'the acknowledgement gets older than the bound')
      const bounded: Consistency = { level: 'bounded', maxAgeMs: MAX_AGE_MS }
      const [atBound, live] = await Promise.all([
        following.read(last, partition, bounded),
        following.read(last, partition, { level: 'live' }).catch(() => undefined),
      ])
      // Lines go to the partitions one after the other.
      const wanted = following.expected(last, partition, Math.floor(last / PARTITIONS) + 1)
      expect(atBound).toEqual(wanted)
      if (JSON.stringify(live) !== JSON.stringify(wanted)) old++
    }
    expect(old).toBeGreaterThan(0)
  })
})
