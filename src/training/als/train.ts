import { requireArgument, WeirError } from '../../core/errors.ts'
import { checkArgument } from '../../core/options/shape.ts'
import { BIAS_COLUMNS } from '../../models/als/row.ts'
import type { Rating, RatingRange } from '../../models/ratings/rating.ts'
import { ageWeights, fadedRatings } from '../data/age-weights.ts'
import { RATINGS } from '../data/kinds.ts'
import {
  type RatingsTable,
  ratingStatistics,
  ratingsTable,
  summedByPair,
} from '../data/ratings-table.ts'
import { gpuOf } from './device-choice.ts'
import { evaluateAls } from './evaluate.ts'
import { evaluateRanking } from './evaluate-ranking.ts'
import { type AlsDevice, cpuDevice } from './solver/device.ts'
import { AlsModel } from './solver/model.ts'
import {
  type AlsOptions,
  type AlsProgress,
  type AlsSettings,
  alsSettings,
} from './solver/options.ts'
import { type AlsShare, alsShare } from './solver/share.ts'
import { matrixOf, type RatingsSource, ratingCounts } from './solver/sides.ts'
import type { AlsSideName } from './solver/solver.ts'
import { initialiseFactors } from './solver/start.ts'

/**
 * Factors ratings by alternating least squares. It solves in turn all user rows against the item rows
 * and all item rows against the user rows, which lowers
 *
 *   sum (r - mu - b_u - b_i - p.q)^2 + sum over rows of s(n) (lambda |row|^2 + lambda_b bias^2)
 *
 * at every half iteration; s(n) is the penalty's scaling (n: Zhou et al., ALS-WR, 2008). Without
 * biases, mu, b_u and b_i are left out. With implicit feedback, the first sum is over ALL pairs,
 *
 *   sum c (preference - p.q)^2      (Hu, Koren, Volinsky 2008; see `AlsFeedback`)
 *
 * which costs no more than the rated pairs, thanks to the Gram matrix of the other side; the ratings of a pair that comes
 * again are summed, in files by `RatingsSpill.build`. Ratings in files
 * (`RatingsSpill`) give the rows of the same ratings in memory; they train on the CPU only. The same
 * ratings, options and processor give the same bits with any number of threads; a GPU gives the same
 * values up to rounding. Throws EMPTY_DATASET, INVALID_ARGUMENT, TRAINING_DIVERGED, GPU_UNAVAILABLE, GPU_FAILED.
 */
export async function trainAls(
  ratings: RatingsSource | Iterable<Rating>,
  options: AlsOptions = {},
): Promise<AlsModel> {
  const chosen = alsSettings(options)
  checkArgument('trainAls', 'ratings', RATINGS, ratings)
  const given = Symbol.iterator in ratings ? ratingsTable(ratings) : ratings
  const isSummed = options.feedback === 'implicit' && !('sides' in given)
  const { halfLifeMs } = chosen
  const table = isSummed ? summedByPair(fadedRatings(given, halfLifeMs)) : given
  const isWeighted = halfLifeMs !== undefined && options.feedback !== 'implicit'
  const weights =
    isWeighted && !('sides' in table) ? ageWeights(table.timestamp, halfLifeMs) : undefined
  const statistics = 'sides' in table ? table.statistics : ratingStatistics(table, weights)
  const isSpilled = 'sides' in table
  if (isSpilled) refuseSpilled(options)
  await using gpu = isSpilled
    ? undefined
    : await gpuOf(options, { table, settings: chosen, mean: statistics.mean })
  const settings: AlsSettings = gpu === undefined ? chosen : { ...chosen, solver: 'cg' }
  const share = alsShare(table, settings, statistics.mean, weights)
  const { mean } = statistics
  initialiseFactors(share, { table, settings, mean, startingRows: options.startingRows })
  const modelOf = (history: readonly AlsProgress[]): AlsModel =>
    new AlsModel({
      users: table.users,
      items: table.items,
      userRows: servedRows(share, 'users', mean),
      itemRows: servedRows(share, 'items', 0),
      userRatings: ratingCounts(share.users),
      itemRatings: ratingCounts(share.items),
      factors: settings.factors,
      biased: settings.biases,
      globalMean: statistics.mean,
      range: settings.feedback === 'implicit' ? ANY_SCORE : statistics,
      history,
    })
  await using device = await (gpu?.load(share) ?? cpuDevice(share, settings.threads))
  return await iterate({ share, table, settings, options, device, modelOf })
}

/** Throws INVALID_ARGUMENT for what needs the ratings in memory. */
function refuseSpilled({ device = 'cpu', feedback, validation, halfLifeMs }: AlsOptions): void {
  requireArgument(device === 'cpu', 'ratings in files train on the CPU only')
  requireArgument(
    halfLifeMs === undefined,
    'ratings in files have no time, which a half-life needs; keep them in memory',
  )
  requireArgument(
    feedback !== 'implicit' || validation === undefined,
    'validation of implicit feedback needs the ratings in memory',
  )
}

/** Scores of implicit feedback are preferences, not ratings, so they are not clipped. */
const ANY_SCORE: RatingRange = { min: Number.NEGATIVE_INFINITY, max: Number.POSITIVE_INFINITY }

/** A run that is laid out and initialised. */
interface AlsRun {
  readonly share: AlsShare
  readonly table: RatingsSource
  readonly settings: AlsSettings
  readonly options: AlsOptions
  readonly device: AlsDevice
  readonly modelOf: (history: readonly AlsProgress[]) => AlsModel
}

/** Runs the iterations; returns the last or the best model. */
async function iterate(run: AlsRun): Promise<AlsModel> {
  const { settings, options } = run
  const history: AlsProgress[] = []
  const validation = alsValidator(options.validation, {
    // Ratings in files have no validation that reads them.
    ...('sides' in run.table ? {} : { training: run.table }),
    settings,
    modelOf: run.modelOf,
  })
  const startMs = settings.clock.monotonicMs()
  for (let iteration = 1; iteration <= settings.iterations; iteration++) {
    for (const side of ['users', 'items'] as const) {
      options.signal?.throwIfAborted()
      await run.device.solve(
        side,
        iteration === settings.iterations || options.validation !== undefined,
      )
      const progress: AlsProgress = {
        iteration,
        side,
        ...errorAfter(run, side, iteration),
        ...(side === 'items' ? validation.measure(history) : undefined),
        seconds: (settings.clock.monotonicMs() - startMs) / 1000,
      }
      history.push(progress)
      options.onProgress?.(progress)
    }
    if (validation.shouldStop()) break
  }
  return validation.best() ?? run.modelOf(history)
}

/** Errors after a half iteration, summed in row order, so that the threads do not change them. */
function errorAfter(
  { share, table }: AlsRun,
  side: AlsSideName,
  iteration: number,
): Pick<AlsProgress, 'objective' | 'trainRmse'> {
  const other = side === 'users' ? share.items : share.users
  const rows = sum(share[side].objective)
  const objective = rows + sum(other.penalties)
  if (!Number.isFinite(objective)) {
    throw new WeirError(
      'TRAINING_DIVERGED',
      `the objective of iteration ${iteration} is not finite; raise the regularization`,
      { details: { iteration } },
    )
  }
  if (share.implicit !== undefined) return { objective }
  const squares = Math.max(0, rows - sum(share[side].penalties))
  const { sums } = share[side].weighted ?? {}
  return {
    objective,
    trainRmse: Math.sqrt(squares / (sums === undefined ? table.size : sum(sums))),
  }
}

function sum(values: Float64Array): number {
  let total = 0
  for (const value of values) total += value
  return total
}

/** Copies the matrix of a side, with biases in the columns of `models/als/row.ts`. */
function servedRows(share: AlsShare, sideName: AlsSideName, mean: number): Float32Array {
  const side = share[sideName]
  const matrix = matrixOf(share, side)
  const stride = share.strideBytes / 4
  const { unknowns, biased } = share
  const factors = biased ? unknowns - 1 : unknowns
  const dimension = factors + (biased ? BIAS_COLUMNS : 0)
  const served = new Float32Array(side.rows * dimension)
  const isUser = sideName === 'users'
  for (let r = 0; r < side.rows; r++) {
    const from = r * stride
    served.set(matrix.subarray(from, from + factors), r * dimension)
    if (!biased) continue
    const bias = matrix[from + factors + 1] as number
    served[r * dimension + factors] = isUser ? bias + mean : 1
    served[r * dimension + factors + 1] = isUser ? 1 : bias
  }
  return served
}

/** Validation error in the progress of training. */
type ValidationError = Pick<AlsProgress, 'validationRmse' | 'validationNdcg'>

/** Measures the error on validation ratings. */
interface AlsValidator {
  /** Error of the current rows; undefined without validation ratings. */
  measure(history: readonly AlsProgress[]): ValidationError | undefined
  /** Whether none of the last `patience` measurements was the best one. */
  shouldStop(): boolean
  /** The model of the best measurement; undefined if the last model is to be used. */
  best(): AlsModel | undefined
}

const NO_VALIDATION: AlsValidator = {
  measure: () => undefined,
  shouldStop: () => false,
  best: () => undefined,
}

/** Number of users whose ranking is measured after each iteration: three digits in a short time. */
const RANKED_USERS = 1000

/** Options of `alsValidator`. */
interface AlsValidatorOptions {
  /** The training ratings; needed for implicit feedback. */
  readonly training?: RatingsTable
  readonly settings: AlsSettings
  /** The model with the current rows. */
  readonly modelOf: (history: readonly AlsProgress[]) => AlsModel
}

/**
 * A validator on `ratings` that measures the RMSE, or with implicit feedback the NDCG at 10. With
 * finite patience it keeps the best model.
 */
function alsValidator(
  ratings: RatingsTable | undefined,
  { training, settings, modelOf }: AlsValidatorOptions,
): AlsValidator {
  if (ratings === undefined || ratings.size === 0) return NO_VALIDATION
  const { patience, feedback } = settings
  let lowest = Number.POSITIVE_INFINITY
  let bestModel: AlsModel | undefined
  let sinceBest = 0
  const errorOf = (model: AlsModel): ValidationError => {
    if (feedback === 'explicit') return { validationRmse: evaluateAls(model, ratings).rmse }
    if (training === undefined) return {}
    const { ndcg } = evaluateRanking(model, training, ratings, { maxUsers: RANKED_USERS })
    return { validationNdcg: ndcg.mean }
  }
  return {
    measure(history) {
      const model = modelOf(history)
      const error = errorOf(model)
      const value = error.validationRmse ?? 1 - (error.validationNdcg ?? 0)
      sinceBest = value < lowest ? 0 : sinceBest + 1
      if (sinceBest === 0) {
        lowest = value
        bestModel = model
      }
      return error
    },
    shouldStop: () => sinceBest >= patience,
    best: () => (patience === Number.POSITIVE_INFINITY ? undefined : bestModel),
  }
}
