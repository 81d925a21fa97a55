import { describe, expect, it } from 'vitest'
import { trainPopularity } from '../../../src/kinds/popularity/train.ts'
import { ratingNoise } from '../../../src/models/als/online/prior.ts'
import { onlineRule, withVersionFacts } from '../../../src/models/als/online/rules.ts'
import { SequentialLearner } from '../../../src/models/als/online/sequential-learner.ts'
import { generateRatings } from '../../../src/models/ratings/generator.ts'
import type { Rating } from '../../../src/models/ratings/rating.ts'
import { chooseHalfLife } from '../../../src/training/als/choose-half-life.ts'
import { evaluateAls } from '../../../src/training/als/evaluate.ts'
import { learnableModel, momentsOf } from '../../../src/training/als/learnable-model.ts'
import { AlsModel } from '../../../src/training/als/solver/model.ts'
import { trainAls } from '../../../src/training/als/train.ts'
import { trainBmf } from '../../../src/training/bmf/train.ts'
import { type RatingsTable, ratingsTable } from '../../../src/training/data/ratings-table.ts'
import { plainSolveRow } from '../../core/kernels/plain-kernels.ts'
import { relativeDistance } from './fixture.ts'

type Train = (table: RatingsTable, halfLifeMs: number | undefined) => Promise<AlsModel>

/** A trainer; `undefined` is no option. */
function trainer(
  train: (table: RatingsTable, age: { halfLifeMs?: number }) => Promise<AlsModel>,
): Train {
  return (table, halfLifeMs) => train(table, halfLifeMs === undefined ? {} : { halfLifeMs })
}

const als = trainer((table, age) => trainAls(table, { factors: 8, threads: 0, ...age }))
const bmf = trainer(async (table, age) => {
  return (await trainBmf(table, { factors: 8, threads: 0, ...age })).model
})
const implicit = trainer((table, age) =>
  trainAls(table, { factors: 8, threads: 0, feedback: 'implicit', ...age }),
)
const popularity: Train = async (table, halfLifeMs) => trainPopularity(table, { halfLifeMs })

const DAY_MS = 86_400_000

describe('a rating of one half-life before the newest', () => {
  const now = [...generateRatings({ users: 40, items: 30, ratings: 1500, seed: 4 })].map((each) => {
    return { ...each, timestamp: DAY_MS }
  })
  const newest: Rating = { user: '1', item: '1', rating: 3, timestamp: DAY_MS }
  const once = ratingsTable([newest, ...now])
  const twiceBefore = ratingsTable([
    newest,
    ...now.flatMap((each) => [
      { ...each, timestamp: 0 },
      { ...each, timestamp: 0 },
    ]),
  ])

  it.each(Object.entries({ als, bmf, implicit, popularity }))(
    'counts as half of one in the rows of %s',
    async (_name, train) => {
      const expected = await train(once, undefined)
      const actual = await train(twiceBefore, DAY_MS)
      expect(actual.globalMean).toBeCloseTo(expected.globalMean, 6)
      for (const kind of ['U', 'I'] as const) {
        const rows = (model: AlsModel): number[] =>
          Array.from({ length: expected[kind === 'U' ? 'users' : 'items'].length }, (_, n) => [
            ...model.row(kind, n),
          ]).flat()
        expect(relativeDistance(rows(expected), rows(actual))).toBeLessThan(2e-3)
        expect(actual.ratingsOf(kind, 0)).toBe(expected.ratingsOf(kind, 0))
      }
      // All count the same without the half-life.
      expect((await train(twiceBefore, undefined)).row('I', 0)).not.toEqual(expected.row('I', 0))
    },
  )
})

it('rows of items are the weighted ridge regression on the rows of their users', async () => {
  const table = ratingsTable(
    generateRatings({ users: 30, items: 12, ratings: 900, seed: 8, meanGapMs: 1000 }),
  )
  const halfLifeMs = 200_000
  const model = await als(table, halfLifeMs)
  const newest = Math.max(...table.timestamp)
  const { dimension, globalMean } = model
  let weightOfAll = 0
  let sumOfAll = 0
  for (const [item, id] of table.items.entries()) {
    const rows = [...table.item.keys()].filter((n) => table.item[n] === item)
    const weights = rows.map((n) => 2 ** ((table.timestamp[n]! - newest) / halfLifeMs))
    const count = weights.reduce((sum, weight) => sum + weight, 0)
    weightOfAll += count
    rows.forEach((n, k) => {
      sumOfAll += weights[k]! * table.rating[n]!
    })
    const users = rows.map((n) => model.row('U', table.user[n]!))
    // Served rows of users are [p, b_u + mu, 1].
    const design = users.map((row, k) =>
      Float32Array.from([...row.subarray(0, dimension - 2), 1], (x) => x * Math.sqrt(weights[k]!)),
    )
    const targets = rows.map((n, k) => {
      return (table.rating[n]! - users[k]![dimension - 2]!) * Math.sqrt(weights[k]!)
    })
    const penalties = [...Array(dimension - 2).fill(1.3), 0.65].map(
      (each) => each * Math.sqrt(count),
    )
    const exact = plainSolveRow({ design, targets, penalties })
    const row = model.rowOf('I', id)!
    const solved = [...row.subarray(0, dimension - 2), row[dimension - 1]!]
    expect(relativeDistance(exact, solved)).toBeLessThan(1e-3)
    expect(model.ratingsOf('I', item)).toBe(Math.max(1, Math.round(count)))
  }
  expect(globalMean).toBeCloseTo(sumOfAll / weightOfAll, 5)
})

/** RMSE on the next ratings of rows that were trained on the first ratings and have learned all others. */
function learnedLive(
  model: AlsModel,
  first: RatingsTable,
  later: readonly Rating[],
  next: RatingsTable,
): number {
  const { globalMean, range, history, dimension, biased } = model
  const noise = ratingNoise(history.at(-1)?.trainRmse, range)
  const options = withVersionFacts({ rule: 'gram' }, { globalMean, noise })
  const rule = onlineRule({ dimension, biased }, options, () => momentsOf(model))
  const learner = new SequentialLearner(learnableModel(model, first), rule)
  for (const rating of later) learner.learn(rating)
  const rowsOf = (kind: 'U' | 'I', ids: readonly string[]): Float32Array => {
    const rows = new Float32Array(ids.length * dimension)
    const learned = kind === 'U' ? learner.users : learner.items
    for (const [n, id] of ids.entries()) {
      const mean = kind === 'U' ? model.meanUser : model.meanItem
      rows.set(learned.get(id)?.row ?? model.rowOf(kind, id) ?? mean, n * dimension)
    }
    return rows
  }
  const { users, items } = next
  const userRows = rowsOf('U', users)
  const itemRows = rowsOf('I', items)
  const parts = { users, items, userRows, itemRows, globalMean, range, biased, history: [] }
  return evaluateAls(new AlsModel({ ...parts, factors: model.factors }), next).rmse
}

describe.each([
  { name: 'als', train: als, drift: 2, seed: 3 },
  { name: 'bmf', train: bmf, drift: 1, seed: 1 },
  { name: 'bmf', train: bmf, drift: 2, seed: 2 },
])('$name, where tastes turn by $drift right angles (seed $seed)', ({ train, drift, seed }) => {
  it('is better with the half-life that the newest tenth chooses, on the next 10,000 ratings', async () => {
    const shape = { users: 800, items: 250, ratings: 90_000, noise: 0.5, meanGapMs: 1000 }
    const all = [...generateRatings({ ...shape, drift, seed })]
    const first = ratingsTable(all.slice(0, 20_000))
    const history = ratingsTable(all.slice(0, 80_000))
    const next = ratingsTable(all.slice(80_000))
    const halfLifeMs = await chooseHalfLife(history, { train })
    const chosen = evaluateAls(await train(history, halfLifeMs), next).rmse
    const alike = evaluateAls(await train(history, undefined), next).rmse
    const live = learnedLive(await train(first, undefined), first, all.slice(20_000, 80_000), next)
    expect(chosen).toBeLessThan(alike - 0.02)
    expect(chosen).toBeLessThanOrEqual(live)
  })
})

it('no half-life is chosen where nothing drifts', async () => {
  const ratings = generateRatings({ users: 400, items: 150, ratings: 30_000, noise: 0.5, seed: 5 })
  expect(await chooseHalfLife(ratingsTable(ratings), { train: als })).toBeUndefined()
})
