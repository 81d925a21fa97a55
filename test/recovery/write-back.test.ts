import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LogTopics } from '../../src/connectors/topics/log-topics.ts'
import { scanTopic } from '../../src/connectors/topics/scan.ts'
import { sleep, systemClock } from '../../src/core/clock.ts'
import { publishAls } from '../../src/jobs/publish/als.ts'
import { readyVersions } from '../../src/jobs/registry/model-versions.ts'
import { serveAlsJob } from '../../src/jobs/serve/als.ts'
import { type DataDirectory, dataDirectory } from '../../src/jobs/serve/data-directory.ts'
import { learnAlsJob } from '../../src/jobs/serve/learning-als.ts'
import type { ServedJob } from '../../src/jobs/served-job.ts'
import { generateRatings } from '../../src/models/ratings/generator.ts'
import type { Rating } from '../../src/models/ratings/rating.ts'
import type { AlsModel } from '../../src/training/als/solver/model.ts'
import { trainAls } from '../../src/training/als/train.ts'
import { ratingsTable } from '../../src/training/data/ratings-table.ts'

const TOPIC = 'als-model'
const OBSERVATIONS = 'observations'
const STATE = 'ALS_MODEL'
const encoder = new TextEncoder()
const decoder = new TextDecoder()

let model: AlsModel
let stream: Rating[]
const roots: string[] = []

beforeAll(async () => {
  const all = [...generateRatings({ users: 120, items: 60, ratings: 5000, seed: 8, drift: 0.3 })]
  model = await trainAls(ratingsTable(all.slice(0, 3000)), {
    factors: 4,
    iterations: 3,
    threads: 0,
  })
  stream = all.slice(3000)
})

afterAll(() => {
  for (const root of roots) rmSync(root, { recursive: true, force: true })
})

/** A data folder with the model as version 1 and its topics. */
async function dataFolder(): Promise<DataDirectory> {
  const root = mkdtempSync(join(tmpdir(), 'weir-write-back-'))
  roots.push(root)
  const data = dataDirectory(root)
  await using topics = new LogTopics(data.log)
  await topics.create(OBSERVATIONS, { partitions: 3 })
  await publishAls(model, {
    log: topics,
    topic: TOPIC,
    version: 1,
    clock: systemClock,
    partitions: 3,
  })
  return data
}

/** The same data folder for a process that has no checkpoints of the first one. */
function fresh(data: DataDirectory, name: string): DataDirectory {
  return {
    ...data,
    checkpoints: join(data.root, `${name}-checkpoints`),
    state: join(data.root, `${name}-state`),
  }
}

interface Learning {
  readonly job: ServedJob
  readonly writtenBack: number[]
}

async function learn(data: DataDirectory, writeBackMs: number | undefined): Promise<Learning> {
  const learning = Promise.withResolvers<void>()
  const writtenBack: number[] = []
  const job = await learnAlsJob({
    data,
    topic: TOPIC,
    slots: 2,
    queryThreads: 1,
    port: 0,
    configuration: {
      'execution.checkpointing.interval': '200 ms',
      'restart-strategy.type': 'fixed-delay',
      'restart-strategy.fixed-delay.attempts': '100',
      'restart-strategy.fixed-delay.delay': '10 ms',
    },
    job: { observations: OBSERVATIONS, rule: { rule: 'gram' } },
    writeBackMs,
    onLive: () => {},
    onLearning: () => learning.resolve(),
    onWrittenBack: ({ rows }) => writtenBack.push(rows),
    onWarning: (warning) => console.log(warning),
  })
  await learning.promise
  return { job, writtenBack }
}

async function rate(data: DataDirectory, ratings: readonly Rating[]): Promise<void> {
  await using topics = new LogTopics(data.log)
  const producer = await topics.producer(OBSERVATIONS)
  for (const { user, item, rating, timestamp } of ratings) {
    const line = encoder.encode(`${user},${item},${rating}`)
    producer.sendRecord(encoder.encode(user), line, timestamp, -1, [])
  }
  await producer.sync()
  await producer.close()
}

async function until(what: string, isTrue: () => Promise<boolean> | boolean): Promise<void> {
  const end = systemClock.monotonicMs() + 60_000
  while (!(await isTrue())) {
    if (systemClock.monotonicMs() > end) throw new Error(`not within a minute: ${what}`)
    await sleep(systemClock, 20)
  }
}

async function metric(job: ServedJob, name: string): Promise<number> {
  const metrics = Object.entries(await job.metrics())
  return metrics
    .filter(([key]) => key.endsWith(`.${name}`))
    .reduce((sum, [, value]) => sum + Number(value), 0)
}

/** Waits until a job has learned and folded a number of ratings, since it began. */
async function untilLearned(job: ServedJob, ratings: number): Promise<void> {
  await until(`${ratings} ratings folded`, async () => {
    return (
      (await metric(job, 'deltasFolded')) >= ratings &&
      (await metric(job, 'ratingsLearned')) >= ratings
    )
  })
}

/** The last row of each key of version 1 in the topic. */
async function topicRows(data: DataDirectory): Promise<Map<string, string>> {
  await using topics = new LogTopics(data.log)
  const rows = new Map<string, string>()
  await scanTopic(topics, TOPIC, (record) => {
    const key = decoder.decode(record.key()!)
    if (!key.startsWith('!')) rows.set(key.replace(/@1$/, ''), hex(record.value()!))
    return true
  })
  return rows
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

/** The rows that a job serves. */
async function servedRows(job: ServedJob): Promise<Map<string, string>> {
  const reader = await job.reader()
  const entries = await reader.scan(STATE, { from: '', to: '\u{10ffff}', limit: 20_000 })
  return new Map(entries.map(({ key, value }) => [key, hex(value)]))
}

describe('write-back', () => {
  it('puts learned rows into the topic, where a fresh process finds them', async () => {
    const data = await dataFolder()
    const before = await topicRows(data)
    const { job, writtenBack } = await learn(data, 3_600_000)
    await rate(data, stream)
    await untilLearned(job, stream.length)
    const learned = await servedRows(job)
    await job.close()
    expect(writtenBack).toHaveLength(1)
    const written = await topicRows(data)
    expect(written).not.toEqual(before)
    expect(written).toEqual(learned)

    await using topics = new LogTopics(data.log)
    const [marker] = await readyVersions(topics, TOPIC)
    const bounds = await topics.bounds(OBSERVATIONS)
    expect(marker!.learned!.next).toEqual(bounds.map(({ end }) => end))

    const live = Promise.withResolvers<void>()
    await using serving = await serveAlsJob({
      ...{ data: fresh(data, 'serving'), topic: TOPIC, slots: 1, queryThreads: 1, port: 0 },
      ...{ configuration: {}, onLive: () => live.resolve() },
    })
    await live.promise
    await until('the fresh job serves the learned rows', async () => {
      const served = await servedRows(serving)
      return [...learned].every(([key, value]) => served.get(key) === value)
    })
  })
})
