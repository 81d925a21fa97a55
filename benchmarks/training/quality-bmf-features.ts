import { readFileSync } from 'node:fs'
import { crossValidate } from '../../src/training/als/cross-validate.ts'
import { evaluateAls } from '../../src/training/als/evaluate.ts'
import type { AlsModel } from '../../src/training/als/solver/model.ts'
import type { BmfOptions } from '../../src/training/bmf/options.ts'
import { trainBmf } from '../../src/training/bmf/train.ts'
import { type FeatureTable, featureTable } from '../../src/training/data/feature-table.ts'
import {
  type RatingsTable,
  ratingsOf,
  ratingsTable,
} from '../../src/training/data/ratings-table.ts'
import { readRatings } from '../../src/training/data/read-ratings.ts'
import { type RatingsSplit, splitByTime } from '../../src/training/data/split-ratings.ts'
import type { Benchmark, Figure } from '../harness/benchmark.ts'
import { sharedData } from '../harness/shared-data.ts'
import { rounded } from '../load/statistics.ts'

const FOLDS = 5

/** Genres of `u.item`, in the order of its last columns. */
const GENRES =
  'unknown Action Adventure Animation Children Comedy Crime Documentary Drama Fantasy Film-Noir Horror Musical Mystery Romance Sci-Fi Thriller War Western'.split(
    ' ',
  )

/** A chain that is measured on five random folds and by time, with the error that it may have on the folds. */
interface MeasuredChain {
  readonly name: string
  readonly options: BmfOptions
  readonly target?: number
}

/**
 * `quality-bmf-features`: test errors of Bayesian factorisation on MovieLens 100K with features of the rows: who rated what,
 * and genres and years of the items. Both splits, because who rated what is known in a random split and not in life.
 */
export const qualityBmfFeaturesBenchmark: Benchmark = {
  name: 'quality-bmf-features',
  summary: 'Bayesian factorisation with features on MovieLens 100K: five random folds, and by time',
  async run({ say }) {
    const items = sharedData('ml-100k/u.item', say)
    const parts = [sharedData('ml-100k/u1.base', say), sharedData('ml-100k/u1.test', say)]
    if (items === undefined || parts.some((part) => part === undefined)) return []
    // In the order of `quality-ml100k`, so that the folds are the same.
    const tables = await Promise.all(parts.map((part) => readRatings(part!)))
    const whole = ratingsTable(tables.flatMap(({ table }) => [...ratingsOf(table)]))
    const byTime = splitByTime(whole, 0.2)
    const itemFeatures = genresOf(items)
    const chains: readonly MeasuredChain[] = [
      { name: 'plain', options: {} },
      { name: 'who-rated', options: { whoRated: true }, target: 0.885 },
      { name: 'genres', options: { itemFeatures } },
      { name: 'both', options: { whoRated: true, itemFeatures }, target: 0.883 },
    ]
    const figures: Figure[] = []
    for (const chain of chains)
      figures.push(...(await figuresOf(chain, { whole, byTime }, figures)))
    for (const { name, value, unit } of figures) say(`${name}: ${value.toFixed(4)} ${unit}`)
    return figures
  },
}

/** The figures of a chain, beside those of the first one. */
async function figuresOf(
  { name, options, target }: MeasuredChain,
  data: {
    readonly whole: RatingsTable
    readonly byTime: RatingsSplit
  },
  before: readonly Figure[],
): Promise<Figure[]> {
  const train = async (table: RatingsTable): Promise<AlsModel> =>
    (await trainBmf(table, { threads: 2, ...options })).model
  const startMs = performance.now()
  const { rmse, folds } = await crossValidate(data.whole, { folds: FOLDS, train })
  const seconds = rounded((performance.now() - startMs) / 1000)
  const byTime = evaluateAls(await train(data.byTime.train), data.byTime.test).rmse ** 2
  const plain = before[0]
  return [
    {
      ...{ name: `quality-bmf-folds-${name}`, value: rmse, unit: 'RMSE', higher: false },
      ...(target === undefined ? {} : { target }),
      ...(plain === undefined ? {} : { rival: plain.value, rivalName: 'without features' }),
      details: { folds: folds.map((fold) => fold.rmse.toFixed(4)).join(' '), seconds },
    },
    {
      ...{ name: `quality-bmf-time-${name}`, value: byTime, unit: 'MSE', higher: false },
      ...(before[1] === undefined ? {} : { rival: before[1].value, rivalName: 'without features' }),
    },
  ]
}

/** Genres and years of a `u.item`, which is in Latin-1 and has a column for each genre. */
function genresOf(file: URL): FeatureTable {
  const lines = ['item,genres,year']
  for (const line of readFileSync(file, 'latin1').split('\n')) {
    if (line === '') continue
    const fields = line.split('|')
    const genres = GENRES.filter((_, k) => fields[5 + k] === '1')
    lines.push(`${fields[0]},${genres.join('|')},${fields[2]!.slice(-4)}`)
  }
  return featureTable(lines)
}
