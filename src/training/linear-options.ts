import { type Clock, systemClock } from '../core/clock.ts'
import { requireArgument } from '../core/errors.ts'
import type { LinearLossName } from './linear-loss.ts'
import type { SparseTable } from './sparse-table.ts'

/** What `trainLinear` reports after each round. */
export interface LinearProgress {
  /** From 1. */
  readonly round: number
  /** Objective of the weights: 1/2 |w|^2 + C sum of losses. */
  readonly primal: number
  /** Objective of the dual variables; the best primal there is lies between the two. */
  readonly dual: number
  /** (lowest primal so far - dual) / lowest primal: the certificate. */
  readonly relativeGap: number
  /** Coordinate steps so far, in passes over the rows. */
  readonly passes: number
  /** Share of the validation rows whose label was predicted. */
  readonly validationAccuracy?: number
  readonly seconds: number
}

/** Options of `trainLinear`. */
export interface LinearOptions {
  /** @default 'hinge' */
  readonly loss?: LinearLossName
  /** C: weight of the losses against the square of the weights. @default 1 */
  readonly cost?: number
  /** Value of the constant feature whose weight is the bias (penalised too); 0: none. @default 1 */
  readonly bias?: number
  /** Training ends when the relative duality gap is at most this. @default 0.001 */
  readonly tolerance?: number
  /** Or after so many rounds. @default 1000 */
  readonly maxRounds?: number
  /** Worker threads; 0 trains in the calling thread. The result does not depend on it. @default 1 */
  readonly threads?: number
  /**
   * Parts of the rows that are trained side by side against the same weights (CoCoA's K); the
   * result depends on it. More of them need more rounds. @default as many as threads
   */
  readonly blocks?: number
  /** Coordinate steps of a block in a round, as a multiple of its rows (CoCoA's H). @default 2 */
  readonly localPasses?: number
  /** Of the order of rows. @default 1 */
  readonly seed?: number
  /** Rows to train on. @default all */
  readonly rows?: Uint32Array | undefined
  /** Rows (of another table or the same) whose accuracy is reported; training can stop on it. */
  readonly validation?: { readonly table: SparseTable; readonly rows?: Uint32Array }
  /** Ends after so many rounds without a better validation accuracy. @default never */
  readonly patience?: number
  readonly onProgress?: (progress: LinearProgress) => void
  /** Ends training between rounds with the signal's reason. */
  readonly signal?: AbortSignal
  /** @default the machine's */
  readonly clock?: Clock
}

/** Options with every default filled in. */
export interface LinearSettings {
  readonly loss: LinearLossName
  readonly cost: number
  readonly bias: number
  readonly tolerance: number
  readonly maxRounds: number
  readonly threads: number
  readonly blocks: number
  readonly localPasses: number
  readonly seed: number
  readonly patience: number
  readonly clock: Clock
}

/** Checks options and fills in defaults. Throws INVALID_ARGUMENT. */
export function linearSettings(options: LinearOptions): LinearSettings {
  const threads = options.threads ?? 1
  const settings: LinearSettings = {
    loss: options.loss ?? 'hinge',
    cost: options.cost ?? 1,
    bias: options.bias ?? 1,
    tolerance: options.tolerance ?? 1e-3,
    maxRounds: options.maxRounds ?? 1000,
    threads,
    blocks: options.blocks ?? Math.max(1, threads),
    localPasses: options.localPasses ?? 2,
    seed: options.seed ?? 1,
    patience: options.patience ?? Number.POSITIVE_INFINITY,
    clock: options.clock ?? systemClock,
  }
  const { cost, bias, tolerance, localPasses, patience } = settings
  requireArgument(cost > 0 && Number.isFinite(cost), `cost is greater than 0, not ${cost}`)
  requireArgument(Number.isFinite(bias), `bias is a finite number, not ${bias}`)
  requireArgument(tolerance >= 0, `tolerance is a relative gap from 0, not ${tolerance}`)
  requireArgument(
    localPasses > 0 && Number.isFinite(localPasses),
    `localPasses is greater than 0, not ${localPasses}`,
  )
  requireArgument(patience >= 1, 'patience is a number of rounds from 1')
  checkWhole('maxRounds', settings.maxRounds, 1, 1_000_000)
  checkWhole('threads', settings.threads, 0, 256)
  checkWhole('blocks', settings.blocks, 1, 256)
  return settings
}

function checkWhole(name: string, value: number, min: number, max: number): void {
  requireArgument(
    Number.isSafeInteger(value) && value >= min && value <= max,
    `${name} is a whole number from ${min} to ${max}, not ${value}`,
  )
}
