import { expect } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import type { PlacedRating } from '../../../src/kinds/factors/ratings-profile.ts'
import { scoreOf } from '../../../src/models/als/online/rule.ts'
import { alsKey, idOfKey, kindOfKey } from '../../../src/models/als/row-key.ts'
import { generateRatings, type TasteTurn } from '../../../src/models/ratings/generator.ts'
import { clipRating, type Rating } from '../../../src/models/ratings/rating.ts'
import type { RegisteredVersion } from '../../../src/models/registry/version.ts'
import type { AlsModel } from '../../../src/training/als/solver/model.ts'
import { trainAls } from '../../../src/training/als/train.ts'
import { type RatingsTable, ratingsTable } from '../../../src/training/data/ratings-table.ts'
import type { ModelReader } from '../../../src/wire/model-reader.ts'
import { PromotionLab } from './lab.ts'

const NAME = 'als-model'
/** Observations that a lab begins with. */
export const BASE = 12_000
const GOLDEN = 3000

/** The model of `PLANTED.first`, which most tests begin with. */
let firstModel: Promise<AlsModel> | undefined

function trainedOn(observations: readonly Rating[]): Promise<AlsModel> {
  const train = (): Promise<AlsModel> =>
    trainAls(ratingsTable(observations), { factors: 6, iterations: 6, threads: 0 })
  const isFirst = observations.length === BASE && observations.at(-1) === PLANTED.first.at(-1)
  if (!isFirst) return train()
  firstModel ??= train()
  return firstModel
}

/** A model that is trained on a growing list of observations, checked and promoted as `weir retrain` does. */
export class AlsLab {
  readonly observations: Rating[] = []
  private readonly models = new Map<number, AlsModel>()
  private readonly registry = new PromotionLab(NAME)
  private readonly golden: RatingsTable
  private readonly isReadable: boolean

  /** `isReadable`: the observations are a topic that the checks can read; else they were files. */
  constructor(
    observations: readonly Rating[],
    golden: readonly Rating[],
    { isReadable = true }: { readonly isReadable?: boolean } = {},
  ) {
    this.isReadable = isReadable
    this.observations.push(...observations)
    this.golden = ratingsTable(golden)
  }

  /** Retrains on everything; returns the names of the measures that failed, none if it was promoted. */
  async retrain(): Promise<readonly string[]> {
    const number = this.models.size + 1
    const model = await trainedOn(this.observations)
    this.models.set(number, model)
    const version = this.versionOf(number, model)
    return await this.registry.check(version, {
      reader: this.reader,
      state: 'ALS_MODEL',
      golden: { ratings: this.golden, subject: 'golden' },
      ...(this.isReadable ? { observations: (ranges) => this.read(ranges[0]!.to) } : {}),
    })
  }

  /** What the checks of the newest model advised. */
  get advice(): readonly string[] {
    return this.registry.advice
  }

  /** RMSE of the newest model on other ratings. */
  rmse(ratings: readonly Rating[]): number {
    const newest = this.models.size
    const squares = ratings.map(({ user, item, rating }) => {
      const left = this.row(alsKey(user, 'U'), newest).row
      const right = this.row(alsKey(item, 'I'), newest).row
      return (rating - clipRating(scoreOf(left, right), { min: 1, max: 5 })) ** 2
    })
    return Math.sqrt(squares.reduce((sum, square) => sum + square, 0) / squares.length)
  }

  /** Mean prediction of an item by the newest model, over all users of the first observations. */
  prediction(item: string): number {
    const newest = this.models.size
    const users = [...new Set(PLANTED.first.map(({ user }) => user))]
    const right = this.row(alsKey(item, 'I'), newest).row
    const scores = users.map((user) =>
      clipRating(scoreOf(this.row(alsKey(user, 'U'), newest).row, right), { min: 1, max: 5 }),
    )
    return scores.reduce((sum, score) => sum + score, 0) / scores.length
  }

  private versionOf(number: number, model: AlsModel): RegisteredVersion {
    const to = this.observations.length
    const ratings = this.observations.map(({ rating }) => rating)
    return {
      name: NAME,
      processingName: `als-${number}`,
      id: `id-${number}`,
      number,
      topic: NAME,
      createdMs: number,
      dimension: model.dimension,
      users: model.users.length,
      items: model.items.length,
      lineage: {
        ranges: [{ topic: 'ratings', partition: 0, from: 0, to }],
        files: [],
        code: 'als/1',
        hyperparameters: {},
        metrics: {
          observations: to,
          unparsable: 0,
          smallestRating: Math.min(...ratings),
          largestRating: Math.max(...ratings),
        },
        newestEventMs: this.observations.reduce((ms, { timestamp }) => Math.max(ms, timestamp), -1),
      },
      state: 'candidate',
      checks: [],
      notes: [],
    }
  }

  private async *read(to: number): AsyncGenerator<readonly PlacedRating[]> {
    yield this.observations
      .slice(0, to)
      .map((rating, offset) => ({ ...rating, partition: 0, offset }))
  }

  private readonly reader = {
    predict: async (_: string, left: string, right: string, options: { version: number }) => {
      const [user, item] = [this.row(left, options.version), this.row(right, options.version)]
      return {
        score: scoreOf(user.row, item.row),
        leftCold: user.cold,
        rightCold: item.cold,
      }
    },
    topK: async (_: string, key: string, options: { version: number; k: number }) => {
      const model = this.models.get(options.version)!
      const { row } = this.row(key, options.version)
      const value = model.items
        .map((item) => ({
          key: alsKey(item, 'I'),
          score: scoreOf(row, this.row(alsKey(item, 'I'), options.version).row),
        }))
        .sort((a, b) => b.score - a.score)
        .slice(0, options.k)
      return { ok: true, value }
    },
  } as unknown as ModelReader

  private row(key: string, version: number): { row: Float32Array; cold: boolean } {
    const model = this.models.get(version)!
    const kind = kindOfKey(key)
    const row = model.rowOf(kind, idOfKey(key))
    if (row !== undefined) return { row, cold: false }
    return { row: kind === 'U' ? model.meanUser : model.meanItem, cold: true }
  }
}

/** Ratings of a planted model: those to train on first, golden ones, test ones, and those that come later. */
export function planted(seed = 3, turns: readonly TasteTurn[] = []) {
  const later = 12_000
  const all = [
    ...generateRatings({
      users: 400,
      items: 300,
      ratings: BASE + 2 * GOLDEN + later,
      popularityExponent: 0.5,
      activitySigma: 0.5,
      turns,
      seed,
    }),
  ]
  return {
    first: all.slice(0, BASE),
    golden: all.slice(BASE, BASE + GOLDEN),
    test: all.slice(BASE + GOLDEN, BASE + 2 * GOLDEN),
    later: all.slice(BASE + 2 * GOLDEN),
  }
}

const PLANTED = planted()

/** A lab whose first version is live. */
export async function labWithLive(
  options: { readonly isReadable?: boolean } = {},
): Promise<{ lab: AlsLab; data: typeof PLANTED }> {
  const lab = new AlsLab(PLANTED.first, PLANTED.golden, options)
  expect(await lab.retrain()).toEqual([])
  return { lab, data: PLANTED }
}

/** A rating; `n` makes its time. */
export const rated = (user: string, item: string, rating: number, n: number): Rating => {
  return { user, item, rating, timestamp: n * 1000 }
}

/** Ratings of random users, items and values. */
export function noise(count: number, seed: number): Rating[] {
  const random = seededRandom(seed)
  return Array.from({ length: count }, (_, n) =>
    rated(String(1 + random.below(400)), String(1 + random.below(300)), 1 + random.below(5), n),
  )
}
