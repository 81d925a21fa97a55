import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { evaluateRanking } from '../../../src/training/als/evaluate-ranking.ts'
import type { AlsModel } from '../../../src/training/als/solver/model.ts'
import type { AlsOptions } from '../../../src/training/als/solver/options.ts'
import { trainAls } from '../../../src/training/als/train.ts'
import {
  type RatingsTable,
  ratingsOf,
  ratingsTable,
} from '../../../src/training/data/ratings-table.ts'
import { splitAtRandom } from '../../../src/training/data/split-ratings.ts'
import { plainDot, plainSolveRow } from '../../core/kernels/plain-kernels.ts'

const USERS = 40
const ITEMS = 30
const GROUPS = 3

/** Users of a group use items of their group, mostly; counts from 1 to 4, some rejections. */
function usage(seed: number, users = USERS, items = ITEMS, density = 0.5): RatingsTable {
  const random = seededRandom(seed)
  const ratings = []
  for (let user = 0; user < users; user++) {
    for (let item = 0; item < items; item++) {
      const own = user % GROUPS === item % GROUPS
      if (random.next() > (own ? density : density / 10)) continue
      const rating = (1 + random.below(4)) * (random.below(20) === 0 ? -1 : 1)
      ratings.push({ user: `u${user}`, item: `i${item}`, rating, timestamp: -1 })
    }
  }
  return ratingsTable(ratings)
}

const train = usage(5)
const OPTIONS = { feedback: 'implicit', threads: 0, factors: 5, alpha: 6, iterations: 4 } as const
const trainHere = (options: AlsOptions = {}, table = train): Promise<AlsModel> =>
  trainAls(table, { ...OPTIONS, ...options })

type Rows = number[][]

/** Solves each row of a side over ALL rows of the other side: what the Gram matrix saves. */
function denseHalf(ratings: number[][], others: Rows, lambda: number, alpha: number): Rows {
  return ratings.map((row) => {
    const confidence = row.map((rating) => 1 + alpha * Math.abs(rating))
    return plainSolveRow({
      design: others.map((other, i) => other.map((x) => x * Math.sqrt(confidence[i] as number))),
      targets: row.map((rating, i) => (rating > 0 ? Math.sqrt(confidence[i] as number) : 0)),
      penalties: new Array(OPTIONS.factors).fill(lambda),
    })
  })
}

function denseRatings(table: RatingsTable): number[][] {
  const matrix = table.users.map(() => new Array<number>(table.items.length).fill(0))
  for (let k = 0; k < table.size; k++) {
    const row = matrix[table.user[k] as number] as number[]
    row[table.item[k] as number] = table.rating[k] as number
  }
  return matrix
}

const transposed = (matrix: number[][]): number[][] =>
  (matrix[0] ?? []).map((_, j) => matrix.map((row) => row[j] as number))

function startingItems(): Map<string, Float32Array> {
  const random = seededRandom(8)
  return new Map(
    train.items.map((id) => [id, Float32Array.from({ length: 5 }, () => random.normal() / 3)]),
  )
}

it('uses of a pair that comes again are summed, wherever they are in the list', async () => {
  const all = [...ratingsOf(train)]
  const halves = all.map((use) => ({ ...use, rating: use.rating / 2 }))
  const [once, twice] = await Promise.all([
    trainHere({}, ratingsTable(all)),
    trainHere({}, ratingsTable([...halves, ...halves.toReversed()])),
  ])
  for (const user of once.users) expect(twice.rowOf('U', user)).toEqual(once.rowOf('U', user))
  for (const item of once.items) expect(twice.rowOf('I', item)).toEqual(once.rowOf('I', item))
})

describe('training on implicit feedback', () => {
  it('gives the rows and the objective of a naive solver over all pairs', async () => {
    const starts = startingItems()
    const lambda = 2
    const model = await trainHere({
      solver: 'cholesky',
      penalty: 'constant',
      regularization: lambda,
      startingRows: (kind, id) => (kind === 'I' ? starts.get(id) : undefined),
    })
    const ratings = denseRatings(train)
    let users: Rows = []
    let items: Rows = train.items.map((id) => Array.from(starts.get(id) as Float32Array))
    for (let iteration = 0; iteration < OPTIONS.iterations; iteration++) {
      users = denseHalf(ratings, items, lambda, OPTIONS.alpha)
      items = denseHalf(transposed(ratings), users, lambda, OPTIONS.alpha)
    }
    let objective = 0
    for (const row of [...users, ...items]) objective += lambda * plainDot(row, row)
    for (const [u, row] of ratings.entries()) {
      for (const [i, rating] of row.entries()) {
        const error = (rating > 0 ? 1 : 0) - plainDot(users[u] as number[], items[i] as number[])
        objective += (1 + OPTIONS.alpha * Math.abs(rating)) * error * error
      }
    }
    for (const [u, row] of users.entries()) {
      for (const [f, value] of row.entries()) expect(model.row('U', u)[f]).toBeCloseTo(value, 3)
    }
    expect(Math.abs((model.history.at(-1)?.objective ?? 0) / objective - 1)).toBeLessThan(1e-4)
  })

  it.each(['cholesky', 'cg'] as const)(
    'by %s lowers the objective at every half iteration',
    async (solver) => {
      const { history } = await trainHere({ solver, iterations: 6 })
      expect(history).toHaveLength(12)
      for (let i = 1; i < history.length; i++) {
        expect(history[i]?.objective).toBeLessThan(history[i - 1]?.objective ?? 0)
      }
    },
  )

  it('ranks the items that a user will use far above chance', async () => {
    const { train: seen, test } = splitAtRandom(usage(6, 200, 120, 0.6), 0.25)
    const model = await trainHere({}, seen)
    const { ndcg, recall, precision, users } = evaluateRanking(model, seen, test)
    expect(users).toBeGreaterThan(190)
    expect(ndcg.mean).toBeGreaterThan(0.2)
    expect(precision.mean).toBeGreaterThan(0.2)
    expect(recall.low).toBeLessThan(recall.mean)
    expect(model.predict('u0', 'i0').score).toBeLessThan(1.5)
  })

  it('reports NDCG on validation ratings and keeps the best rows', async () => {
    const { train: seen, test } = splitAtRandom(usage(6, 200, 120, 0.6), 0.25)
    const options = { iterations: 30, patience: 2, validation: test, regularization: 0.01 }
    const model = await trainHere(options, seen)
    const values = model.history.flatMap(({ validationNdcg }) => validationNdcg ?? [])
    expect(values.length).toBeLessThan(30)
    expect(evaluateRanking(model, seen, test).ndcg.mean).toBe(Math.max(...values))
  })

  it('refuses biases and a confidence that does not grow', async () => {
    await expect(trainHere({ biases: true })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    await expect(trainHere({ alpha: 0 })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  })
})
