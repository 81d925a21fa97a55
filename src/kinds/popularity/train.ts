import { checkArgument, checkOptions } from '../../core/options/shape.ts'
import { biasedRow } from '../../models/als/row.ts'
import { AlsModel } from '../../training/als/solver/model.ts'
import { ageWeights } from '../../training/data/age-weights.ts'
import { RATINGS_TABLE } from '../../training/data/kinds.ts'
import { type RatingsTable, ratingStatistics } from '../../training/data/ratings-table.ts'
import { DEFAULT_DAMPING, POPULARITY_OPTIONS, type PopularityOptions } from './options.ts'

const NO_FACTORS: readonly number[] = []

/**
 * Trains the baseline of every recommender: an item is predicted as its mean rating, for every user. The mean is damped:
 * it begins with `damping` ratings of the mean of all, so that an item of few ratings stays near that (M. Ekstrand, J.
 * Riedl, J. Konstan, "Collaborative filtering recommender systems", 2011, section 2.1).
 *
 *   mean of an item = (sum of its ratings + damping * mean of all) / (number of its ratings + damping)
 *
 * With a half-life, sums and numbers are those of the ratings times their weights by age.
 * The rows are those of an ALS model that has biases and no factors, those of users are all the same. Throws
 * EMPTY_DATASET and INVALID_ARGUMENT.
 */
export function trainPopularity(table: RatingsTable, options: PopularityOptions = {}): AlsModel {
  checkArgument('trainPopularity', 'table', RATINGS_TABLE, table)
  checkOptions('trainPopularity', POPULARITY_OPTIONS, options)
  const { halfLifeMs } = options
  const weights = halfLifeMs === undefined ? undefined : ageWeights(table.timestamp, halfLifeMs)
  const { mean, min, max } = ratingStatistics(table, weights)
  const counts = weightsOf(table.item, table.items.length, weights)
  const biases = itemBiases(table, { counts, weights, mean, ...options })
  return new AlsModel({
    users: table.users,
    items: table.items,
    userRows: rowsOf(table.users.length, () => biasedRow('U', NO_FACTORS, 0, mean)),
    itemRows: rowsOf(table.items.length, (item) =>
      biasedRow('I', NO_FACTORS, biases[item] as number, mean),
    ),
    userRatings: wholeCounts(weightsOf(table.user, table.users.length, weights)),
    itemRatings: wholeCounts(counts),
    factors: 0,
    biased: true,
    globalMean: mean,
    range: { min, max },
    history: [],
  })
}

interface WeighedItems extends PopularityOptions {
  /** By item, the sum of the weights of its ratings. */
  readonly counts: Float64Array
  readonly weights: Float32Array | undefined
  readonly mean: number
}

/** The sum of the weights of the ratings of each user or item; without weights their number. */
function weightsOf(
  column: Uint32Array,
  length: number,
  weights: Float32Array | undefined,
): Float64Array {
  const sums = new Float64Array(length)
  for (const [n, number] of column.entries()) sums[number]! += weights?.[n] ?? 1
  return sums
}

function wholeCounts(counts: Float64Array): Uint32Array {
  return Uint32Array.from(counts, Math.round)
}

/** By item, its damped mean minus the mean of all. */
function itemBiases(
  { item, rating, size }: RatingsTable,
  { counts, weights, mean, damping = DEFAULT_DAMPING }: WeighedItems,
): Float64Array {
  const sums = new Float64Array(counts.length)
  for (let n = 0; n < size; n++) sums[item[n]!]! += (weights?.[n] ?? 1) * (rating[n]! - mean)
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
