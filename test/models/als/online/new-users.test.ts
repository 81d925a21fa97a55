import { expect, it } from 'vitest'
import { seededRandom } from '../../../../src/core/random.ts'
import { ratingNoise } from '../../../../src/models/als/online/prior.ts'
import {
  type OnlineRuleOptions,
  onlineRule,
  withVersionFacts,
} from '../../../../src/models/als/online/rules.ts'
import {
  type LearnableModel,
  SequentialLearner,
} from '../../../../src/models/als/online/sequential-learner.ts'
import { generateRatings } from '../../../../src/models/ratings/generator.ts'
import type { Rating } from '../../../../src/models/ratings/rating.ts'
import { evaluateAls } from '../../../../src/training/als/evaluate.ts'
import { learnableModel, momentsOf } from '../../../../src/training/als/learnable-model.ts'
import type { AlsModel } from '../../../../src/training/als/solver/model.ts'
import { trainAls } from '../../../../src/training/als/train.ts'
import { type RatingsTable, ratingsTable } from '../../../../src/training/data/ratings-table.ts'
import { mean } from '../../../combinations/plain-measures.ts'
import { squaresOf } from './rating-sets.ts'

/** Users, items, noise and scale of generated sets; the ratings of a user's first session share a deviation. */
const SETS = [
  { users: 400, items: 120, ratings: 16_000, noise: 0.3, seed: 3, scale: 1 },
  { users: 1200, items: 60, ratings: 24_000, noise: 1, seed: 4, scale: 1 },
  { users: 160, items: 500, ratings: 18_000, noise: 0.6, seed: 5, scale: 1 },
  { users: 400, items: 250, ratings: 30_000, noise: 0.1, seed: 32, scale: 1 },
  { users: 800, items: 300, ratings: 40_000, noise: 0.6, seed: 6, scale: 20 },
] as const
/** Ratings of a first session, and after which ratings of a user predictions are compared. */
const SESSION = 10
const COMPARED = 20
/** Deviation that a session's ratings share, in stars. */
const DEVIATION = 0.4
const AFTER = [1, 2, 5, 10, 20]

interface Trained {
  readonly model: AlsModel
  readonly table: RatingsTable
}

async function trained(
  ratings: readonly Rating[],
  factors: number,
  biases: boolean,
): Promise<Trained> {
  const table = ratingsTable(ratings)
  return { table, model: await trainAls(table, { factors, biases, threads: 0 }) }
}

function learnerOf({ model, table }: Trained, options: OnlineRuleOptions) {
  const { dimension, biased, globalMean, range } = model
  const noise = ratingNoise(evaluateAls(model, table).rmse, range)
  const facts = withVersionFacts(options, { globalMean, noise })
  const learnable: LearnableModel = learnableModel(model, table)
  return () =>
    new SequentialLearner(
      learnable,
      onlineRule({ dimension, biased }, facts, () => momentsOf(model)),
    )
}

/** Ratings of a generated set; `scale` 20 has ratings from 20 to 100. */
function generated({ scale, ...set }: (typeof SETS)[number]): readonly Rating[] {
  return [...generateRatings(set)].map((one) => ({ ...one, rating: one.rating * scale }))
}

/** By new user, ratings of which those of the first session are all too high or all too low. */
function inSessions(ratings: readonly Rating[], scale: number): readonly (readonly Rating[])[] {
  const byUser = Map.groupBy(ratings, ({ user }) => user)
  const random = seededRandom(1)
  return [...byUser.values()]
    .filter((own) => own.length > COMPARED + 5)
    .map((own) => {
      const deviation = DEVIATION * scale * random.normal()
      return own.map((one, n) => (n < SESSION ? { ...one, rating: one.rating + deviation } : one))
    })
}

it.each(SETS)(
  'the default rule predicts a new user no worse after few ratings than after none: $users users, noise $noise, scale $scale',
  async (set) => {
    const all = generated(set)
    const isNew = ({ user }: Rating): boolean => Number(user) % 4 === 0
    const known = await trained(
      all.filter((rating) => !isNew(rating)),
      10,
      true,
    )
    const learner = learnerOf(known, { rule: 'gram' })
    const users = inSessions(all.filter(isNew), set.scale)
    const errors = [0, ...AFTER].map((count) =>
      mean(
        users.flatMap((own) => {
          const one = learner()
          for (const rating of own.slice(0, count)) one.learn(rating)
          // The item rows of the model: only the user is new.
          one.items.clear()
          return squaresOf(own.slice(COMPARED), ({ user, item }) => one.predict(user, item))
        }),
      ),
    )
    for (const [n, count] of AFTER.entries()) {
      expect(errors[n + 1], `after ${count} ratings: ${errors.join(' ')}`).toBeLessThan(errors[0]!)
    }
  },
)

it.each(SETS.flatMap((set) => [true, false].map((biases) => ({ ...set, biases }))))(
  'the default steps of long rows never make a model worse: $users users, noise $noise, scale $scale, biases $biases',
  async ({ biases, ...set }) => {
    const all = generated(set)
    const parts = [0.45, 0.85].map((part) => Math.floor(part * all.length)) as [number, number]
    const learner = learnerOf(await trained(all.slice(0, parts[0]), 50, biases), { rule: 'sgd' })()
    const squares = (): number =>
      mean(squaresOf(all.slice(parts[1]), ({ user, item }) => learner.predict(user, item)))
    const before = squares()
    for (const rating of all.slice(...parts)) learner.learn(rating)
    expect(squares()).toBeLessThan(before)
  },
)
