import { checkArgument, checkOptions } from '../../core/options/shape.ts'
import { biasedRow } from '../../models/als/row.ts'
import { AlsModel } from '../../training/als/solver/model.ts'
import { RATINGS_TABLE } from '../../training/data/kinds.ts'
import { countsOf, type RatingsTable, ratingStatistics } from '../../training/data/ratings-table.ts'
import { DEFAULT_DAMPING, POPULARITY_OPTIONS, type PopularityOptions } from './options.ts'

const NO_FACTORS: readonly number[] = []

/**
 * Trains the baseline of every recommender: an item is predicted as its mean rating, for every user. The mean is damped:
 * it begins with `damping` ratings of the mean of all, so that an item of few ratings stays near that (M. Ekstrand, J.
 * Riedl, J. Konstan, "Collaborative filtering recommender systems", 2011, section 2.1).
 *
 *   mean of an item = (sum of its ratings + damping * mean of all) / (number of its ratings + damping)
 *
 * The rows are those of an ALS model that has biases and no factors, those of users are all the same. Throws
 * EMPTY_DATASET and INVALID_ARGUMENT.
 */
export function trainPopularity(table: RatingsTable, options: PopularityOptions = {}): AlsModel {
  checkArgument('trainPopularity', 'table', RATINGS_TABLE, table)
  checkOptions('trainPopularity', POPULARITY_OPTIONS, options)
  const { mean, min, max } = ratingStatistics(table)
  const itemRatings = countsOf(table.item, table.items.length)
  const biases = itemBiases(table, itemRatings, { mean, ...options })
  return new AlsModel({
    users: table.users,
    items: table.items,
    userRows: rowsOf(table.users.length, () => biasedRow('U', NO_FACTORS, 0, mean)),
    itemRows: rowsOf(table.items.length, (item) =>
      biasedRow('I', NO_FACTORS, biases[item] as number, mean),
    ),
    userRatings: countsOf(table.user, table.users.length),
    itemRatings,
    factors: 0,
    biased: true,
    globalMean: mean,
    range: { min, max },
    history: [],
  })
}

/** By item, its damped mean minus the mean of all. */
function itemBiases(
  { item, rating, size }: RatingsTable,
  counts: Uint32Array,
  { mean, damping = DEFAULT_DAMPING }: PopularityOptions & { readonly mean: number },
): Float64Array {
  const sums = new Float64Array(counts.length)
  for (let n = 0; n < size; n++) sums[item[n] as number]! += (rating[n] as number) - mean
  return sums.map((sum, number) => dampedBias(sum, counts[number] as number, damping))
}

/** By how much the damped mean of an item is above the mean of all. `above`: the sum of its ratings, each less that mean. */
export function dampedBias(above: number, count: number, damping: number): number {
  return above / (count + damping)
}

function rowsOf(count: number, rowOf: (index: number) => Float32Array): Float32Array {
  const rows = new Float32Array(count * 2)
  for (let index = 0; index < count; index++) rows.set(rowOf(index), index * 2)
  return rows
}
