import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unpack } from 'msgpackr'
import { expect, onTestFinished } from 'vitest'
import { openTopics } from '../../../../src/connectors/topics/open.ts'
import { scanTopic } from '../../../../src/connectors/topics/scan.ts'
import { systemClock } from '../../../../src/core/clock.ts'
import { isWeirError } from '../../../../src/core/errors.ts'
import { LEARNING_ERROR_STATE } from '../../../../src/jobs/learning/error/learning-error.ts'
import type { RatingError } from '../../../../src/jobs/learning/error/rating-error.ts'
import { dataDirectory } from '../../../../src/jobs/serve/data-directory.ts'
import { learnAlsJob } from '../../../../src/jobs/serve/learning-als.ts'
import { registryPlace } from '../../../../src/jobs/serve/registry-place.ts'
import type { ServedJob } from '../../../../src/jobs/served-job.ts'
import { publishAls } from '../../../../src/kinds/factors/publish.ts'
import type { OnlineRuleOptions } from '../../../../src/models/als/online/rules.ts'
import { generateRatings } from '../../../../src/models/ratings/generator.ts'
import type { Rating } from '../../../../src/models/ratings/rating.ts'
import { storedCheck } from '../../../../src/models/registry/checks/promotion-verdict.ts'
import type { TrainedOn } from '../../../../src/models/registry/ranges/trained-on.ts'
import { ALS_MODEL } from '../../../../src/models/topic/als-serving-function.ts'
import { ModelAdministration } from '../../../../src/models/versions/model-administration.ts'
import { ModelRegistry } from '../../../../src/models/versions/model-registry.ts'
import type { AlsModel } from '../../../../src/training/als/solver/model.ts'
import type { ScanEntry } from '../../../../src/wire/model-reader.ts'
import { until } from '../../../run/until.ts'

const TOPIC = 'als-model'
const OBSERVATIONS = 'observations'
const TRAINED = 8000
const GOLDEN = 2000

const ALL = [...generateRatings({ users: 300, items: 120, ratings: 14_000, seed: 5 })]
const GOLDEN_RATINGS = ALL.slice(TRAINED, TRAINED + GOLDEN)

/** Ratings on which models are trained before a service learns. */
export const TRAINED_RATINGS: readonly Rating[] = ALL.slice(0, TRAINED)
/** Ratings that a service sends, in this order. */
export const FRESH_RATINGS: readonly Rating[] = ALL.slice(TRAINED + GOLDEN)

/** A data folder with its learning job, as `weir learn als` runs it. */
export class LearningService {
  readonly warnings: string[] = []
  readonly notes: string[] = []
  private readonly data: ReturnType<typeof dataDirectory>
  private readonly learningOn: number[] = []
  private sent = 0
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
      neverStop = false,
      eventId,
    }: {
      slots?: number
      writeBackMs?: number
      learnFrom?: 'end'
      neverStop?: boolean
      eventId?: string
    } = {},
  ): Promise<void> {
    this.learningOn.length = 0
    const before = this.warnings.length
    this.job = await learnAlsJob({
      job: {
        ...{ observations: OBSERVATIONS, rule, neverStop },
        ...(eventId === undefined ? {} : { eventId }),
      },
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
    await until('version 1 is learned on, or learning is stopped', () => {
      return this.learningOn.includes(1) || this.stopsSaid(before) > 0
    })
  }

  /** How often the job has said that learning is stopped, after the first `from` warnings. */
  stopsSaid(from = 0): number {
    const said = this.warnings.slice(from).filter((text) => text.includes('is stopped'))
    return said.length
  }

  /** Lets the job learn on version 1 again, as `weir learn resume` does. */
  async resume(): Promise<void> {
    const atMs = systemClock.nowMs()
    const command = { name: TOPIC, number: 1, atMs, reason: 'a test' }
    await this.registry().require({ kind: 'resume-learning', ...command })
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
    await this.send(this.sent, count)
    this.sent += count
  }

  /** Appends the last ratings of `produce` once more, as a producer that did not get its acknowledgement. */
  async again(count: number): Promise<void> {
    await this.send(this.sent - count, count)
  }

  /** Records that were left out, because their event came before. */
  async repeated(): Promise<number> {
    const metrics = Object.entries(await this.job.metrics())
    const found = metrics.filter(([key]) => key.endsWith('.observationsRepeated'))
    return found.reduce((sum, [, value]) => sum + Number(value), 0)
  }

  /** Appends fresh ratings, each with the number of its event in the header `id`. */
  private async send(from: number, count: number): Promise<void> {
    await using topics = await openTopics({ logDirectory: this.data.log })
    if (!(await topics.has(OBSERVATIONS))) await topics.create(OBSERVATIONS, { partitions: 2 })
    const producer = await topics.producer(OBSERVATIONS)
    const encoder = new TextEncoder()
    for (const [n, { user, item, rating }] of FRESH_RATINGS.slice(from, from + count).entries()) {
      const line = encoder.encode(`${user},${item},${rating}`)
      const headers = [{ key: 'id', value: encoder.encode(String(from + n)) }]
      producer.sendRecord(encoder.encode(user), line, systemClock.nowMs(), -1, headers)
    }
    await producer.sync()
    await producer.close()
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
    for (const { user, item, rating } of GOLDEN_RATINGS) {
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
