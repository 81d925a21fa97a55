import type { AlsOptions } from '../src/training/als-options.ts'
import { crossValidateAls } from '../src/training/cross-validate-als.ts'
import { evaluateAls } from '../src/training/evaluate-als.ts'
import { evaluateRanking } from '../src/training/evaluate-ranking.ts'
import { type RatingsTable, ratingsOf, ratingsTable } from '../src/training/ratings-table.ts'
import { readRatings } from '../src/training/read-ratings.ts'
import { splitAtRandom } from '../src/training/split-ratings.ts'
import { trainAls } from '../src/training/train-als.ts'
import { type Benchmark, rounded } from './benchmark.ts'
import { sharedData } from './shared-data.ts'

/** What `weir train als` and `trainAls` do when nothing is said. */
const DEFAULTS: AlsOptions = { threads: 2 }
const FOLDS = 5

const RANKING_TEST_SHARE = 0.2

/** `quality-ml100k`: test RMSE of ALS with its defaults on MovieLens 100K, cold pairs included. */
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
    const validation = await crossValidateAls(whole, FOLDS, DEFAULTS)
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
        details: { folds },
      },
      { name: 'quality-ml100k-ndcg', value: ndcg, unit: 'NDCG at 10, implicit feedback' },
    ]
  },
}

/** Ranking by ALS on implicit feedback, a fifth of the ratings held out at random. */
async function rankingOf(whole: RatingsTable): Promise<number> {
  const { train, test } = splitAtRandom(whole, RANKING_TEST_SHARE)
  const model = await trainAls(train, { ...DEFAULTS, feedback: 'implicit' })
  return evaluateRanking(model, train, test).ndcg.mean
}

/** Trains with the defaults and tests; every pair counts, cold ones by mean rows. */
async function errorOf(
  train: RatingsTable,
  test: RatingsTable,
): Promise<{ rmse: number; cold: number; seconds: number }> {
  const model = await trainAls(train, DEFAULTS)
  const { rmse, count, coverage } = evaluateAls(model, test)
  return { rmse, cold: count - coverage.known, seconds: model.history.at(-1)?.seconds ?? 0 }
}
