import { checkArgument } from '../../core/options/shape.ts'
import type { Rating } from '../../models/ratings/rating.ts'
import { evaluateAls } from '../als/evaluate.ts'
import type { AlsModel } from '../als/solver/model.ts'
import type { AlsSideName } from '../als/solver/solver.ts'
import { ageWeights } from '../data/age-weights.ts'
import { RATINGS } from '../data/kinds.ts'
import { type RatingsTable, ratingStatistics, ratingsTable } from '../data/ratings-table.ts'
import { Chain, type Regressions } from './chain.ts'
import { chainFingerprint } from './chain-state.ts'
import { cpuDevice, gpuDevice } from './device.ts'
import { type BmfShare, bmfShare } from './drawing/share.ts'
import {
  type FeatureBlock,
  ratedWith,
  tableBlock,
  withFeatureIds,
} from './features/feature-block.ts'
import { PriorRegression } from './features/prior-regression.ts'
import { type BmfOptions, type BmfProgress, type BmfSettings, bmfSettings } from './options.ts'
import type { RowVariances } from './score-variances.ts'

/** A trained factorisation and its chain. */
export interface BmfResult {
  /** Rows of posterior means; ids without a row are scored with the mean rows. */
  readonly model: AlsModel
  /** Variances of ratings around its scores, with the option `variance`. */
  readonly variances?: RowVariances
  /** One entry per sweep of this run. */
  readonly history: readonly BmfProgress[]
}

/**
 * Factors ratings by Bayesian matrix factorisation (Salakhutdinov and Mnih, "Bayesian probabilistic matrix
 * factorization using Markov chain Monte Carlo", ICML 2008), with biases inside the rows:
 *
 *   r ~ N(mu + b_u + b_i + p.q, 1 / (a w_u)),   [p, b_u] ~ N(m_U, L_U^-1),   [q, b_i] ~ N(m_I, L_I^-1)
 *
 * Gibbs sampling draws in turn both normal-Wishart distributed (m, L), all user rows, the weight w_u of each user's
 * ratings (gamma, so that errors have Student's t distribution), all item rows, and the noise precision a
 * (gamma). The rows of the model are the means of the rows' distributions over blocks of 24 sweeps after
 * burn-in; of several blocks, rows whose scores are nearest to the mean score of the blocks. The same ratings, options and processor give the same bits with any number of threads, and
 * when a chain continues from a stored state; a GPU draws with the same random numbers and gives the same
 * values up to rounding. Throws EMPTY_DATASET, INVALID_ARGUMENT, TRAINING_DIVERGED, GPU_UNAVAILABLE, GPU_FAILED,
 * and the errors of the store.
 */
export async function trainBmf(
  ratings: RatingsTable | Iterable<Rating>,
  options: BmfOptions = {},
): Promise<BmfResult> {
  const settings = bmfSettings(options)
  checkArgument('trainBmf', 'ratings', RATINGS, ratings)
  const given = Symbol.iterator in ratings ? ratingsTable(ratings) : ratings
  const table = withFeatureIds(given, settings)
  const { halfLifeMs } = settings
  const weights = halfLifeMs === undefined ? undefined : ageWeights(table.timestamp, halfLifeMs)
  const statistics = ratingStatistics(table, weights)
  const share = bmfShare(
    table,
    { ...settings, featured: featuredSides(settings) },
    statistics.mean,
    weights,
  )
  const regressions = regressionsOf(share, table, settings)
  const chain = new Chain(share, table, statistics, { ...settings, regressions })
  const { store } = options
  const fingerprint = store === undefined ? '' : chainFingerprint(table, settings)
  const stored = await store?.load(fingerprint)
  if (stored === undefined) chain.start()
  else chain.resume(stored)
  await using device = await (options.device === 'gpu'
    ? gpuDevice(share, settings.threads)
    : cpuDevice(share, settings.threads))
  options.onDevice?.(device.name)
  const history: BmfProgress[] = []
  const startMs = settings.clock.monotonicMs()
  for (let sweep = (stored?.sweep ?? 0) + 1; sweep <= settings.sweeps; sweep++) {
    const kept = sweep > settings.burnIn
    const isStored = sweep % settings.storeEvery === 0 || sweep === settings.sweeps
    const read =
      (isStored && store !== undefined) ||
      options.validation !== undefined ||
      sweep === settings.sweeps
    for (const side of ['users', 'items'] as const) {
      options.signal?.throwIfAborted()
      await chain.drawSide(device, { side, sweep, read })
    }
    const trainRmse = chain.endSweep(sweep)
    const progress: BmfProgress = {
      sweep,
      kept,
      trainRmse,
      ...validationError(chain, options.validation, sweep),
      noise: chain.noise,
      seconds: (settings.clock.monotonicMs() - startMs) / 1000,
    }
    history.push(progress)
    if (isStored) await store?.save(chain.state(sweep, fingerprint))
    options.onProgress?.(progress)
  }
  const variances = chain.variances(settings.sweeps)
  return {
    model: chain.model(settings.sweeps),
    history,
    ...(variances === undefined ? {} : { variances }),
  }
}

function validationError(
  chain: Chain,
  validation: RatingsTable | undefined,
  sweep: number,
): Pick<BmfProgress, 'validationRmse'> {
  if (validation === undefined || validation.size === 0) return {}
  return { validationRmse: evaluateAls(chain.model(sweep), validation).rmse }
}

function featuredSides({
  userFeatures,
  itemFeatures,
  whoRated,
}: BmfSettings): Readonly<Record<AlsSideName, boolean>> {
  return {
    users: whoRated || userFeatures !== undefined,
    items: whoRated || itemFeatures !== undefined,
  }
}

/** The regressions of the sides whose rows have features: those of a file, and who rated what. */
function regressionsOf(share: BmfShare, table: RatingsTable, settings: BmfSettings): Regressions {
  const sides = [
    ['users', 'items', settings.userFeatures],
    ['items', 'users', settings.itemFeatures],
  ] as const
  const regressions: [AlsSideName, PriorRegression][] = []
  for (const [own, other, features] of sides) {
    const blocks: FeatureBlock[] = []
    if (features !== undefined) blocks.push(tableBlock(features, table[own]))
    if (settings.whoRated) blocks.push(ratedWith(share[own], share[other]))
    if (blocks.length > 0) regressions.push([own, new PriorRegression(share, own, blocks)])
  }
  return Object.fromEntries(regressions)
}
