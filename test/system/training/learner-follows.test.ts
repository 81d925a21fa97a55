import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unpack } from 'msgpackr'
import { beforeAll, expect, it, onTestFinished } from 'vitest'
import { openTopics } from '../../../src/connectors/topics/open.ts'
import { scanTopic } from '../../../src/connectors/topics/scan.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { isWeirError } from '../../../src/core/errors.ts'
import { isInSample } from '../../../src/jobs/learning/als/frozen-rows.ts'
import { LEARNING_ERROR_STATE } from '../../../src/jobs/learning/error/learning-error.ts'
import type { RatingError } from '../../../src/jobs/learning/error/rating-error.ts'
import { ALS_MODEL } from '../../../src/jobs/model-topic/als-serving-function.ts'
import { publishAls } from '../../../src/jobs/publish/als.ts'
import { ModelAdministration } from '../../../src/jobs/registry/model-administration.ts'
import { ModelRegistry } from '../../../src/jobs/registry/model-registry.ts'
import { dataDirectory } from '../../../src/jobs/serve/data-directory.ts'
import { learnAlsJob } from '../../../src/jobs/serve/learning-als.ts'
import { registryPlace } from '../../../src/jobs/serve/registry-place.ts'
import type { ServedJob } from '../../../src/jobs/served-job.ts'
import type { OnlineRuleOptions } from '../../../src/models/als/online/rules.ts'
import { generateRatings } from '../../../src/models/ratings/generator.ts'
import type { Rating } from '../../../src/models/ratings/rating.ts'
import { storedCheck } from '../../../src/models/registry/checks/stored-check.ts'
import { ObservationsDigester } from '../../../src/models/registry/ranges/observations-digest.ts'
import type { TrainedOn } from '../../../src/models/registry/ranges/trained-on.ts'
import type { AlsModel } from '../../../src/training/als/solver/model.ts'
import { trainAls } from '../../../src/training/als/train.ts'
import { ratingsTable } from '../../../src/training/data/ratings-table.ts'
import type { ScanEntry } from '../../../src/wire/model-reader.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { until } from '../../run/until.ts'
import { commitSeed } from '../../services/commit-seed.ts'

const TOPIC = 'als-model'
const OBSERVATIONS = 'observations'
const TRAINED = 8000
const GOLDEN = 2000

let all: Rating[]
let golden: Rating[]
/** Both have rows of 6 floats: 4 factors and 2 biases, or 6 factors. */
let biased: AlsModel
let plain: AlsModel

beforeAll(async () => {
  all = [...generateRatings({ users: 300, items: 120, ratings: 14_000, seed: 5 })]
  golden = all.slice(TRAINED, TRAINED + GOLDEN)
  const table = ratingsTable(all.slice(0, TRAINED))
  biased = await trainAls(table, { factors: 4, biases: true, threads: 0 })
  plain = await trainAls(table, { factors: 6, biases: false, threads: 0 })
})

/** A data folder with its learning job, as `weir learn als` runs it. */
class Service {
  readonly warnings: string[] = []
  readonly notes: string[] = []
  private readonly data: ReturnType<typeof dataDirectory>
  private readonly learningOn: number[] = []
  private sent = TRAINED + GOLDEN
  private job!: ServedJob

  constructor() {
    const folder = mkdtempSync(join(tmpdir(), 'weir-follows-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    this.data = dataDirectory(folder)
  }

  async publish(
    model: AlsModel,
    hyperparameters?: Readonly<Record<string, string>>,
    trainedOn?: TrainedOn,
  ): Promise<number> {
    await using topics = await openTopics({ logDirectory: this.data.log })
    const place = { log: topics, topic: TOPIC, clock: systemClock, registry: this.registry() }
    return await publishAls(model, {
      ...place,
      ...(hyperparameters === undefined ? {} : { hyperparameters }),
      ...(trainedOn === undefined ? {} : { trainedOn }),
    })
  }

  async start(
    rule: OnlineRuleOptions,
    {
      slots = 2,
      writeBackMs,
      learnFrom,
    }: { slots?: number; writeBackMs?: number; learnFrom?: 'end' } = {},
  ): Promise<void> {
    this.learningOn.length = 0
    this.job = await learnAlsJob({
      job: { observations: OBSERVATIONS, rule },
      writeBackMs,
      learnFrom,
      data: this.data,
      topic: TOPIC,
      slots,
      queryThreads: 1,
      port: 0,
      configuration: { 'restart-strategy.type': 'none' },
      onLive: () => {},
      onLearning: (version, note) => {
        this.learningOn.push(version)
        if (note !== undefined) this.notes.push(note)
      },
      onWarning: (warning) => void this.warnings.push(warning),
    })
    await this.job.execution.waitFor('RUNNING')
    await this.untilLearning(1)
  }

  /** Makes a version live and waits until the job learns on it. */
  async promote(version: number): Promise<void> {
    const models = this.models()
    await models.promote(await models.registered(String(version)), { force: 'a test' })
    await until(`version ${version} is learned on`, () => this.learningOn.at(-1) === version)
    expect(this.job.execution.status).toBe('RUNNING')
  }

  /** Tries to make a version live whose checks have passed; returns why it is refused. */
  async tryToPromote(number: number): Promise<string | undefined> {
    const checks = (['data', 'quality', 'serving'] as const).map((check) =>
      storedCheck(check, [], { atMs: 1, against: 1, subject: 'golden' }),
    )
    await this.registry().require({ kind: 'record-checks', name: TOPIC, number, checks })
    const models = this.models()
    try {
      await models.promote(await models.registered(String(number)))
      return undefined
    } catch (error) {
      if (!isWeirError(error, 'PROMOTION_REFUSED')) throw error
      return error.message
    }
  }

  private models(): ModelAdministration {
    const place = { logDirectory: this.data.log }
    const registry = this.registry()
    return new ModelAdministration({ registry, place, model: TOPIC, clock: systemClock })
  }

  /** Produces fresh ratings and waits until each is learned, with its item. */
  async learn(count: number): Promise<void> {
    const before = await this.learned()
    await this.produce(count)
    await this.untilLearned(before + count)
  }

  /** Appends fresh ratings to the observations, which are created where they are missing. */
  async produce(count: number): Promise<void> {
    await using topics = await openTopics({ logDirectory: this.data.log })
    if (!(await topics.has(OBSERVATIONS))) await topics.create(OBSERVATIONS, { partitions: 2 })
    const producer = await topics.producer(OBSERVATIONS)
    const encoder = new TextEncoder()
    for (const { user, item, rating } of all.slice(this.sent, this.sent + count)) {
      const line = encoder.encode(`${user},${item},${rating}`)
      producer.sendRecord(encoder.encode(user), line, systemClock.nowMs(), -1, [])
    }
    await producer.sync()
    await producer.close()
    this.sent += count
  }

  async untilLearned(total: number): Promise<void> {
    await until(`${total} ratings are learned`, async () => {
      expect(this.job.execution.status).toBe('RUNNING')
      return (await this.learned()) === total
    })
  }

  /** RMSE of the live rows on ratings that no one learned, by plain products. */
  async rmse(): Promise<number> {
    const rows = await this.rows()
    let [squares, count] = [0, 0]
    for (const { user, item, rating } of golden) {
      const [u, i] = [rows.get(`${user}-U`), rows.get(`${item}-I`)]
      if (u === undefined || i === undefined) continue
      const score = u.reduce((sum, x, n) => sum + x * i[n]!, 0)
      squares += (Math.min(5, Math.max(1, score)) - rating) ** 2
      count++
    }
    return Math.sqrt(squares / count)
  }

  async rows(): Promise<Map<string, Float32Array>> {
    const reader = await this.job.reader()
    const all = { from: '', to: '\u{10ffff}', limit: 10_000 }
    let entries: ScanEntry[] = []
    await until('all rows are restored', async () => {
      const scanned = await reader.scan(ALS_MODEL, all).catch((error: unknown) => {
        if (isWeirError(error, 'RESTORING')) return undefined
        throw error
      })
      entries = scanned ?? []
      return scanned !== undefined
    })
    return new Map(
      entries.map(({ key, value }) => [key, new Float32Array(Uint8Array.from(value).buffer)]),
    )
  }

  /** LEARNING_ERROR of a version; undefined before the first report. */
  async error(version = 1): Promise<RatingError | undefined> {
    const reader = await this.job.reader()
    const [answer] = await reader.values(LEARNING_ERROR_STATE, [String(version)])
    return answer?.ok === true ? (unpack(answer.value) as RatingError) : undefined
  }

  /** The rows of a version as the model topic has them. */
  async topicRows(version: number): Promise<Map<string, Float32Array>> {
    await using topics = await openTopics({ logDirectory: this.data.log })
    const rows = new Map<string, Float32Array>()
    await scanTopic(topics, TOPIC, (record) => {
      const [key, ofVersion] = Buffer.from(record.key()!).toString().split('@')
      const isRow = ofVersion === String(version) && !key!.startsWith('!')
      if (isRow) rows.set(key!, new Float32Array(Uint8Array.from(record.value()!).buffer))
      return true
    })
    return new Map([...rows].sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  private registry(): ModelRegistry {
    const place = registryPlace({ logDirectory: this.data.log }, this.data.root)
    return new ModelRegistry({ place, clock: systemClock })
  }

  async stopWithSavepoint(): Promise<void> {
    await this.job.execution.stopWithSavepoint()
  }

  async cancel(): Promise<void> {
    await this.job.execution.cancel()
  }

  async stop(): Promise<void> {
    await this.job.close()
  }

  async untilLearning(version: number): Promise<void> {
    await until(
      () =>
        `version ${version} is learned on ${this.job.execution.status} ${String(this.job.execution.failures.map((f) => (f.error as Error)?.stack ?? JSON.stringify(f)))}`,
      () => this.learningOn.includes(version),
    )
  }

  /** Ratings whose item has its change, too. */
  private async learned(): Promise<number> {
    const metrics = Object.entries(await this.job.metrics())
    const sum = (name: string): number =>
      metrics.reduce((all, [key, value]) => all + (key.endsWith(name) ? Number(value) : 0), 0)
    return Math.min(sum('.ratingsLearned'), sum('.deltasFolded'))
  }
}

const RULES = ['gram', 'stack', 'sgd', 'fold-in'] as const
/** The short part has every second rule, by the seed. */
const FOLLOWING = RULES.filter((_, n) => campaignSize(n % 2 === commitSeed() % 2, true))
/** A step that promised not to lower the quality may move the RMSE of the golden ratings by this much. */
const INTERVAL = 0.03

it.each(FOLLOWING)(
  '%s follows a promotion to rows of another layout, and the way back',
  async (rule) => {
    const service = new Service()
    await service.publish(biased)
    await service.start({ rule })
    const trained = await service.rmse()
    await service.learn(500)
    expect(await service.publish(plain)).toBe(2)
    await service.promote(2)
    await service.learn(500)
    await service.promote(1)
    // It learns what was observed while version 2 was live.
    await service.untilLearned(1500)
    expect(await service.rmse()).toBeLessThan(trained + INTERVAL)
    const rows = await service.rows()
    await service.stop()
    await service.start({ rule }, { slots: 1 })
    expect(await service.rows()).toEqual(rows)
    await service.learn(200)
    await service.stop()
  },
  60_000,
)

it('a promotion that the job that learns could not follow is refused before it is announced', async () => {
  const service = new Service()
  await service.publish(biased)
  await service.start({ rule: 'gram' })
  await service.learn(100)
  expect(await service.publish(plain, { feedback: 'implicit' })).toBe(2)
  expect(await service.publish(plain)).toBe(3)
  await until('the registry knows what the job learns', async () => {
    const refused = await service.tryToPromote(2)
    return refused?.includes('it would be served, but not learned') === true
  })
  // It learns on: on version 1, and after a promotion that it can follow.
  await service.learn(100)
  expect(await service.tryToPromote(3)).toBeUndefined()
  await service.untilLearning(3)
  await service.learn(100)
  expect(service.warnings).toEqual([])
  await service.stop()
}, 60_000)

it('a job whose rule changes keeps its rows and says that it drops what the old rule kept', async () => {
  const service = new Service()
  await service.publish(biased)
  await service.start({ rule: 'gram' })
  await service.learn(300)
  const before = await service.rmse()
  for (const [n, rule] of (['stack', 'sgd', 'fold-in', 'gram'] as const).entries()) {
    const rows = await service.rows()
    await service.stop()
    await service.start({ rule })
    expect(await service.rows()).toEqual(rows)
    expect(service.warnings).toHaveLength(n + 1)
    expect(service.warnings[n]).toContain('they stay, but what')
    await service.learn(300)
    expect(await service.rmse(), rule).toBeLessThan(before + INTERVAL)
  }
  await service.stop()
}, 60_000)

it('LEARNING_ERROR counts each rating once, and goes on, whatever the number of slots was before', async () => {
  const service = new Service()
  await service.publish(biased)
  const encoder = new TextEncoder()
  let sent = 0
  for (const slots of [4, 1, 2, 4]) {
    await service.start({ rule: 'gram' }, { slots })
    await service.learn(300)
    sent += 300
    let error: RatingError | undefined
    await until(`the error is of ${sent} ratings`, async () => {
      error = await service.error()
      return error?.ratings === sent
    })
    // Users of the sample are also predicted from the rows as they were published, by each slot that they were in.
    const learned = all.slice(TRAINED + GOLDEN, TRAINED + GOLDEN + sent)
    const sample = learned.filter(({ user }) => isInSample(encoder.encode(`${user}-U`)))
    const frozen = error!.slots.reduce((sum, part) => sum + part.frozenRatings, 0)
    expect(frozen).toBe(sample.length)
    const squares = sample.map(
      ({ user, item, rating }) => (biased.predict(user, item).score - rating) ** 2,
    )
    const mse = squares.reduce((sum, square) => sum + square, 0) / squares.length
    console.info({ slots, frozenMse: error!.frozenMse, mse })
    expect(Math.abs(error!.frozenMse - mse)).toBeLessThan(0.1)
    await service.stop()
  }
}, 60_000)

it('a stop with a savepoint writes back what was learned, before it is answered', async () => {
  const service = new Service()
  await service.publish(biased)
  await service.start({ rule: 'gram' }, { writeBackMs: 3_600_000 })
  await service.learn(500)
  const served = await service.rows()
  await service.stopWithSavepoint()
  expect(await service.topicRows(1)).toEqual(served)
  await service.stop()
}, 60_000)

it('a job that is canceled says that the topic lacks what it learned since the last write-back', async () => {
  const service = new Service()
  await service.publish(biased)
  await service.start({ rule: 'gram' }, { writeBackMs: 3_600_000 })
  const published = await service.topicRows(1)
  await service.learn(100)
  await service.cancel()
  const said = 'the job is CANCELED: what it learned since the last write-back is not in topic'
  await until('it says so', () => service.warnings.some((warning) => warning.includes(said)))
  expect(await service.topicRows(1)).toEqual(published)
  await service.stop()
}, 60_000)

it('a version of a file that goes live beside a learner learns what was learned before, and nothing of its file', async () => {
  const service = new Service()
  await service.publish(biased)
  await service.produce(300)
  await service.start({ rule: 'gram' }, { learnFrom: 'end' })
  await service.learn(200)
  const digester = new ObservationsDigester()
  for (const { user, item, rating } of all.slice(TRAINED + GOLDEN, TRAINED + GOLDEN + 300)) {
    digester.addRating(user, item, rating)
  }
  const files = [{ file: 'base.csv', sha256: 'a'.repeat(64), read: digester.digest }]
  await service.publish(plain, undefined, { files, ranges: [], newestEventMs: -1 })
  await service.promote(2)
  await service.untilLearned(400)
  await service.learn(100)
  await until('its error is of 300 ratings', async () => (await service.error(2))?.ratings === 300)
  expect(service.notes.at(-1)).toBe(
    'the first 300 observations of topic observations are those of base.csv that it was trained on, so learning begins after them',
  )
  // A version that was live before goes on where it was left.
  await service.promote(1)
  await service.untilLearned(600)
  await until('its error is of 300 ratings', async () => (await service.error(1))?.ratings === 300)
  expect(service.notes).toHaveLength(2)
  // Of another one nothing is known, which is said.
  await service.publish(plain)
  await service.promote(3)
  expect(service.notes.at(-1)).toContain(
    'so learning goes on where it is in topic observations; what was learned before is not in this version',
  )
  await service.learn(100)
  expect((await service.error(3))?.ratings ?? 0).toBeLessThanOrEqual(100)
  await service.stop()
}, 60_000)
