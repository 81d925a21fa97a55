import { type Clock, systemClock } from '../../../core/clock.ts'
import { requireArgument } from '../../../core/errors.ts'
import {
  aFunction,
  flag,
  numberIn,
  objectWith,
  oneOf,
  wholeNumber,
} from '../../../core/options/kinds.ts'
import { CLOCK, SIGNAL } from '../../../core/options/ports.ts'
import { checkOptions, type OptionShape } from '../../../core/options/shape.ts'
import { PENALTY_SCALINGS, type PenaltyScaling } from '../../../models/als/penalty.ts'
import type { AlsRowKind } from '../../../models/als/row-key.ts'
import type { RatingsTable } from '../../data/ratings-table.ts'

/** Exact solve, or a few conjugate gradient steps from the row of the previous iteration. */
export type AlsSolverKind = 'cholesky' | 'cg'

/**
 * Meaning of a rating. Explicit: how much the user likes the item. Implicit: the user used the item,
 * with confidence 1 + alpha |rating| (a negative rating: the user rejected it). An item without a
 * rating counts as not wanted, with confidence 1.
 */
export type AlsFeedback = 'explicit' | 'implicit'

/** Progress of `trainAls` after a half iteration. */
export interface AlsProgress {
  /** Number of the iteration, from 1. */
  readonly iteration: number
  /** The side whose rows were solved. */
  readonly side: 'users' | 'items'
  /** Squared errors plus penalties over the training set; falls with every half iteration. */
  readonly objective: number
  /** Root mean squared error of the training ratings, not clipped; explicit feedback. */
  readonly trainRmse?: number
  /** Of the validation ratings, after each item half; explicit feedback. */
  readonly validationRmse?: number
  /** NDCG at 10 on the validation ratings, after each item half; implicit feedback. */
  readonly validationNdcg?: number
  readonly seconds: number
}

/** Device to train on; `auto` is a GPU if it is faster in a short trial, else the CPU. */
export type AlsDeviceChoice = 'auto' | 'cpu' | 'gpu'

/** Device that training runs on: the CPU, or a GPU with this provider of ONNX Runtime. */
export type AlsDeviceName = 'cpu' | 'webgpu' | 'cuda'

/** A served row to start from (`models/als/row.ts`); undefined if there is none. */
export type StartingRows = (kind: AlsRowKind, id: string) => Float32Array | undefined

/** Options of `trainAls`. */
export interface AlsOptions {
  /** Latent factors, 1 to 1024; biases add two columns to a served row. @default 50 */
  readonly factors?: number
  /** @default 15 */
  readonly iterations?: number
  /** User and item biases, solved jointly with the factors. @default true with explicit feedback */
  readonly biases?: boolean
  /** @default 'explicit' */
  readonly feedback?: AlsFeedback
  /** Confidence that an implicit rating of 1 adds. @default 1 */
  readonly alpha?: number
  /** Lambda. @default 1.3 with 'sqrt-n', 0.12 with 'n', 10 with 'constant'; implicit: 3, 0.3, 30 */
  readonly regularization?: number
  /** Lambda of the biases. @default half of `regularization` */
  readonly biasRegularization?: number
  /**
   * A rating counts half as much when it is this much older than the newest one, ms: the solver weighs its square, and n
   * of the penalty is the sum of the weights; an implicit one fades to half its value. All need a time.
   * @default all count the same
   */
  readonly halfLifeMs?: number
  /** @default 'sqrt-n' with biases or implicit feedback, else 'n' */
  readonly penalty?: PenaltyScaling
  /** @default 'cholesky' up to 32 factors and with weights by age, else 'cg'; a GPU has 'cg' only */
  readonly solver?: AlsSolverKind
  /** Conjugate gradient steps of a row and half iteration. @default 3 */
  readonly cgSteps?: number
  /** Worker threads; 0 solves in the calling thread. The result does not depend on it. @default 1 */
  readonly threads?: number
  /** A GPU needs the package onnxruntime-node. @default 'cpu' */
  readonly device?: AlsDeviceChoice
  /** Called once with the device, and with the reason if `auto` chose the CPU. */
  readonly onDevice?: (device: AlsDeviceName, reason?: string) => void
  /** Seed of the initial factors. @default 1 */
  readonly seed?: number
  /**
   * Rows of an earlier model to start from, with biases as here and as many factors or fewer; other rows start at random, and
   * so do the factors that these lack.
   */
  readonly startingRows?: StartingRows
  /** Validation ratings: their error is reported, and training can stop on it. */
  readonly validation?: RatingsTable
  /**
   * Stops after this number of iterations without a lower validation error; keeps the best rows.
   * @default never
   */
  readonly patience?: number
  readonly onProgress?: (progress: AlsProgress) => void
  /** Stops training between half iterations with the reason of the signal. */
  readonly signal?: AbortSignal
  /** @default the machine's */
  readonly clock?: Clock
}

const ALS: OptionShape<AlsOptions> = {
  factors: wholeNumber({ min: 1, max: 1024 }),
  iterations: wholeNumber({ min: 1, max: 10_000 }),
  biases: flag,
  feedback: oneOf('explicit', 'implicit'),
  alpha: numberIn({ above: 0 }),
  regularization: numberIn({ above: 0 }),
  biasRegularization: numberIn({ above: 0 }),
  halfLifeMs: numberIn({ above: 0 }),
  penalty: oneOf(...PENALTY_SCALINGS),
  solver: oneOf('cholesky', 'cg'),
  cgSteps: wholeNumber({ min: 1, max: 1000 }),
  threads: wholeNumber({ min: 0, max: 256 }),
  device: oneOf('auto', 'cpu', 'gpu'),
  onDevice: aFunction(),
  seed: numberIn(),
  startingRows: aFunction(),
  validation: objectWith('a table of ratings'),
  patience: numberIn({ min: 1, orInfinity: true }),
  onProgress: aFunction(),
  signal: SIGNAL,
  clock: CLOCK,
}

/** Options with every default filled in. */
export interface AlsSettings {
  readonly factors: number
  readonly iterations: number
  readonly biases: boolean
  readonly feedback: AlsFeedback
  readonly alpha: number
  readonly regularization: number
  readonly biasRegularization: number
  readonly halfLifeMs: number | undefined
  readonly penalty: PenaltyScaling
  readonly solver: AlsSolverKind
  readonly cgSteps: number
  readonly threads: number
  readonly seed: number
  readonly patience: number
  readonly clock: Clock
}

/** Chosen on MovieLens 100K; `docs/guide/training.md` has the figures. */
const DEFAULT_REGULARIZATION: Readonly<
  Record<AlsFeedback, Readonly<Record<PenaltyScaling, number>>>
> = {
  explicit: { n: 0.12, 'sqrt-n': 1.3, constant: 10 },
  implicit: { n: 0.3, 'sqrt-n': 3, constant: 30 },
}

/** Largest number of factors that is solved exactly by default. */
const EXACT_UP_TO = 32

/** What a version says about its training, with every default filled in: retraining and learning go on from it. */
export function alsHyperparameters(
  options: AlsOptions,
): Readonly<Record<string, number | string | boolean>> {
  const { feedback, alpha, factors, iterations, biases, regularization, penalty, solver, seed } =
    alsSettings(options)
  const { halfLifeMs } = options
  return {
    feedback,
    ...(feedback === 'implicit' ? { alpha } : {}),
    ...(halfLifeMs === undefined ? {} : { halfLifeMs }),
    ...{ factors, iterations, biases, regularization, penalty, solver, seed },
  }
}

/** Checks options and fills in defaults. Throws INVALID_ARGUMENT. */
export function alsSettings(options: AlsOptions): AlsSettings {
  checkOptions('trainAls', ALS, options)
  const feedback = options.feedback ?? 'explicit'
  const biases = options.biases ?? feedback === 'explicit'
  const penalty = options.penalty ?? (biases || feedback === 'implicit' ? 'sqrt-n' : 'n')
  const factors = options.factors ?? 50
  const regularization = options.regularization ?? DEFAULT_REGULARIZATION[feedback][penalty]
  const isWeighted = feedback === 'explicit' && options.halfLifeMs !== undefined
  const settings: AlsSettings = {
    factors,
    iterations: options.iterations ?? 15,
    biases,
    feedback,
    alpha: options.alpha ?? 1,
    regularization,
    biasRegularization: options.biasRegularization ?? regularization / 2,
    halfLifeMs: options.halfLifeMs,
    penalty,
    solver: options.solver ?? (factors <= EXACT_UP_TO || isWeighted ? 'cholesky' : 'cg'),
    cgSteps: options.cgSteps ?? 3,
    threads: options.threads ?? 1,
    seed: options.seed ?? 1,
    patience: options.patience ?? Number.POSITIVE_INFINITY,
    clock: options.clock ?? systemClock,
  }
  requireArgument(
    feedback === 'explicit' || !settings.biases,
    'implicit feedback does not support biases; turn them off',
  )
  requireArgument(
    options.device !== 'gpu' || options.solver !== 'cholesky',
    'a GPU supports only the solver cg; remove the solver option or train on the CPU',
  )
  requireArgument(
    !isWeighted || (settings.solver === 'cholesky' && (options.device ?? 'cpu') === 'cpu'),
    'explicit ratings with a half-life are solved exactly, on the CPU; remove the solver and the device',
  )
  return settings
}
