import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unpack } from 'msgpackr'
import { onTestFinished } from 'vitest'
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
import type { Rating } from '../../../../src/models/ratings/rating.ts'
import { ALS_MODEL } from '../../../../src/models/topic/als-serving-function.ts'
import { ModelRegistry } from '../../../../src/models/versions/model-registry.ts'
import type { AlsModel } from '../../../../src/training/als/solver/model.ts'
import { until } from '../../../run/until.ts'

const TOPIC = 'als-model'
const OBSERVATIONS = 'observations'
const encoder = new TextEncoder()
/** Window and fading factor of the measures. */
export const PREQUENTIAL = { window: 60, fading: 0.98 }

/** A learning job on one data folder, which a test stops, kills and starts with other slots. */
export class Learner implements AsyncDisposable {
  private readonly folder = mkdtempSync(join(tmpdir(), 'weir-learning-error-'))
  private readonly data = dataDirectory(this.folder)
  readonly warnings: string[] = []
  private job: ServedJob | undefined
  private readonly budget: string

  private constructor(budget: string) {
    this.budget = budget
  }

  static async of(
    rule: OnlineRuleOptions,
    slots: number,
    { learned, budget = '256mb' }: { learned: AlsModel; budget?: string },
  ): Promise<Learner> {
    const learner = new Learner(budget)
    onTestFinished(() => rmSync(learner.folder, { recursive: true, force: true }))
    const place = registryPlace({ logDirectory: learner.data.log }, learner.data.root)
    await using topics = await openTopics({ logDirectory: learner.data.log })
    const registry = new ModelRegistry({ place, clock: systemClock })
    await publishAls(learned, { log: topics, topic: TOPIC, clock: systemClock, registry })
    await topics.create(OBSERVATIONS, { partitions: 1 })
    await learner.start(rule, slots)
    return learner
  }

  async start(rule: OnlineRuleOptions, slots: number): Promise<void> {
    let isLearning = false
    this.job = await learnAlsJob({
      job: { observations: OBSERVATIONS, rule, prequential: PREQUENTIAL, lingerMs: 1 },
      data: this.data,
      topic: TOPIC,
      slots,
      queryThreads: 1,
      port: 0,
      configuration: {
        'execution.checkpointing.interval': '100 ms',
        'state.backend.memory.budget': this.budget,
        'restart-strategy.type': 'fixed-delay',
        'restart-strategy.fixed-delay.attempts': '10',
        'restart-strategy.fixed-delay.delay': '10 ms',
      },
      onLive: () => {},
      onWarning: (warning) => void this.warnings.push(warning),
      onLearning: () => {
        isLearning = true
      },
    })
    await until('the job learns', () => isLearning)
  }

  get running(): ServedJob {
    return this.job as ServedJob
  }

  /** Ends a slot's thread and waits until the job runs again. */
  async kill(slot: number): Promise<void> {
    const { execution } = this.running
    const failures = execution.failures.length
    execution.killSlot(slot)
    // Until then it is the attempt before that runs.
    await until('the slot is lost', () => execution.failures.length > failures)
    await execution.waitFor('RUNNING')
  }

  async stop(): Promise<void> {
    await this.job?.close()
    this.job = undefined
  }

  async rate(ratings: readonly Rating[]): Promise<void> {
    await using topics = await openTopics({ logDirectory: this.data.log })
    const producer = await topics.producer(OBSERVATIONS)
    for (const { user, item, rating } of ratings) {
      const line = encoder.encode(`${user},${item},${rating}`)
      producer.sendRecord(encoder.encode(user), line, systemClock.nowMs(), -1, [])
    }
    await producer.sync()
    await producer.close()
  }

  /** The sum of a metric over all slots. */
  async sum(name: string): Promise<number> {
    return Object.entries(await this.running.metrics())
      .filter(([key]) => key.endsWith(`.${name}`))
      .reduce((total, [, value]) => total + Number(value), 0)
  }

  /** Number of observations that have a delta in the topic, also where one came twice. */
  async deltas(): Promise<number> {
    await using topics = await openTopics({ logDirectory: this.data.log })
    const origins = new Set<string>()
    await scanTopic(topics, `${TOPIC}-deltas`, (record) => {
      const value = Buffer.from(record.value()!)
      const offset = value.readUInt32LE(12) * 2 ** 32 + value.readUInt32LE(8)
      origins.add(`${value.readUInt32LE(4)}/${offset}`)
      return true
    })
    return origins.size
  }

  /** LEARNING_ERROR when it is of so many ratings, and of the slots of now. */
  async error(ratings: number, slots: number): Promise<RatingError> {
    let error: RatingError | undefined
    await until(
      () => `LEARNING_ERROR is of ${ratings} ratings: ${JSON.stringify(error)}`,
      async () => {
        const reader = await this.running.reader()
        const asked = reader.values(LEARNING_ERROR_STATE, ['1'])
        const [answer] = await asked.catch(restoring)
        error = answer?.ok === true ? (unpack(answer.value) as RatingError) : undefined
        return error?.ratings === ratings && error.slots.every((p) => p.parallelism === slots)
      },
    )
    return error as RatingError
  }

  /** The served row of a user or an item. */
  async row(key: string): Promise<Float32Array> {
    const reader = await this.running.reader()
    let row: Float32Array | undefined
    await until(`row ${key} is served`, async () => {
      const [answer] = await reader.rows(ALS_MODEL, [key]).catch(restoring)
      row = answer?.ok === true ? answer.value : undefined
      return row !== undefined
    })
    return row as Float32Array
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }
}

/** No answers while the job restores. */
function restoring(error: unknown): never[] {
  if (isWeirError(error, 'RESTORING')) return []
  throw error
}
