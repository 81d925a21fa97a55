import { WeirError } from '../core/errors.ts'
import { LinearModel } from './linear-model.ts'
import {
  type LinearOptions,
  type LinearProgress,
  type LinearSettings,
  linearSettings,
} from './linear-options.ts'
import { type LabelPair, type LinearShare, labelPair, linearShare } from './linear-share.ts'
import { type LinearPhase, LinearSolver } from './linear-solver.ts'
import type { SparseTable } from './sparse-table.ts'
import { callingThread, type TrainingThreads, workerThreads } from './training-threads.ts'

/**
 * Trains a linear classifier on examples of two labels: minimises
 *
 *   1/2 (|w|^2 + b^2)  +  C sum over rows of L(y (w.x + b bias))
 *
 * by dual coordinate ascent over blocks of rows (see `LinearSolver`). The duality gap bounds how far
 * the objective can be from the best there is, and ends training. The weights handed back are those
 * of the lowest primal objective, or with `patience` of the best validation accuracy. The same
 * table, options and number of blocks give the same bits, whatever the number of threads. Throws
 * EMPTY_DATASET, INVALID_ARGUMENT, TRAINING_DIVERGED.
 */
export async function trainLinear(
  table: SparseTable,
  options: LinearOptions = {},
): Promise<LinearModel> {
  const settings = linearSettings(options)
  const rows = options.rows ?? Uint32Array.from({ length: table.rows }, (_, row) => row)
  const labels = labelPair(table, rows)
  const share = linearShare(table, rows, labels, settings)
  await using threads = linearThreads(share, settings.threads)
  const run = new LinearRun(share, labels, rows.length, settings, options)
  while (!run.ended) {
    options.signal?.throwIfAborted()
    Atomics.store(share.next, 1, run.round)
    await runPhase(threads, share, 'local')
    if (share.blocks > 1) await runPhase(threads, share, 'combine')
    await runPhase(threads, share, 'certify')
    run.finishRound()
  }
  return run.model()
}

function linearThreads(share: LinearShare, threads: number): TrainingThreads<LinearPhase> {
  if (threads === 0) return callingThread(new LinearSolver(share))
  return workerThreads('linear-worker', Math.min(threads, share.blocks), () => share)
}

async function runPhase(
  threads: TrainingThreads<LinearPhase>,
  share: LinearShare,
  phase: LinearPhase,
): Promise<void> {
  Atomics.store(share.next, 0, 0)
  await threads.run(phase)
}

/** Bookkeeping between rounds: the certificate, the best weights, and when to end. */
class LinearRun {
  private readonly share: LinearShare
  private readonly labels: LabelPair
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
  ended = false

  constructor(
    share: LinearShare,
    labels: LabelPair,
    rows: number,
    settings: LinearSettings,
    options: LinearOptions,
  ) {
    this.share = share
    this.labels = labels
    this.rows = rows
    this.settings = settings
    this.options = options
    this.startMs = settings.clock.monotonicMs()
    this.best = new Float64Array(share.weights.length)
  }

  /** Number of the round to run, from 1. */
  get round(): number {
    return this.history.length + 1
  }

  finishRound(): void {
    const { share, settings, options } = this
    const half = halfSquare(share.weights)
    const primal = half + sum(share.losses)
    const dual = sum(share.duals) - half
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
      dual,
      relativeGap,
      passes: sum(share.steps) / this.rows,
      ...(accuracy === undefined ? {} : { validationAccuracy: accuracy }),
      seconds: (settings.clock.monotonicMs() - this.startMs) / 1000,
    }
    this.history.push(progress)
    this.ended =
      relativeGap <= settings.tolerance ||
      progress.round >= settings.maxRounds ||
      (stopsEarly && this.sinceBest >= settings.patience)
    options.onProgress?.(progress)
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
    return new LinearModel({
      loss: this.settings.loss,
      labels: this.labels,
      weights: weights.subarray(0, last),
      intercept: (weights[last] as number) * this.settings.bias,
      history: this.history,
    })
  }
}

function halfSquare(values: Float64Array): number {
  let total = 0
  for (const value of values) total += value * value
  return total / 2
}

function sum(values: Float64Array): number {
  let total = 0
  for (const value of values) total += value
  return total
}
