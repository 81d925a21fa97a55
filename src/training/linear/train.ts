import { requireArgument, WeirError } from '../../core/errors.ts'
import { MOST_FEATURES } from '../../core/feature.ts'
import { checkArgument } from '../../core/options/shape.ts'
import { siblingModule } from '../../core/sibling-module.ts'
import { featureScales, scaledTable } from '../data/feature-scales.ts'
import { SPARSE_TABLE } from '../data/kinds.ts'
import type { SparseTable } from '../data/sparse-table.ts'
import { callingThread, type TrainingThreads, workerThreads } from '../threads/training-threads.ts'
import { LinearModel } from './model.ts'
import {
  type LinearOptions,
  type LinearProgress,
  type LinearSettings,
  linearSettings,
} from './options.ts'
import { type LabelPair, type LinearShare, labelPair, linearShare } from './share.ts'
import { type LinearPhase, LinearSolver } from './solver.ts'
import { shrunk } from './sparse.ts'
import { usefulThreads } from './useful-threads.ts'

/**
 * Trains a linear classifier on examples of two labels: minimises
 *
 *   1/2 (|w|^2 + b^2)  +  l1 sum of |w_j|  +  C sum over rows of weight L(y (w.x + b bias))
 *
 * by dual coordinate ascent over blocks of rows (see `LinearSolver`). Where this is slow, which it is for
 * features of very different or large scales, Newton's method goes on from its weights (`PrimalNewton`;
 * not for the hinge loss, which has no derivative, nor with l1), unless `solver` says otherwise. The duality gap limits the distance of the objective
 * from the optimum; training stops at a small gap. Returns the weights of the lowest primal objective, or
 * with `patience` those of the highest validation accuracy; `converged` says whether the tolerance was
 * reached. The same table, options and number of blocks give the same bits with any number of threads.
 * Throws EMPTY_DATASET, INVALID_ARGUMENT, TRAINING_DIVERGED.
 */
export async function trainLinear(
  table: SparseTable,
  options: LinearOptions = {},
): Promise<LinearModel> {
  const settings = linearSettings(options)
  checkArgument('trainLinear', 'table', SPARSE_TABLE, table)
  const rows = options.rows ?? Uint32Array.from({ length: table.rows }, (_, row) => row)
  requireArgument(
    table.features <= MOST_FEATURES,
    `the examples have a feature with the id ${table.features - 1}, but at most ${MOST_FEATURES} features can be trained; number the features without large gaps`,
  )
  const given = options.weights
  requireArgument(
    given === undefined || given.length === table.rows,
    `there are ${given?.length} weights of ${table.rows} rows; give one for each`,
  )
  const labels = labelPair(table, rows)
  const scales = featureScales(table, rows, settings.scale)
  const trained = scales === undefined ? table : scaledTable(table, scales)
  const weights = rowWeights(table, given)
  const share = linearShare(trained, { rows, labels, settings, weights })
  await using threads = linearThreads(share, settings.threads)
  const run = new LinearRun({ share, labels, scales, rows: rows.length, settings, options })
  while (!run.ended) {
    options.signal?.throwIfAborted()
    Atomics.store(share.next, 1, run.round)
    Atomics.store(share.next, 2, run.passes)
    if (run.method === 'newton') await runPhase(threads, share, 'newton')
    else await coordinateRound(threads, share)
    run.finishRound()
  }
  return run.model()
}

/** How often each row counts: its weight times its importance; undefined where all count once. */
function rowWeights(
  { importance }: SparseTable,
  weights: Float32Array | undefined,
): Float32Array | undefined {
  if (importance === undefined || weights === undefined) return weights ?? importance
  return weights.map((weight, row) =>
    Math.min(MOST_WEIGHT, Math.max(1 / MOST_WEIGHT, weight * importance[row]!)),
  )
}

/** Keeps the weight of a row above 0 and finite in float32. */
const MOST_WEIGHT = 1e37

function linearThreads(share: LinearShare, threads: number): TrainingThreads<LinearPhase> {
  if (threads === 0) return callingThread(new LinearSolver(share))
  return workerThreads(
    siblingModule('./worker', import.meta.url),
    usefulThreads(threads, { blocks: share.blocks, nonZeros: share.table.values.length }),
    () => share,
  )
}

async function coordinateRound(
  threads: TrainingThreads<LinearPhase>,
  share: LinearShare,
): Promise<void> {
  await runPhase(threads, share, 'local')
  if (share.blocks > 1) await runPhase(threads, share, 'combine')
  await runPhase(threads, share, 'certify')
}

async function runPhase(
  threads: TrainingThreads<LinearPhase>,
  share: LinearShare,
  phase: LinearPhase,
): Promise<void> {
  Atomics.store(share.next, 0, 0)
  await threads.run(phase)
}

/** Rounds of coordinate ascent until its speed is judged. */
const TRIAL_ROUNDS = 10
/** Newton's method takes over if coordinate ascent would need more than this number of further rounds. */
const MAX_FURTHER_ROUNDS = 40

/**
 * Fewest and most passes of a round. A certificate is a pass of its own, but a round that is too long goes on after the
 * tolerance is reached.
 */
const LEAST_PASSES = 2
const MOST_PASSES = 10

interface LinearRunParts {
  readonly share: LinearShare
  readonly labels: LabelPair
  /** Factor of the values of each feature; undefined: none. */
  readonly scales: Float64Array | undefined
  /** Number of rows to train on. */
  readonly rows: number
  readonly settings: LinearSettings
  readonly options: LinearOptions
}

/** State between the rounds: progress, the best weights, and whether to stop. */
class LinearRun {
  private readonly share: LinearShare
  private readonly labels: LabelPair
  private readonly scales: Float64Array | undefined
  private readonly rows: number
  private readonly settings: LinearSettings
  private readonly options: LinearOptions
  private readonly startMs: number
  private readonly history: LinearProgress[] = []
  private readonly best: Float64Array
  private lowestPrimal = Number.POSITIVE_INFINITY
  private highestDual = Number.NEGATIVE_INFINITY
  private bestAccuracy = Number.NEGATIVE_INFINITY
  private sinceBest = 0
  private converged = false
  ended = false
  method: 'coordinate' | 'newton'

  constructor(parts: LinearRunParts) {
    this.share = parts.share
    this.labels = parts.labels
    this.scales = parts.scales
    this.rows = parts.rows
    this.method = parts.settings.solver === 'newton' ? 'newton' : 'coordinate'
    this.settings = parts.settings
    this.options = parts.options
    this.startMs = parts.settings.clock.monotonicMs()
    this.best = new Float64Array(parts.share.weights.length)
  }

  /** Number of the round to run, from 1. */
  get round(): number {
    return this.history.length + 1
  }

  /** Passes of the round to run, where rounds differ: half of what is missing at the speed of the last round. */
  get passes(): number {
    const [before, last] = this.history.slice(-2)
    if (before === undefined || last === undefined) return LEAST_PASSES
    const perPass = Math.log(before.relativeGap / last.relativeGap) / (last.passes - before.passes)
    const missing = Math.log(last.relativeGap / this.settings.tolerance) / perPass
    return Math.round(Math.min(MOST_PASSES, Math.max(LEAST_PASSES, missing / 2)))
  }

  finishRound(): void {
    const { share, settings, options } = this
    const { half, absolute } = penaltiesOf(share.weights, share.l1)
    const primal = half + share.l1 * absolute + sum(share.losses)
    const dual = Math.max(sum(share.duals) - half, this.dualOfGradient(primal))
    if (!Number.isFinite(primal) || !Number.isFinite(dual)) {
      throw new WeirError(
        'TRAINING_DIVERGED',
        `the objective of round ${this.round} is not finite; scale the features down`,
        { details: { round: this.round } },
      )
    }
    const isLower = primal < this.lowestPrimal
    this.lowestPrimal = Math.min(this.lowestPrimal, primal)
    this.highestDual = Math.max(this.highestDual, dual)
    const accuracy = this.validate()
    const isBetter = accuracy !== undefined && accuracy > this.bestAccuracy
    this.sinceBest = isBetter ? 0 : this.sinceBest + 1
    if (isBetter) this.bestAccuracy = accuracy
    const stopsEarly = accuracy !== undefined && settings.patience < Number.POSITIVE_INFINITY
    if (stopsEarly ? isBetter : isLower) this.best.set(share.weights)
    const relativeGap = (this.lowestPrimal - this.highestDual) / Math.abs(this.lowestPrimal || 1)
    const progress: LinearProgress = {
      round: this.round,
      primal,
      dual: this.highestDual,
      relativeGap,
      ...this.gradient(),
      passes: sum(share.steps) / this.rows,
      ...(accuracy === undefined ? {} : { validationAccuracy: accuracy }),
      seconds: (settings.clock.monotonicMs() - this.startMs) / 1000,
    }
    this.history.push(progress)
    this.converged =
      relativeGap <= settings.tolerance || (stopsEarly && this.sinceBest >= settings.patience)
    this.ended = this.converged || progress.round >= settings.maxRounds
    if (this.isSlow()) this.method = 'newton'
    options.onProgress?.(progress)
  }

  /**
   * Dual objective of alpha = -C L'(margin): below the primal one by 1/2 |gradient|^2. With one block the
   * dual variables of coordinate ascent are about as good and are free.
   */
  private dualOfGradient(primal: number): number {
    const { weights, local, loss, l1 } = this.share
    if (loss === 'hinge' || l1 > 0 || local.length === 0 || this.method === 'newton') {
      return Number.NEGATIVE_INFINITY
    }
    let square = 0
    for (let j = 0; j < weights.length; j++) {
      let slope = weights[j] as number
      for (const part of local) slope += part[j] as number
      square += slope * slope
    }
    return primal - square / 2
  }

  /** Length of the gradient, where the round was a step of Newton's method. */
  private gradient(): Pick<LinearProgress, 'relativeGradient'> {
    if (this.method !== 'newton') return {}
    const [length = 0, atZero = 0] = this.share.gradients
    return { relativeGradient: length / (atZero || 1) }
  }

  /** Whether coordinate ascent, at the speed of its last rounds, is far from the tolerance. */
  private isSlow(): boolean {
    const { solver, loss, l1 } = this.settings
    if (solver !== 'auto' || loss === 'hinge' || l1 > 0) return false
    if (this.method === 'newton' || this.round <= TRIAL_ROUNDS) return false
    const now = this.history.at(-1)?.relativeGap ?? 0
    const before = this.history.at(-TRIAL_ROUNDS)?.relativeGap ?? 0
    const perRound = Math.log(before / now) / (TRIAL_ROUNDS - 1)
    const further = Math.log(now / this.settings.tolerance) / perRound
    return !(further <= MAX_FURTHER_ROUNDS)
  }

  private validate(): number | undefined {
    const { validation } = this.options
    if (validation === undefined) return undefined
    const { table } = validation
    const rows = validation.rows ?? Uint32Array.from({ length: table.rows }, (_, row) => row)
    if (rows.length === 0) return undefined
    const model = this.modelOf(this.share.weights)
    let right = 0
    for (const row of rows) {
      if (model.labelOf(model.decisionOfRow(table, row)) === table.labels[row]) right++
    }
    return right / rows.length
  }

  /** The model of the best weights. */
  model(): LinearModel {
    return this.modelOf(this.best.slice())
  }

  private modelOf(weights: Float64Array): LinearModel {
    const last = weights.length - 1
    const { scales } = this
    const { l1 } = this.settings
    const sums = weights.subarray(0, last)
    const features = l1 > 0 ? sums.map((value) => shrunk(value, l1)) : sums
    return new LinearModel({
      loss: this.settings.loss,
      labels: this.labels,
      weights: scales === undefined ? features : features.map((w, j) => w * (scales[j] as number)),
      intercept: (weights[last] as number) * this.settings.bias,
      history: this.history,
      converged: this.converged,
    })
  }
}

/** 1/2 |w|^2 and the sum of |w| of the weights of sums; the last weight, that of the constant feature, is its sum. */
function penaltiesOf(
  sums: Float64Array,
  l1: number,
): { readonly half: number; readonly absolute: number } {
  const last = sums.length - 1
  let squares = 0
  let absolute = 0
  for (let j = 0; j <= last; j++) {
    const weight = j === last ? sums[j]! : shrunk(sums[j]!, l1)
    squares += weight * weight
    if (j < last) absolute += Math.abs(weight)
  }
  return { half: squares / 2, absolute }
}

function sum(values: Float64Array): number {
  let total = 0
  for (const value of values) total += value
  return total
}
