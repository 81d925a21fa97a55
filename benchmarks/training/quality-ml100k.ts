import { crossValidate, crossValidateAls } from '../../src/training/als/cross-validate.ts'
import { evaluateAls } from '../../src/training/als/evaluate.ts'
import { evaluateRanking } from '../../src/training/als/evaluate-ranking.ts'
import type { AlsModel } from '../../src/training/als/solver/model.ts'
import type { AlsOptions } from '../../src/training/als/solver/options.ts'
import { trainAls } from '../../src/training/als/train.ts'
import { trainBmf } from '../../src/training/bmf/train.ts'
import {
  type RatingsTable,
  ratingsOf,
  ratingsTable,
} from '../../src/training/data/ratings-table.ts'
import { readRatings } from '../../src/training/data/read-ratings.ts'
import { splitAtRandom } from '../../src/training/data/split-ratings.ts'
import type { Benchmark, Figure } from '../harness/benchmark.ts'
import { sharedData } from '../harness/shared-data.ts'
import { rounded } from '../load/statistics.ts'

/** The defaults of `weir train als` and `trainAls`. */
const DEFAULTS: AlsOptions = { threads: 2 }
const FOLDS = 5

const RANKING_TEST_SHARE = 0.2

/**
 * `quality-ml100k`: test RMSE on MovieLens 100K, cold pairs included: ALS and Bayesian factorisation with
 * their defaults.
 */
export const qualityMl100kBenchmark: Benchmark = {
  name: 'quality-ml100k',
  summary: 'test RMSE on MovieLens 100K: fold u1, and five folds of the whole set',
  async run({ say }) {
    const base = sharedData('ml-100k/u1.base', say)
    const test = sharedData('ml-100k/u1.test', say)
    if (base === undefined || test === undefined) return []
    const { table: train } = await readRatings(base)
    const { table: held } = await readRatings(test)
    const u1 = await errorOf(train, held)
    say(`u1: RMSE ${u1.rmse.toFixed(4)} in ${u1.seconds.toFixed(2)} s`)
    const whole = ratingsTable([...ratingsOf(train), ...ratingsOf(held)])
    const startMs = performance.now()
    const validation = await crossValidateAls(whole, FOLDS, DEFAULTS)
    const alsSeconds = rounded((performance.now() - startMs) / 1000)
    const folds = validation.folds.map(({ rmse }) => rmse.toFixed(4)).join(' ')
    const ndcg = await rankingOf(whole)
    say(`five folds: ${folds}`)
    return [
      {
        name: 'quality-ml100k-u1',
        value: u1.rmse,
        unit: 'RMSE',
        target: 0.921,
        higher: false,
        details: { coldPairs: u1.cold, pairs: held.size, trainSeconds: rounded(u1.seconds) },
      },
      {
        name: 'quality-ml100k-folds',
        value: validation.rmse,
        unit: 'RMSE',
        target: 0.91,
        higher: false,
        details: { folds, seconds: alsSeconds },
      },
      ...(await bayesianFolds(whole, { rmse: validation.rmse, seconds: alsSeconds }, say)),
      { name: 'quality-ml100k-ndcg', value: ndcg, unit: 'NDCG at 10, implicit feedback' },
    ]
  },
}

/** Training of Bayesian factorisation on the folds, and the error that it may have. */
interface BayesianRun {
  readonly name: string
  readonly sweeps?: number
  readonly target: number
}

/** With its defaults, and with so few sweeps that it takes no longer than ALS with its defaults. */
const BAYESIAN_RUNS: readonly BayesianRun[] = [
  { name: 'quality-ml100k-bmf-folds', target: 0.898 },
  { name: 'quality-ml100k-bmf-in-the-time-of-als', sweeps: 12, target: 0.902 },
]

/** Errors of Bayesian factorisation on the same folds. */
async function bayesianFolds(
  whole: RatingsTable,
  als: { readonly rmse: number; readonly seconds: number },
  say: (line: string) => void,
): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const { name, sweeps, target } of BAYESIAN_RUNS) {
    const startMs = performance.now()
    const options = { threads: 2, ...(sweeps === undefined ? {} : { sweeps }) }
    const train = async (table: RatingsTable): Promise<AlsModel> =>
      (await trainBmf(table, options)).model
    const { rmse, folds } = await crossValidate(whole, { folds: FOLDS, train })
    const seconds = rounded((performance.now() - startMs) / 1000)
    say(`five folds, ${name}: ${rmse.toFixed(4)} in ${seconds} s; ALS took ${als.seconds} s`)
    const errors = folds.map((fold) => fold.rmse.toFixed(4)).join(' ')
    figures.push({
      name,
      value: rmse,
      unit: 'RMSE',
      target,
      higher: false,
      rival: als.rmse,
      rivalName: 'ALS, defaults',
      details: { folds: errors, seconds, alsSeconds: als.seconds },
    })
  }
  return figures
}

/** NDCG of ALS on implicit feedback, with a random fifth of the ratings held out. */
async function rankingOf(whole: RatingsTable): Promise<number> {
  const { train, test } = splitAtRandom(whole, RANKING_TEST_SHARE)
  const model = await trainAls(train, { ...DEFAULTS, feedback: 'implicit' })
  return evaluateRanking(model, train, test).ndcg.mean
}

/** Trains with the defaults and tests. Every pair counts; missing rows are predicted with mean rows. */
async function errorOf(
  train: RatingsTable,
  test: RatingsTable,
): Promise<{ rmse: number; cold: number; seconds: number }> {
  const model = await trainAls(train, DEFAULTS)
  const { rmse, count, coverage } = evaluateAls(model, test)
  return { rmse, cold: count - coverage.known, seconds: model.history.at(-1)?.seconds ?? 0 }
}
