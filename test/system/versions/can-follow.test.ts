import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { openTopics } from '../../../src/connectors/topics/open.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { isWeirError } from '../../../src/core/errors.ts'
import { dataDirectory } from '../../../src/jobs/serve/data-directory.ts'
import type { ServeLearningOptions } from '../../../src/jobs/serve/learning.ts'
import { learnAlsJob } from '../../../src/jobs/serve/learning-als.ts'
import { learnSvmJob } from '../../../src/jobs/serve/learning-svm.ts'
import { registryPlace } from '../../../src/jobs/serve/registry-place.ts'
import type { ServedJob } from '../../../src/jobs/served-job.ts'
import { publishAls } from '../../../src/kinds/factors/publish.ts'
import { publishableWeights, publishLinear } from '../../../src/kinds/linear/publish.ts'
import type { OnlineRuleOptions } from '../../../src/models/als/online/rules.ts'
import type { PublishOptions } from '../../../src/models/publish/model.ts'
import { generateRatings } from '../../../src/models/ratings/generator.ts'
import { storedCheck } from '../../../src/models/registry/checks/promotion-verdict.ts'
import { ModelAdministration } from '../../../src/models/versions/model-administration.ts'
import { ModelRegistry } from '../../../src/models/versions/model-registry.ts'
import { trainAls } from '../../../src/training/als/train.ts'
import { ratingsTable } from '../../../src/training/data/ratings-table.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { until } from '../../run/until.ts'
import { commitSeed } from '../../services/commit-seed.ts'

/** Floats of a row: 6 factors, 4 factors and 2 biases, or a block of weights. */
const FLOATS = 6
const TOPIC = 'model'

type Place = Omit<PublishOptions, 'facts'>
/** Publishes a version; returns its number. */
type Candidate = (place: Place) => Promise<number>

const RATINGS = ratingsTable(generateRatings({ users: 60, items: 30, ratings: 1500, seed: 3 }))
const BIASED = await trainAls(RATINGS, { factors: FLOATS - 2, biases: true, threads: 0 })
const PLAIN = await trainAls(RATINGS, { factors: FLOATS, biases: false, threads: 0 })
const WEIGHTS = publishableWeights(Float32Array.of(0, 1, -1, 0.5), 0.1)

const factors = (model: typeof BIASED, feedback: 'explicit' | 'implicit'): Candidate => {
  return (place) => publishAls(model, { ...place, hyperparameters: { feedback } })
}
const weights = (hyperparameters: Readonly<Record<string, number | string>>): Candidate => {
  return (place) => publishLinear(WEIGHTS, { ...place, range: FLOATS, hyperparameters })
}

const OF_RATINGS = {
  biased: factors(BIASED, 'explicit'),
  plain: factors(PLAIN, 'explicit'),
} satisfies Readonly<Record<string, Candidate>>
const IMPLICIT = factors(PLAIN, 'implicit')
const labelled = (positive: number, negative: number, loss = 'hinge'): Candidate =>
  weights({ positiveLabel: positive, negativeLabel: negative, loss })

/** A data folder with a job that learns. */
class Learner {
  readonly warnings: string[] = []
  private readonly learningOn: number[] = []
  /** Starts of learning before the last promotion. */
  private begun = 0
  private readonly data: ReturnType<typeof dataDirectory>
  private job!: ServedJob

  constructor() {
    const folder = mkdtempSync(join(tmpdir(), 'weir-can-follow-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    this.data = dataDirectory(folder)
  }

  async publish(candidate: Candidate): Promise<number> {
    await using topics = await openTopics({ logDirectory: this.data.log })
    const registry = this.registry()
    return await candidate({ log: topics, topic: TOPIC, clock: systemClock, registry })
  }

  async start(run: (options: ServeLearningOptions) => Promise<ServedJob>): Promise<void> {
    this.job = await run({
      data: this.data,
      topic: TOPIC,
      slots: 2,
      queryThreads: 1,
      port: 0,
      configuration: { 'restart-strategy.type': 'none' },
      onLive: () => {},
      onLearning: (version) => void this.learningOn.push(version),
      onWarning: (warning) => void this.warnings.push(warning),
    })
    await until('version 1 is learned on', () => this.learningOn.includes(1))
    const state = await this.registry().read()
    expect(state.models.get(TOPIC)?.learnsKind).toBeDefined()
  }

  /** Whether the registry lets a version go live whose three checks have passed. */
  async allows(number: number): Promise<boolean> {
    const state = await this.registry().read()
    const against = state.models.get(TOPIC)?.live ?? 0
    const checks = (['data', 'quality', 'serving'] as const).map((check) =>
      storedCheck(check, [], { atMs: 1, against, subject: 'golden' }),
    )
    await this.registry().require({ kind: 'record-checks', name: TOPIC, number, checks })
    const before = this.learningOn.length
    this.begun = before
    try {
      await this.models.promote(await this.models.registered(String(number)))
    } catch (error) {
      if (!isWeirError(error, 'PROMOTION_REFUSED')) throw error
      expect(error.message).toContain('it would be served, but not learned')
      expect(this.learningOn).toHaveLength(before)
      return false
    }
    return true
  }

  /** Whether the job learns on a version that was made live, whatever the check said. */
  async learns(number: number): Promise<boolean> {
    const cannot = `learning does not begin on version ${number} `
    const warned = (): boolean => this.warnings.some((warning) => warning.startsWith(cannot))
    await until(
      `version ${number} is learned on, or it is said why not`,
      () => (this.learningOn.length > this.begun && this.learningOn.at(-1) === number) || warned(),
    )
    expect(this.job.execution.status).toBe('RUNNING')
    return !warned()
  }

  async force(number: number): Promise<void> {
    this.begun = this.learningOn.length
    await this.models.promote(await this.models.registered(String(number)), { force: 'a test' })
  }

  async close(): Promise<void> {
    await this.job.close()
  }

  private get models(): ModelAdministration {
    const registry = this.registry()
    const place = { logDirectory: this.data.log }
    return new ModelAdministration({ registry, place, model: TOPIC, clock: systemClock })
  }

  private registry(): ModelRegistry {
    const place = registryPlace({ logDirectory: this.data.log }, this.data.root)
    return new ModelRegistry({ place, clock: systemClock })
  }
}

const als =
  (rule: OnlineRuleOptions) =>
  (options: ServeLearningOptions): Promise<ServedJob> =>
    learnAlsJob({ ...options, job: { observations: 'observations', rule } })
const svm =
  (positiveLabel?: number) =>
  (options: ServeLearningOptions): Promise<ServedJob> =>
    learnSvmJob({
      ...options,
      job: { observations: 'examples', ...(positiveLabel === undefined ? {} : { positiveLabel }) },
    })

interface Row {
  readonly job: string
  readonly first: Candidate
  readonly start: (options: ServeLearningOptions) => Promise<ServedJob>
  readonly can: Readonly<Record<string, Candidate>>
  /** The job would serve these, and not learn them. */
  readonly cannot: Readonly<Record<string, Candidate>>
}

const ofRule = (rule: OnlineRuleOptions): Row => ({
  job: `learn als --rule ${rule.rule}`,
  first: OF_RATINGS.biased,
  start: als(rule),
  can: OF_RATINGS,
  cannot: { 'of implicit feedback': IMPLICIT },
})

const TABLE: readonly Row[] = [
  ofRule({ rule: 'gram' }),
  ofRule({ rule: 'stack' }),
  ofRule({ rule: 'sgd' }),
  ofRule({ rule: 'fold-in' }),
  {
    job: 'learn als --rule fold-in --feedback implicit',
    first: IMPLICIT,
    start: als({ rule: 'fold-in', feedback: 'implicit' }),
    can: { 'of implicit feedback': IMPLICIT, biased: factors(BIASED, 'implicit') },
    cannot: OF_RATINGS,
  },
  {
    job: 'learn svm',
    first: labelled(1, -1),
    start: svm(),
    can: {
      'with other labels': labelled(2, 1),
      'with labels 0 and 1': labelled(1, 0),
      'of another loss': labelled(1, -1, 'logistic'),
      'without labels': weights({}),
    },
    cannot: {},
  },
  {
    job: 'learn svm --positive 1',
    first: labelled(1, -1),
    start: svm(1),
    can: { 'with labels 0 and 1': labelled(1, 0), 'without labels': weights({}) },
    cannot: { 'with another positive label': labelled(2, 1) },
  },
]

/** The short part has every second row, by the seed. */
const ROWS = TABLE.filter((_, n) => campaignSize(n % 2 === commitSeed() % 2, true))

it.each(ROWS)(
  '$job: the check before a promotion says what the running job can follow',
  async ({ first, start, can, cannot }) => {
    const learner = new Learner()
    expect(await learner.publish(first)).toBe(1)
    await learner.start(start)
    for (const [name, candidate] of Object.entries(can)) {
      const number = await learner.publish(candidate)
      expect(await learner.allows(number), name).toBe(true)
      expect(await learner.learns(number), name).toBe(true)
      await learner.force(1)
      expect(await learner.learns(1)).toBe(true)
    }
    expect(learner.warnings).toEqual([])
    for (const [name, candidate] of Object.entries(cannot)) {
      const number = await learner.publish(candidate)
      expect(await learner.allows(number), name).toBe(false)
      await learner.force(number)
      expect(await learner.learns(number), name).toBe(false)
      await learner.force(1)
      expect(await learner.learns(1)).toBe(true)
    }
    await learner.close()
  },
)

it('a job that learns factors does not follow weights of the same length', async () => {
  const { first, start } = ofRule({ rule: 'gram' })
  const learner = new Learner()
  await learner.publish(first)
  await learner.start(start)
  expect(await learner.allows(await learner.publish(labelled(1, -1)))).toBe(false)
  await learner.close()
})

it('factors of the same length are not published beside weights that a job learns', async () => {
  const { first, start } = TABLE.at(-2)!
  const learner = new Learner()
  await learner.publish(first)
  await learner.start(start)
  await expect(learner.publish(OF_RATINGS.plain)).rejects.toMatchObject({
    code: 'DIMENSION_MISMATCH',
    message: expect.stringContaining('use another topic'),
  })
  expect(await learner.learns(1)).toBe(true)
  await learner.close()
})
