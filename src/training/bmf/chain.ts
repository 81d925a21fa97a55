import { WeirError } from '../../core/errors.ts'
import { alsWidth } from '../../core/kernels/kernels.ts'
import { type RandomStreams, randomStreams } from '../../core/random.ts'
import { biasedRow } from '../../models/als/row.ts'
import type { RatingRange } from '../../models/ratings/rating.ts'
import { sumOfGramParts } from '../als/solver/gram.ts'
import { AlsModel } from '../als/solver/model.ts'
import { matrixOf, ratingCounts } from '../als/solver/sides.ts'
import type { AlsSideName } from '../als/solver/solver.ts'
import type { RatingsTable } from '../data/ratings-table.ts'
import type { TrainingThreads } from '../threads/training-threads.ts'
import type { ChainState } from './chain-state.ts'
import { type BmfDrawTask, type BmfTask, streamsOf } from './drawing/drawer.ts'
import { drawGamma, drawRowDistribution, type SideSums } from './drawing/hyperprior.ts'
import type { BmfShare } from './drawing/share.ts'
import type { PriorRegression } from './features/prior-regression.ts'
import { BLOCK_SWEEPS, keptSweeps, PosteriorMeans } from './means/posterior-means.ts'
import { type RowVariances, ScoreDraws, type ScoreMoments } from './score-variances.ts'
import { drawUserWeights, meanRelativeVariance, squaredErrors } from './user-noise.ts'

/**
 * Share of the variance of the ratings that the random products of the start have. The chain converges
 * from 0.1 in a few sweeps; from small factors it needs dozens (measured on MovieLens 100K).
 */
const START_SHARE = 0.1
/** Row numbers of the streams that do not belong to a row. */
const PRIOR_STREAM = 0xffffffff
const NOISE_STREAM = 0xfffffffe
const USER_NOISE_STREAM = 0xfffffffd
const WEIGHTS_STREAM = 0xfffffffc

const NO_FLOATS = new Float32Array(0)
const NO_MOMENTS: ScoreMoments = {
  userMoments: NO_FLOATS,
  itemMoments: NO_FLOATS,
  userNoise: NO_FLOATS,
}

/** Settings of a chain that its draws do not depend on. */
export interface ChainOptions {
  /** First sweeps, which the means leave out. */
  readonly burnIn: number
  /** Whether the variances of scores are measured. */
  readonly variance: boolean
  /** The prior means of sides whose rows have features. */
  readonly regressions?: Regressions
}

/** By side, the regression of its prior means, if its rows have features. */
export type Regressions = Readonly<Partial<Record<AlsSideName, PriorRegression>>>

/** A chain between two phases: the work of the thread that directs the others. */
export class Chain {
  private readonly share: BmfShare
  private readonly table: RatingsTable
  private readonly range: RatingRange
  private readonly random: RandomStreams
  /** Precision of the noise of a rating of weight 1. */
  private precision: number
  /** Sum of the squared errors at the last draw of the users. */
  private squares = 0
  private readonly means: PosteriorMeans
  private readonly burnIn: number
  /** Number of ratings; of weighted ones the sum of the weights. */
  private readonly evidence: number

  private readonly regressions: Regressions | undefined
  /** Present with the option `variance`. */
  private readonly scores: ScoreDraws | undefined

  constructor(share: BmfShare, table: RatingsTable, range: RatingRange, settings: ChainOptions) {
    const { burnIn, variance: hasVariances } = settings
    this.share = share
    this.burnIn = burnIn
    this.evidence = share.users.weighted?.sums.reduce((sum, each) => sum + each, 0) ?? table.size
    this.means = new PosteriorMeans(share, burnIn)
    this.table = table
    this.range = range
    this.random = randomStreams(share.seed)
    this.precision = 1 / variance(table.rating, share.mean)
    this.regressions = settings.regressions
    this.scores = hasVariances ? new ScoreDraws(share, table) : undefined
  }

  /** Standard deviation of a rating around its prediction, over all ratings. */
  get noise(): number {
    return Math.sqrt(meanRelativeVariance(this.share) / this.precision)
  }

  /** Fills both matrices with small random factors. */
  start(): void {
    const { share, random } = this
    const stride = share.strideBytes / 4
    const factors = share.unknowns - 1
    // The product of two rows has the variance factors x scale^4.
    const scale = (START_SHARE / (this.precision * factors)) ** 0.25
    for (const name of ['users', 'items'] as const) {
      const matrix = matrixOf(share, share[name])
      random.seek(streamsOf(0, name), PRIOR_STREAM)
      for (let at = 0; at < matrix.length; at += stride) {
        for (let i = 0; i < factors; i++) matrix[at + i] = scale * random.normal()
        matrix[at + factors] = 1
      }
    }
  }

  /** The state after a sweep; its arrays are views of the chain, valid until the next phase. */
  state(sweep: number, fingerprint: string): ChainState {
    const { share, precision, means, regressions } = this
    return {
      fingerprint,
      sweep,
      precision,
      userRows: matrixOf(share, share.users),
      itemRows: matrixOf(share, share.items),
      userMeans: share.users.means,
      itemMeans: share.items.means,
      ...(this.scores?.state ?? NO_MOMENTS),
      userWeights: regressions?.users?.state.weights ?? NO_FLOATS,
      itemWeights: regressions?.items?.state.weights ?? NO_FLOATS,
      userScales: regressions?.users?.state.scales ?? [],
      itemScales: regressions?.items?.state.scales ?? [],
      userRoots: share.userRoots,
      closedUsers: means.state.users,
      closedItems: means.state.items,
    }
  }

  /** Continues from a state of a chain with the same fingerprint. */
  resume(state: ChainState): void {
    const { share } = this
    this.precision = state.precision
    matrixOf(share, share.users).set(state.userRows)
    matrixOf(share, share.items).set(state.itemRows)
    share.users.means.set(state.userMeans)
    share.items.means.set(state.itemMeans)
    this.scores?.resume(state)
    this.regressions?.users?.resume({ weights: state.userWeights, scales: state.userScales })
    this.regressions?.items?.resume({ weights: state.itemWeights, scales: state.itemScales })
    share.userRoots.set(state.userRoots)
    this.means.resume(state.sweep, { users: state.closedUsers, items: state.closedItems })
  }

  /** Draws the distribution of a side's rows, then the rows; after those of the users, the noise of each. */
  async drawSide(
    threads: TrainingThreads<BmfTask>,
    { side, sweep, read }: Pick<BmfDrawTask, 'side' | 'sweep' | 'read'>,
  ): Promise<void> {
    const { nextChunk } = this.share
    const { inBlock } = keptSweeps(sweep, this.burnIn)
    Atomics.store(nextChunk, 0, 0)
    const regression = this.regressions?.[side]
    if (regression === undefined) await threads.run({ kind: 'sums', side })
    this.drawPrior(side, sweep, regression)
    Atomics.store(nextChunk, 0, 0)
    const noise = 1 / Math.sqrt(this.precision)
    const isScored = this.scores !== undefined && inBlock > 0
    const isRead = read || isScored || inBlock === BLOCK_SWEEPS
    await threads.run({ kind: 'draw', side, sweep, noise, kept: inBlock, read: isRead })
    if (side === 'users') this.drawUserNoise(sweep)
  }

  private drawUserNoise(sweep: number): void {
    const { share, random, precision } = this
    this.squares = squaredErrors(share)
    if (!Number.isFinite(this.squares)) throw diverged('the squared error', sweep)
    random.seek(streamsOf(sweep, 'users'), USER_NOISE_STREAM)
    drawUserWeights(share, precision, random)
  }

  /** Draws the distribution of a side's rows and writes what `drawRow` needs of it. */
  private drawPrior(
    side: AlsSideName,
    sweep: number,
    regression: PriorRegression | undefined,
  ): void {
    const { share, random, precision: noisePrecision } = this
    const n = share.unknowns
    const width = alsWidth(n)
    random.seek(streamsOf(sweep, side), PRIOR_STREAM)
    const sums = regression?.sums() ?? this.sumsOf(side)
    if (!sums.products.every(Number.isFinite)) throw diverged('a row', sweep)
    const distribution = drawRowDistribution(sums, random)
    const { mean, precision } = distribution
    const { buffer } = share.memory
    const prior = new Float32Array(buffer, share.priorAddress, width * width)
    const shift = new Float32Array(buffer, share.shiftAddress, width)
    for (let i = 0; i < n; i++) {
      let sum = 0
      for (let j = 0; j < n; j++) {
        const value = precision[i * n + j]!
        prior[i * width + j] = value / noisePrecision
        sum += value * mean[j]!
      }
      shift[i] = sum / noisePrecision
    }
    random.seek(streamsOf(sweep, side), WEIGHTS_STREAM)
    regression?.draw(distribution, random)
  }

  /** Sums of a side's rows without the constant 1, whose column has the sums of the others. */
  private sumsOf(side: AlsSideName): SideSums {
    const { share } = this
    const n = share.unknowns
    const width = share.strideBytes / 4
    const gram = sumOfGramParts(share.memory, share.partsAddress, width)
    const columnOf = (i: number): number => (i === n - 1 ? n : i)
    const sum = new Float64Array(n)
    const products = new Float64Array(n * n)
    for (let i = 0; i < n; i++) {
      const row = columnOf(i) * width
      sum[i] = gram[row + n - 1]!
      for (let j = 0; j < n; j++) products[i * n + j] = gram[row + columnOf(j)]!
    }
    return { count: share[side].rows, sum, products }
  }

  /** Ends a sweep: draws the noise precision; returns the RMSE of the training ratings at the draw of the users. */
  endSweep(sweep: number): number {
    const { evidence, share, random } = this
    let squares = 0
    for (const value of share.items.objective) squares += value
    if (!Number.isFinite(squares)) throw diverged('the squared error', sweep)
    random.seek(streamsOf(sweep, 'users'), NOISE_STREAM)
    this.precision = drawGamma(1 + evidence / 2, random) / (1 + Math.max(0, squares) / 2)
    this.means.endSweep(sweep)
    const { kept } = keptSweeps(sweep, this.burnIn)
    if (kept > 0) this.scores?.add(kept, this.precision)
    return Math.sqrt(this.squares / evidence)
  }

  /** The model after a sweep: of the mean rows so far, or in burn-in of the current draw. */
  model(sweep: number): AlsModel {
    const { table, share } = this
    const means = sweep > this.burnIn ? this.means.rows(sweep) : undefined
    return new AlsModel({
      users: table.users,
      items: table.items,
      userRows: this.servedRows('users', means?.users),
      itemRows: this.servedRows('items', means?.items),
      userRatings: ratingCounts(share.users),
      itemRatings: ratingCounts(share.items),
      factors: share.unknowns - 1,
      biased: true,
      globalMean: share.mean,
      range: this.range,
      history: [],
    })
  }

  /** Variances of ratings over the sweeps that count; undefined without the option. */
  variances(sweep: number): RowVariances | undefined {
    return this.scores?.variances(this.table, keptSweeps(sweep, this.burnIn).kept)
  }

  private servedRows(name: AlsSideName, means: Float32Array | undefined): Float32Array {
    const { share } = this
    const side = share[name]
    const kind = name === 'users' ? 'U' : 'I'
    const factors = share.unknowns - 1
    const served = new Float32Array(side.rows * (factors + 2))
    const rows = means ?? matrixOf(share, side)
    const stride = means === undefined ? share.strideBytes / 4 : share.unknowns
    for (let r = 0; r < side.rows; r++) {
      const from = r * stride
      const bias = rows[from + (means === undefined ? factors + 1 : factors)]!
      const row = biasedRow(kind, rows.subarray(from, from + factors), bias, share.mean)
      served.set(row, r * row.length)
    }
    return served
  }
}

function diverged(what: string, sweep: number): WeirError {
  return new WeirError(
    'TRAINING_DIVERGED',
    `${what} of sweep ${sweep} is not finite; check the ratings for values far from the others`,
    { details: { sweep } },
  )
}

function variance(values: Float32Array, mean: number): number {
  let sum = 0
  for (const value of values) sum += (value - mean) ** 2
  // Equal ratings leave no noise; a small one keeps the precision finite.
  return Math.max(1e-6, sum / values.length)
}
