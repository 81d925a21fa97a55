import { WeirError } from '../core/errors.ts'
import { BIAS_COLUMNS } from '../models/als-row.ts'
import type { Rating, RatingRange } from '../models/rating.ts'
import { type AlsDevice, cpuDevice } from './als-device.ts'
import { gpuOf } from './als-device-choice.ts'
import { AlsModel } from './als-model.ts'
import { type AlsOptions, type AlsProgress, type AlsSettings, alsSettings } from './als-options.ts'
import { type AlsShare, type AlsSide, alsShare, matrixOf } from './als-share.ts'
import type { AlsSideName } from './als-solver.ts'
import { initialiseFactors } from './als-start.ts'
import { alsValidator } from './als-validation.ts'
import { countsOf, type RatingsTable, ratingStatistics, ratingsTable } from './ratings-table.ts'

/**
 * Factors ratings by alternating least squares: in turn all user rows are solved against the item
 * rows and all item rows against the user rows, which lowers
 *
 *   sum (r - mu - b_u - b_i - p.q)^2 + sum over rows of s(n) (lambda |row|^2 + lambda_b bias^2)
 *
 * at every half iteration; s(n) is the penalty's scaling (n: Zhou et al., ALS-WR, 2008). Without
 * biases mu, b_u and b_i are left out. With implicit feedback the first sum is over ALL pairs,
 *
 *   sum c (preference - p.q)^2      (Hu, Koren, Volinsky 2008; see `AlsFeedback`)
 *
 * which the Gram matrix of the other side makes as cheap as the rated pairs alone. The same ratings,
 * options and processor give the same bits, whatever the number of threads; a GPU the same up to
 * rounding. Throws EMPTY_DATASET, INVALID_ARGUMENT, TRAINING_DIVERGED, GPU_UNAVAILABLE, GPU_FAILED.
 */
export async function trainAls(
  ratings: RatingsTable | Iterable<Rating>,
  options: AlsOptions = {},
): Promise<AlsModel> {
  const chosen = alsSettings(options)
  const table = Symbol.iterator in ratings ? ratingsTable(ratings) : ratings
  const statistics = ratingStatistics(table)
  await using gpu = await gpuOf(options, { table, settings: chosen, mean: statistics.mean })
  const settings: AlsSettings = gpu === undefined ? chosen : { ...chosen, solver: 'cg' }
  const share = alsShare(table, settings, statistics.mean)
  initialiseFactors(share, table, settings, statistics.mean, options.startingRows)
  const modelOf = (history: readonly AlsProgress[]): AlsModel =>
    new AlsModel({
      users: table.users,
      items: table.items,
      userRows: servedRows(share, share.users, settings, statistics.mean),
      itemRows: servedRows(share, share.items, settings, 0),
      userRatings: countsOf(table.user, table.users.length),
      itemRatings: countsOf(table.item, table.items.length),
      factors: settings.factors,
      biased: settings.biases,
      globalMean: statistics.mean,
      range: settings.feedback === 'implicit' ? ANY_SCORE : statistics,
      history,
    })
  await using device = await (gpu?.load(share) ?? cpuDevice(share, settings.threads))
  return await iterate({ share, table, settings, options, device, modelOf })
}

/** Scores of implicit feedback are preferences, not ratings: they are not clipped. */
const ANY_SCORE: RatingRange = { min: Number.NEGATIVE_INFINITY, max: Number.POSITIVE_INFINITY }

/** A run that is laid out and started. */
interface AlsRun {
  readonly share: AlsShare
  readonly table: RatingsTable
  readonly settings: AlsSettings
  readonly options: AlsOptions
  readonly device: AlsDevice
  readonly modelOf: (history: readonly AlsProgress[]) => AlsModel
}

/** Runs the iterations and picks the model that is handed back. */
async function iterate(run: AlsRun): Promise<AlsModel> {
  const { settings, options } = run
  const history: AlsProgress[] = []
  const validation = alsValidator(run.table, options.validation, settings, run.modelOf)
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

/** Sums in row order, so that they do not depend on the threads either. */
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
  return { objective, trainRmse: Math.sqrt(squares / table.size) }
}

function sum(values: Float64Array): number {
  let total = 0
  for (const value of values) total += value
  return total
}

/** Copies a matrix out, with biases in the columns of `models/als-row.ts`. */
function servedRows(
  share: AlsShare,
  side: AlsSide,
  settings: AlsSettings,
  mean: number,
): Float32Array {
  const matrix = matrixOf(share, side)
  const stride = share.strideBytes / 4
  const { factors, biases } = settings
  const dimension = factors + (biases ? BIAS_COLUMNS : 0)
  const served = new Float32Array(side.rows * dimension)
  const isUser = side === share.users
  for (let r = 0; r < side.rows; r++) {
    const from = r * stride
    served.set(matrix.subarray(from, from + factors), r * dimension)
    if (!biases) continue
    const bias = matrix[from + factors + 1] as number
    served[r * dimension + factors] = isUser ? bias + mean : 1
    served[r * dimension + factors + 1] = isUser ? 1 : bias
  }
  return served
}
