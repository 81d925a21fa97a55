import { type Clock, systemClock } from '../core/clock.ts'
import { requireArgument } from '../core/errors.ts'
import type { StartingRows } from './als-start.ts'
import type { RatingsTable } from './ratings-table.ts'

/** How the penalty of a row grows with its n ratings: lambda n (ALS-WR), lambda sqrt(n), lambda. */
export type PenaltyScaling = 'n' | 'sqrt-n' | 'constant'

/** Exact solve, or a few conjugate gradient steps from the previous iteration's row. */
export type AlsSolverKind = 'cholesky' | 'cg'

/**
 * What a rating says. Explicit: how much the item was liked. Implicit: that it was used, with a
 * confidence of 1 + alpha |rating| (a negative rating: that it was rejected); what was not rated
 * counts as not wanted with confidence 1.
 */
export type AlsFeedback = 'explicit' | 'implicit'

/** What `trainAls` reports after each half iteration. */
export interface AlsProgress {
  /** From 1. */
  readonly iteration: number
  /** Which rows were just solved. */
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

/** Where training runs; `auto` is a GPU where one takes less time in a trial, else the CPU. */
export type AlsDeviceChoice = 'auto' | 'cpu' | 'gpu'

/** What training runs on in the end: the CPU, or the GPU through this provider of ONNX Runtime. */
export type AlsDeviceName = 'cpu' | 'webgpu' | 'cuda'

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
  /** Confidence of an implicit rating of 1, beyond that of none. @default 1 */
  readonly alpha?: number
  /** Lambda. @default 1.3 with 'sqrt-n', 0.12 with 'n', 10 with 'constant'; implicit: 3, 0.3, 30 */
  readonly regularization?: number
  /** Lambda of the biases. @default half of `regularization` */
  readonly biasRegularization?: number
  /** @default 'sqrt-n' with biases or implicit feedback, else 'n' */
  readonly penalty?: PenaltyScaling
  /** @default 'cholesky' up to 32 factors, else 'cg'; a GPU has 'cg' only */
  readonly solver?: AlsSolverKind
  /** Conjugate gradient steps of a row and half iteration. @default 3 */
  readonly cgSteps?: number
  /** Worker threads; 0 solves in the calling thread. The result does not depend on it. @default 1 */
  readonly threads?: number
  /** A GPU needs the package onnxruntime-node. @default 'cpu' */
  readonly device?: AlsDeviceChoice
  /** Told once what training runs on, and why not on a GPU where `auto` took the CPU. */
  readonly onDevice?: (device: AlsDeviceName, reason?: string) => void
  /** Of the initial factors. @default 1 */
  readonly seed?: number
  /** Rows of an earlier model to go on from; ids that it lacks start at random. */
  readonly startingRows?: StartingRows
  /** Ratings kept apart: their error is reported, and training can stop on it. */
  readonly validation?: RatingsTable
  /**
   * Ends after so many iterations without a better validation error and keeps the best rows.
   * @default never
   */
  readonly patience?: number
  readonly onProgress?: (progress: AlsProgress) => void
  /** Ends training between half iterations with the signal's reason. */
  readonly signal?: AbortSignal
  /** @default the machine's */
  readonly clock?: Clock
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

/** Largest number of factors that is solved exactly unless told otherwise. */
const EXACT_UP_TO = 32

/** Checks options and fills in defaults. Throws INVALID_ARGUMENT. */
export function alsSettings(options: AlsOptions): AlsSettings {
  const feedback = options.feedback ?? 'explicit'
  const biases = options.biases ?? feedback === 'explicit'
  const penalty = options.penalty ?? (biases || feedback === 'implicit' ? 'sqrt-n' : 'n')
  const factors = options.factors ?? 50
  const regularization = options.regularization ?? DEFAULT_REGULARIZATION[feedback][penalty]
  const settings: AlsSettings = {
    factors,
    iterations: options.iterations ?? 15,
    biases,
    feedback,
    alpha: options.alpha ?? 1,
    regularization,
    biasRegularization: options.biasRegularization ?? regularization / 2,
    penalty,
    solver: options.solver ?? (factors <= EXACT_UP_TO ? 'cholesky' : 'cg'),
    cgSteps: options.cgSteps ?? 3,
    threads: options.threads ?? 1,
    seed: options.seed ?? 1,
    patience: options.patience ?? Number.POSITIVE_INFINITY,
    clock: options.clock ?? systemClock,
  }
  checkWhole('factors', settings.factors, 1, 1024)
  checkWhole('iterations', settings.iterations, 1, 10_000)
  checkWhole('cgSteps', settings.cgSteps, 1, 1000)
  checkWhole('threads', settings.threads, 0, 256)
  checkPositive('regularization', settings.regularization)
  checkPositive('alpha', settings.alpha)
  requireArgument(
    feedback === 'explicit' || !settings.biases,
    'implicit feedback has no biases; leave them out',
  )
  requireArgument(
    options.device !== 'gpu' || options.solver !== 'cholesky',
    'a GPU solves by conjugate gradient only; leave out the solver or train on the CPU',
  )
  checkPositive('biasRegularization', settings.biasRegularization)
  requireArgument(settings.patience >= 1, 'patience is a number of iterations from 1')
  return settings
}

function checkWhole(name: string, value: number, min: number, max: number): void {
  requireArgument(
    Number.isSafeInteger(value) && value >= min && value <= max,
    `${name} is a whole number from ${min} to ${max}, not ${value}`,
  )
}

function checkPositive(name: string, value: number): void {
  requireArgument(Number.isFinite(value) && value > 0, `${name} is greater than 0, not ${value}`)
}

/** What the penalty of a row with `count` ratings is multiplied with. */
export function penaltyFactor(penalty: PenaltyScaling, count: number): number {
  return penalty === 'n' ? count : penalty === 'sqrt-n' ? Math.sqrt(count) : 1
}
