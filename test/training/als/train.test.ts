import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { predictRating } from '../../../src/models/als/row.ts'
import { generateRatings } from '../../../src/models/ratings/generator.ts'
import { crossValidateAls } from '../../../src/training/als/cross-validate.ts'
import { evaluateAls } from '../../../src/training/als/evaluate.ts'
import type { AlsModel } from '../../../src/training/als/solver/model.ts'
import type { AlsOptions, AlsProgress } from '../../../src/training/als/solver/options.ts'
import { trainAls } from '../../../src/training/als/train.ts'
import { ratingsTable } from '../../../src/training/data/ratings-table.ts'
import { readRatings } from '../../../src/training/data/read-ratings.ts'
import { splitAtRandom } from '../../../src/training/data/split-ratings.ts'
import { needs } from '../../run/needs.ts'

const generated = ratingsTable(
  generateRatings({ users: 300, items: 150, ratings: 12_000, noise: 0.4, seed: 3 }),
)
const { train, test } = splitAtRandom(generated, 0.2)

/** Trains in this thread: starting workers would take longer than these tests. */
const trainHere = (options: AlsOptions = {}, table = train): Promise<AlsModel> =>
  trainAls(table, { threads: 0, factors: 8, iterations: 5, biases: false, ...options })

function checksum(model: AlsModel): string {
  const hash = createHash('sha256')
  for (const [index] of model.users.entries()) hash.update(model.row('U', index))
  for (const [index] of model.items.entries()) hash.update(model.row('I', index))
  return hash.digest('hex')
}

const VARIANTS: AlsOptions[] = [
  { solver: 'cholesky' },
  { solver: 'cg' },
  { solver: 'cholesky', biases: true },
  { solver: 'cg', biases: true },
  { solver: 'cg', biases: true, penalty: 'n', regularization: 0.1 },
  { solver: 'cholesky', penalty: 'constant', regularization: 4 },
]

describe.each(VARIANTS)('training with %o', (options) => {
  it('lowers the objective at every half iteration', async () => {
    const { history } = await trainHere(options)
    expect(history.map(({ side }) => side).slice(0, 3)).toEqual(['users', 'items', 'users'])
    expect(history).toHaveLength(10)
    for (let i = 1; i < history.length; i++) {
      const [before, after] = [history[i - 1]?.objective ?? 0, history[i]?.objective ?? 0]
      expect(after).toBeLessThan(before)
    }
  })

  it('reports the objective that its rows have', async () => {
    const model = await trainHere(options)
    const { penalty, lambda, biasLambda } = {
      penalty: options.penalty ?? (options.biases ? 'sqrt-n' : 'n'),
      lambda: options.regularization ?? (options.biases ? 1.3 : 0.12),
      biasLambda: (options.regularization ?? 1.3) / 2,
    }
    const counts = { U: new Map<number, number>(), I: new Map<number, number>() }
    let squares = 0
    for (let k = 0; k < train.size; k++) {
      const [user, item] = [train.user[k] as number, train.item[k] as number]
      counts.U.set(user, (counts.U.get(user) ?? 0) + 1)
      counts.I.set(item, (counts.I.get(item) ?? 0) + 1)
      const score = predictRating(model.row('U', user), model.row('I', item))
      squares += ((train.rating[k] as number) - score) ** 2
    }
    let objective = squares
    for (const kind of ['U', 'I'] as const) {
      for (const [index, n] of counts[kind]) {
        const scale = penalty === 'n' ? n : penalty === 'sqrt-n' ? Math.sqrt(n) : 1
        const row = model.row(kind, index)
        const factors = row.subarray(0, model.factors)
        objective += scale * lambda * predictRating(factors, factors)
        if (!model.biased) continue
        const bias = kind === 'U' ? (row[8] as number) - model.globalMean : (row[9] as number)
        objective += scale * biasLambda * bias * bias
      }
    }
    const reported = model.history.at(-1)?.objective as number
    expect(Math.abs(reported / objective - 1)).toBeLessThan(1e-4)
    expect(model.history.at(-1)?.trainRmse).toBeCloseTo(Math.sqrt(squares / train.size), 4)
  })
})

describe('the result', () => {
  it('depends only on the seed', async () => {
    const first = checksum(await trainHere())
    expect(checksum(await trainHere())).toBe(first)
    expect(checksum(await trainHere({ seed: 2 }))).not.toBe(first)
  })

  it('of conjugate gradient approaches the exact one', async () => {
    const exact = await trainHere({ solver: 'cholesky', biases: true, iterations: 10 })
    const steps = await trainHere({ solver: 'cg', biases: true, iterations: 10 })
    const [a, b] = [exact.history.at(-1)?.objective ?? 0, steps.history.at(-1)?.objective ?? 1]
    expect(Math.abs(a / b - 1)).toBeLessThan(0.005)
  })

  it('finds most of the planted structure, more of it with biases', async () => {
    const plain = evaluateAls(await trainHere({ iterations: 10 }), test)
    const biased = evaluateAls(await trainHere({ iterations: 10, biases: true }), test)
    expect(plain.rmse).toBeLessThan(0.85)
    expect(biased.rmse).toBeLessThan(plain.rmse)
    expect(biased.count).toBe(test.size)
  })

  it('serves rows with the biases, and mean rows for unknown ids', async () => {
    const model = await trainHere({ biases: true })
    expect(model.dimension).toBe(10)
    expect(model.row('U', 0)[9]).toBe(1)
    expect(model.row('I', 0)[8]).toBe(1)
    const user = model.users[0] as string
    expect(model.predict(user, 'nobody').coverage).toBe('coldItem')
    expect(model.predict('nobody', 'nothing').coverage).toBe('coldBoth')
    expect(model.predict('nobody', 'nothing').score).toBeCloseTo(
      predictRating(model.meanUser, model.meanItem),
      6,
    )
    expect(model.rowOf('U', 'nobody')).toBeUndefined()
    expect(() => model.row('U', model.users.length)).toThrow(/there is no row/)
  })
})

describe('progress', () => {
  it('is reported after every half iteration, with the validation error after items', async () => {
    const seen: AlsProgress[] = []
    const onProgress = (progress: AlsProgress): number => seen.push(progress)
    const model = await trainHere({ iterations: 2, validation: test, onProgress })
    expect(seen).toEqual(model.history)
    expect(seen.map(({ validationRmse }) => validationRmse !== undefined)).toEqual([
      ...[false, true],
      ...[false, true],
    ])
    expect(seen.at(-1)?.validationRmse).toBe(evaluateAls(model, test).rmse)
  })

  it('stops training when the validation error stops falling, and the best rows are kept', async () => {
    const model = await trainHere({
      ...{ iterations: 50, patience: 3, validation: test },
      ...{ factors: 20, penalty: 'constant', regularization: 0.5 },
    })
    const errors = model.history.flatMap(({ validationRmse }) => validationRmse ?? [])
    expect(model.history.length).toBeLessThan(100)
    expect(evaluateAls(model, test).rmse).toBe(Math.min(...errors))
  })

  it('stops at an aborted signal with its reason', async () => {
    const controller = new AbortController()
    const onProgress = (): void => controller.abort(new Error('enough'))
    const training = trainHere({ signal: controller.signal, onProgress })
    await expect(training).rejects.toThrow('enough')
  })
})

describe('starting rows', () => {
  it('let training continue from a model', async () => {
    const whole = await trainHere({ solver: 'cholesky', biases: true, iterations: 6 })
    const half = await trainHere({ solver: 'cholesky', biases: true, iterations: 3 })
    const rest = await trainHere({
      ...{ solver: 'cholesky', biases: true, iterations: 3, seed: 9 },
      startingRows: (kind, id) => half.rowOf(kind, id),
    })
    const [reached, expected] = [rest.history.at(-1)?.objective, whole.history.at(-1)?.objective]
    expect(Math.abs((reached ?? 0) / (expected ?? 1) - 1)).toBeLessThan(1e-5)
  })

  it('of fewer factors fill the first ones: training goes on where they end', async () => {
    const options = { solver: 'cholesky', biases: true } as const
    const four = await trainHere({ ...options, factors: 4, iterations: 8 })
    const longer = { ...options, factors: 6, iterations: 1 }
    const warm = await trainHere({ ...longer, startingRows: (kind, id) => four.rowOf(kind, id) })
    const cold = await trainHere(longer)
    const [warmed, started] = [warm, cold].map(({ history }) => history[0]?.objective ?? 0)
    expect(warmed).toBeLessThan(0.97 * started!)
    expect(warm.row('U', 0)).toHaveLength(8)
  })

  it('may miss ids, but not be longer', async () => {
    const first = await trainHere({ biases: true, iterations: 2 })
    const startingRows: AlsOptions['startingRows'] = (kind, id) =>
      id.endsWith('7') ? undefined : first.rowOf(kind, id)
    const second = await trainHere({ biases: true, iterations: 1, startingRows })
    expect(second.history[0]?.objective).toBeLessThan(first.history[1]?.objective ?? 0)
    await expect(trainHere({ startingRows })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  })
})

describe('cross-validation', () => {
  it('tests each fold on a model of the other folds, with a higher error than in training', async () => {
    const options = { threads: 0, factors: 4, iterations: 3 }
    const { folds, rmse } = await crossValidateAls(generated, 3, options)
    expect(folds.reduce((sum, { count }) => sum + count, 0)).toBe(generated.size)
    expect(rmse).toBeCloseTo(folds.reduce((sum, fold) => sum + fold.rmse, 0) / 3, 12)
    const trained = evaluateAls(await trainAls(generated, options), generated)
    expect(rmse).toBeGreaterThan(trained.rmse)
    expect(rmse).toBeLessThan(0.9)
  })
})

describe('wrong usage', () => {
  it.each([
    { factors: 0 },
    { iterations: 1.5 },
    { regularization: 0 },
    { regularization: Number.NaN },
    { cgSteps: 0 },
    { threads: -1 },
    { patience: 0 },
  ])('refuses %o', async (options) => {
    await expect(trainHere(options)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  })

  it('refuses to train on nothing', async () => {
    await expect(trainHere({}, ratingsTable([]))).rejects.toMatchObject({ code: 'EMPTY_DATASET' })
  })

  it('reports diverged training instead of returning rows that are not finite', async () => {
    const huge = [{ user: '1', item: '1', rating: 3e38, timestamp: -1 }]
    const training = trainHere({}, ratingsTable(huge))
    await expect(training).rejects.toMatchObject({ code: 'TRAINING_DIVERGED' })
  })
})

const movielens = new URL('../../../../shared/data/ml-100k/', import.meta.url)

describe(
  'MovieLens 100K, fold u1, all 20,000 test ratings',
  needs(existsSync(movielens), 'MovieLens 100K is not beside the repository'),
  () => {
    it.each([
      [{}, 0.921],
      [{ biases: false }, 0.93],
    ])('with %o and the defaults reaches RMSE %d', async (options, goal) => {
      const base = await readRatings(new URL('u1.base', movielens))
      const held = await readRatings(new URL('u1.test', movielens))
      const model = await trainAls(base.table, { ...options, threads: 0 })
      const summary = evaluateAls(model, held.table)
      expect(summary.rmse).toBeLessThan(goal)
      expect(summary.coverage).toEqual({ known: 19_968, coldUser: 0, coldItem: 32, coldBoth: 0 })
    })
  },
)
