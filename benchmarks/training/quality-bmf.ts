import { predictRating } from '../../src/models/als/row.ts'
import { evaluateAls } from '../../src/training/als/evaluate.ts'
import type { BmfOptions } from '../../src/training/bmf/options.ts'
import { type BmfResult, trainBmf } from '../../src/training/bmf/train.ts'
import { type RatingsTable, ratingsOf } from '../../src/training/data/ratings-table.ts'
import { readRatings } from '../../src/training/data/read-ratings.ts'
import { intervalOf } from '../../src/wire/rating-interval.ts'
import type { Benchmark, Figure } from '../harness/benchmark.ts'
import { sharedData } from '../harness/shared-data.ts'
import { movieLensByTime } from '../learning/movielens-by-time.ts'
import { rounded } from '../load/statistics.ts'
import { myFmError } from '../rivals/myfm.ts'

/** Sweeps of the long chain, which must not be worse than the default one by more than `MARGIN`. */
const LONG = 1000
const MARGIN = 0.001
/** The rival averages predictions, which do not turn: it gets sweeps until more hardly help. */
const RIVAL = { factors: 10, sweeps: 300, burnIn: 50 }

/** Ratings to train and to test on. */
interface Split {
  readonly train: RatingsTable
  readonly test: RatingsTable
}

/**
 * `quality-bmf`: test errors of Bayesian factorisation on MovieLens 100K: on the published fold u1 with its defaults
 * and after many sweeps, and by time.
 */
export const qualityBmfBenchmark: Benchmark = {
  name: 'quality-bmf',
  summary:
    'Bayesian factorisation on MovieLens 100K: fold u1, a chain of 1,000 sweeps, and by time',
  async run({ say, scratch }) {
    const base = sharedData('ml-100k/u1.base', say)
    const held = sharedData('ml-100k/u1.test', say)
    const byTime = await movieLensByTime(say)
    if (base === undefined || held === undefined || byTime === undefined) return []
    const u1 = {
      train: (await readRatings(base)).table,
      test: (await readRatings(held)).table,
    }
    const short = Math.sqrt(await errorOf(u1, {}))
    say(`u1: RMSE ${short.toFixed(4)}`)
    const long = Math.sqrt(await errorOf(u1, { sweeps: LONG }))
    say(`u1, ${LONG} sweeps: RMSE ${long.toFixed(4)}`)
    const rival = await myFmError({ ...u1, folder: scratch }, RIVAL, say)
    return [
      {
        ...{ name: 'quality-bmf-u1', value: short, unit: 'RMSE', target: 0.905, higher: false },
        ...(rival === undefined ? {} : beside(Math.sqrt(rival.mse), rival.version)),
      },
      {
        ...{ name: 'quality-bmf-long', value: long, unit: 'RMSE', higher: false },
        ...{ target: rounded(short + MARGIN), rival: short, rivalName: 'the default sweeps' },
        details: { sweeps: LONG },
      },
      await coverageFigure(u1, say),
      await timeFigure({ train: byTime.seen, test: byTime.held }, scratch, say),
    ]
  },
}

/**
 * How far the share of ratings that their 95 % intervals cover is from 0.95 at worst: in the fifth of the pairs with the
 * lowest and that with the highest variance, after few, more and many sweeps.
 */
async function coverageFigure(
  { train, test }: Split,
  say: (line: string) => void,
): Promise<Figure> {
  const shares: number[] = []
  for (const sweeps of [30, 80, LONG]) {
    const trained = await trainBmf(train, { threads: 2, sweeps, variance: true })
    const covered = coveredByVariance(trained, test)
    const fifth = Math.floor(covered.length / 5)
    for (const part of [covered.slice(0, fifth), covered.slice(-fifth)]) {
      shares.push(part.filter((isCovered) => isCovered).length / part.length)
    }
  }
  const shown = shares.map((share) => share.toFixed(3)).join(' ')
  say(`u1, coverage of 95 % intervals, lowest and highest fifth, 30, 80, ${LONG} sweeps: ${shown}`)
  const value = Math.max(...shares.map((share) => Math.abs(share - 0.95)))
  return {
    ...{ name: 'quality-bmf-coverage', value, unit: 'from 0.95', target: 0.01, higher: false },
    details: { shares: shown },
  }
}

/** Whether the interval of each known pair has its rating, the pair with the lowest variance first. */
function coveredByVariance({ model, variances }: BmfResult, test: RatingsTable): boolean[] {
  const pairs: { readonly variance: number; readonly isCovered: boolean }[] = []
  for (const { user, item, rating } of ratingsOf(test)) {
    const [p, q] = [model.rowOf('U', user), model.rowOf('I', item)]
    const [own, other] = [variances?.rowOf('U', user), variances?.rowOf('I', item)]
    if (!(p && q && own && other)) continue
    const { low, high } = intervalOf(predictRating(p, q), predictRating(own, other), 0.95)
    pairs.push({
      variance: predictRating(own, other),
      isCovered: low <= rating && rating <= high,
    })
  }
  return pairs.sort((a, b) => a.variance - b.variance).map(({ isCovered }) => isCovered)
}

/** By time: the oldest four fifths are trained on, the newest fifth is tested. */
async function timeFigure(
  split: Split,
  folder: string,
  say: (line: string) => void,
): Promise<Figure> {
  const errors = [await errorOf(split, { seed: 1 }), await errorOf(split, { seed: 2 })]
  const value = errors.reduce((sum, error) => sum + error / errors.length, 0)
  say(`by time: MSE ${value.toFixed(4)}`)
  const rival = await myFmError({ ...split, folder }, RIVAL, say)
  return {
    ...{ name: 'quality-bmf-by-time', value, unit: 'MSE', target: 1.033, higher: false },
    ...(rival === undefined ? {} : beside(rival.mse, rival.version)),
    details: { seeds: errors.map((error) => error.toFixed(4)).join(' ') },
  }
}

/** The rival's part of a figure. */
function beside(rival: number, version: string): Pick<Figure, 'rival' | 'rivalName'> {
  return { rival, rivalName: `myFM ${version}, ${RIVAL.factors} factors, ${RIVAL.sweeps} sweeps` }
}

/** Mean squared error of the test ratings; every pair counts. */
async function errorOf({ train, test }: Split, options: BmfOptions): Promise<number> {
  const { model } = await trainBmf(train, { threads: 2, ...options })
  return evaluateAls(model, test).rmse ** 2
}
