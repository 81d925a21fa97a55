import { type Clock, systemClock } from '../../core/clock.ts'
import { requireArgument } from '../../core/errors.ts'
import {
  aFunction,
  kindOf,
  numberIn,
  objectWith,
  oneOf,
  required,
  wholeNumber,
} from '../../core/options/kinds.ts'
import { CLOCK, SIGNAL } from '../../core/options/ports.ts'
import { checkOptions, nested, type OptionShape } from '../../core/options/shape.ts'
import type { FeatureScaling } from '../data/feature-scales.ts'
import type { SparseTable } from '../data/sparse-table.ts'
import type { LinearLossName } from './loss.ts'

/**
 * Method of `trainLinear`: `dual` is coordinate ascent, for every loss; `newton` is Newton's method, which no
 * scale of the features slows down, for the losses with a derivative; `auto` begins with coordinate ascent and
 * goes on with Newton's method where the former is slow.
 */
export type LinearSolverKind = 'auto' | 'dual' | 'newton'

/** Progress of `trainLinear` after a round. */
export interface LinearProgress {
  /** Number of the round, from 1. */
  readonly round: number
  /** Objective of the weights: 1/2 |w|^2 + l1 sum of |w| + C sum of losses. */
  readonly primal: number
  /** Highest dual objective so far; the best possible primal is between the two. */
  readonly dual: number
  /** (lowest primal so far - dual) / lowest primal: the certificate. */
  readonly relativeGap: number
  /** Length of the gradient relative to that at weights 0, after a step of Newton's method. */
  readonly relativeGradient?: number
  /** Coordinate steps so far, in passes over the rows; a Newton step counts as one pass. */
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
  /**
   * Penalty of the sum of the absolute weights, beside that of their squares (elastic net): weights that say little are exactly
   * 0. The weight of the constant feature has none. Not with the solver `newton`. @default 0
   */
  readonly l1?: number
  /** Cost of a positive example in those of a negative one, for labels of which one is rare. @default 1 */
  readonly positiveWeight?: number
  /**
   * How often each row of the table counts, above 0: its losses cost C times that. Rounded by at most 0.6 %.
   * @default 1 each
   */
  readonly weights?: Float32Array | undefined
  /** Value of the constant feature whose weight is the bias (penalised too); 0: none. @default 1 */
  readonly bias?: number
  /** @default 'auto' */
  readonly solver?: LinearSolverKind
  /**
   * Features are trained divided by their largest absolute value (`max`) or their standard deviation
   * (`deviation`). The weights are those of the features as they are: only the penalty is of scaled weights.
   * @default 'none'
   */
  readonly scale?: FeatureScaling
  /** Training stops at this relative duality gap. @default 0.0001, or 0.001 with several blocks, which need many rounds */
  readonly tolerance?: number
  /** Training stops after this number of rounds. @default 1000 */
  readonly maxRounds?: number
  /** Worker threads; 0 trains in the calling thread. The result does not depend on it. @default 1 */
  readonly threads?: number
  /**
   * Number of parts of the rows that are trained in parallel against the same weights (CoCoA's K). The
   * result depends on it. Each block occupies one thread, but more blocks need more rounds, usually so
   * many more that one block is faster. @default 1
   */
  readonly blocks?: number
  /**
   * Coordinate steps of a block in a round, as a multiple of its rows (CoCoA's H). @default 2; up to 10 in the later
   * rounds of the hinge loss in one block
   */
  readonly localPasses?: number
  /** The same as a number of steps; instead of `localPasses`. */
  readonly localSteps?: number
  /**
   * Share of each coordinate step that is taken, above 0 and at most 1. Smaller steps need more rounds.
   * @default 1
   */
  readonly stepSize?: number
  /** Seed of the order of rows. @default 1 */
  readonly seed?: number
  /** Rows to train on. @default all */
  readonly rows?: Uint32Array | undefined
  /** Rows (of another table or the same) whose accuracy is reported; training can stop on it. */
  readonly validation?: { readonly table: SparseTable; readonly rows?: Uint32Array }
  /** Stops after this number of rounds without a higher validation accuracy. @default never */
  readonly patience?: number
  readonly onProgress?: (progress: LinearProgress) => void
  /** Stops training between rounds with the reason of the signal. */
  readonly signal?: AbortSignal
  /** @default the machine's */
  readonly clock?: Clock
}

const ROWS = kindOf<Uint32Array>('a Uint32Array', (value) => value instanceof Uint32Array)
const WEIGHTS = kindOf<Float32Array>(
  'a Float32Array of numbers above 0',
  (value) => value instanceof Float32Array && value.every((each) => each > 0 && each < Infinity),
)
const LINEAR: OptionShape<LinearOptions> = {
  loss: oneOf('hinge', 'squared-hinge', 'logistic'),
  cost: numberIn({ above: 0 }),
  l1: numberIn({ min: 0 }),
  positiveWeight: numberIn({ above: 0 }),
  weights: WEIGHTS,
  bias: numberIn(),
  solver: oneOf('auto', 'dual', 'newton'),
  scale: oneOf('none', 'max', 'deviation'),
  tolerance: numberIn({ min: 0 }),
  maxRounds: wholeNumber({ min: 1, max: 1_000_000 }),
  threads: wholeNumber({ min: 0, max: 256 }),
  blocks: wholeNumber({ min: 1, max: 256 }),
  localPasses: numberIn({ above: 0 }),
  localSteps: wholeNumber({ min: 1, max: 2 ** 31 - 1 }),
  stepSize: numberIn({ above: 0, max: 1 }),
  seed: numberIn(),
  rows: ROWS,
  validation: nested<NonNullable<LinearOptions['validation']>>({
    table: required(objectWith('a table of examples')),
    rows: ROWS,
  }),
  patience: numberIn({ min: 1, orInfinity: true }),
  onProgress: aFunction(),
  signal: SIGNAL,
  clock: CLOCK,
}

/** Options with every default filled in. */
export interface LinearSettings {
  readonly loss: LinearLossName
  readonly cost: number
  readonly l1: number
  readonly positiveWeight: number
  readonly bias: number
  readonly solver: LinearSolverKind
  readonly scale: FeatureScaling
  readonly tolerance: number
  readonly maxRounds: number
  readonly threads: number
  readonly blocks: number
  readonly localPasses: number | undefined
  readonly localSteps: number | undefined
  readonly stepSize: number
  readonly seed: number
  readonly patience: number
  readonly clock: Clock
}

/** Default of `tolerance`. */
export function defaultTolerance(blocks = 1): number {
  return blocks > 1 ? 1e-3 : 1e-4
}

/** Checks options and fills in defaults. Throws INVALID_ARGUMENT. */
export function linearSettings(options: LinearOptions): LinearSettings {
  checkOptions('trainLinear', LINEAR, options)
  const settings: LinearSettings = {
    loss: options.loss ?? 'hinge',
    cost: options.cost ?? 1,
    l1: options.l1 ?? 0,
    positiveWeight: options.positiveWeight ?? 1,
    bias: options.bias ?? 1,
    solver: options.solver ?? 'auto',
    scale: options.scale ?? 'none',
    tolerance: options.tolerance ?? defaultTolerance(options.blocks),
    maxRounds: options.maxRounds ?? 1000,
    threads: options.threads ?? 1,
    blocks: options.blocks ?? 1,
    localPasses: options.localPasses,
    localSteps: options.localSteps,
    stepSize: options.stepSize ?? 1,
    seed: options.seed ?? 1,
    patience: options.patience ?? Number.POSITIVE_INFINITY,
    clock: options.clock ?? systemClock,
  }
  requireArgument(
    settings.solver !== 'newton' || settings.loss !== 'hinge',
    "Newton's method needs a loss with a derivative, which hinge has not at its kink; use squared-hinge or logistic, or the solver dual",
  )
  requireArgument(
    settings.solver !== 'newton' || settings.l1 === 0,
    "Newton's method needs a derivative of the penalty, which l1 has not at 0; use the solver dual or auto, or no l1",
  )
  return settings
}
