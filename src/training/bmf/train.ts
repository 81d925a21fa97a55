import { siblingModule } from '../../core/sibling-module.ts'
import type { Rating } from '../../models/ratings/rating.ts'
import { evaluateAls } from '../als/evaluate.ts'
import type { AlsModel } from '../als/solver/model.ts'
import { type RatingsTable, ratingStatistics, ratingsTable } from '../data/ratings-table.ts'
import { callingThread, type TrainingThreads, workerThreads } from '../threads/training-threads.ts'
import { Chain } from './chain.ts'
import { chainFingerprint } from './chain-state.ts'
import { BmfDrawer, type BmfTask } from './drawer.ts'
import { type BmfOptions, type BmfProgress, bmfSettings } from './options.ts'
import type { RowVariances } from './row-variances.ts'
import { type BmfShare, bmfShare } from './share.ts'
import type { BmfWorkerData } from './worker.ts'

/** A trained factorisation and its chain. */
export interface BmfResult {
  /** Rows of posterior means; ids without a row are scored with the mean rows. */
  readonly model: AlsModel
  /** Variances of its floats, with the option `variance`. */
  readonly variances?: RowVariances
  /** One entry per sweep of this run. */
  readonly history: readonly BmfProgress[]
}

/**
 * Factors ratings by Bayesian matrix factorisation (Salakhutdinov and Mnih, "Bayesian probabilistic matrix
 * factorization using Markov chain Monte Carlo", ICML 2008), with biases inside the rows:
 *
 *   r ~ N(mu + b_u + b_i + p.q, 1 / a),   [p, b_u] ~ N(m_U, L_U^-1),   [q, b_i] ~ N(m_I, L_I^-1)
 *
 * Gibbs sampling draws in turn both normal-Wishart distributed (m, L), all user rows, all item rows, and the
 * noise precision a (gamma). The rows of the model are the means of the rows' distributions over the sweeps
 * after burn-in. The same ratings, options and processor give the same bits with any number of threads, and
 * when a chain continues from a stored state. Throws EMPTY_DATASET, INVALID_ARGUMENT, TRAINING_DIVERGED, and
 * the errors of the store.
 */
export async function trainBmf(
  ratings: RatingsTable | Iterable<Rating>,
  options: BmfOptions = {},
): Promise<BmfResult> {
  const settings = bmfSettings(options)
  const table = Symbol.iterator in ratings ? ratingsTable(ratings) : ratings
  const statistics = ratingStatistics(table)
  const share = bmfShare(table, settings, statistics.mean)
  const chain = new Chain(share, table, statistics)
  const { store } = options
  const fingerprint = store === undefined ? '' : chainFingerprint(table, settings)
  const stored = await store?.load(fingerprint)
  if (stored === undefined) chain.start()
  else chain.resume(stored)
  await using threads = bmfThreads(share, settings.threads)
  const history: BmfProgress[] = []
  const startMs = settings.clock.monotonicMs()
  for (let sweep = (stored?.sweep ?? 0) + 1; sweep <= settings.sweeps; sweep++) {
    const kept = Math.max(0, sweep - settings.burnIn)
    for (const side of ['users', 'items'] as const) {
      options.signal?.throwIfAborted()
      await chain.drawSide(threads, { side, sweep, kept })
    }
    const trainRmse = chain.drawNoise(sweep)
    const progress: BmfProgress = {
      sweep,
      kept: kept > 0,
      trainRmse,
      ...validationError(chain, options.validation, kept > 0),
      noise: chain.noise,
      seconds: (settings.clock.monotonicMs() - startMs) / 1000,
    }
    history.push(progress)
    if (sweep % settings.storeEvery === 0 || sweep === settings.sweeps) {
      await store?.save(chain.state(sweep, fingerprint))
    }
    options.onProgress?.(progress)
  }
  const variances = chain.variances(settings.sweeps - settings.burnIn)
  return { model: chain.model(true), history, ...(variances === undefined ? {} : { variances }) }
}

function validationError(
  chain: Chain,
  validation: RatingsTable | undefined,
  kept: boolean,
): Pick<BmfProgress, 'validationRmse'> {
  if (validation === undefined || validation.size === 0) return {}
  return { validationRmse: evaluateAls(chain.model(kept), validation).rmse }
}

/** Threads for a share; with 0 threads, the calling thread draws (tests and small data). */
function bmfThreads(share: BmfShare, count: number): TrainingThreads<BmfTask> {
  if (count === 0) return callingThread(new BmfDrawer(share, 0))
  const dataOf = (worker: number): BmfWorkerData => ({ share, worker })
  return workerThreads(siblingModule('./worker', import.meta.url), count, dataOf)
}
