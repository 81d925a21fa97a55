import { type Clock, systemClock } from '../../core/clock.ts'
import { requireArgument } from '../../core/errors.ts'
import {
  aFunction,
  flag,
  kindOf,
  numberIn,
  objectWith,
  oneOf,
  wholeNumber,
} from '../../core/options/kinds.ts'
import { CLOCK, SIGNAL } from '../../core/options/ports.ts'
import { checkOptions, type OptionShape } from '../../core/options/shape.ts'
import type { AlsDeviceName } from '../als/solver/options.ts'
import type { FeatureTable } from '../data/feature-table.ts'
import type { RatingsTable } from '../data/ratings-table.ts'
import type { ChainStore } from './chain-state.ts'

/** Progress of `trainBmf` after a sweep. */
export interface BmfProgress {
  /** Number of the sweep, from 1. */
  readonly sweep: number
  /** Whether the sweep counts for the posterior means; false during burn-in. */
  readonly kept: boolean
  /** Root mean squared error of the training ratings at the current draw, not clipped. */
  readonly trainRmse: number
  /** Of the validation ratings: with the mean rows so far, or during burn-in with the current draw. */
  readonly validationRmse?: number
  /** Standard deviation of a rating around its prediction, as the chain draws it. */
  readonly noise: number
  readonly seconds: number
}

/** Device to draw on. No trial chooses it: the graphs of a chain take seconds to compile. */
export type BmfDeviceChoice = 'cpu' | 'gpu'

/** Options of `trainBmf`. */
export interface BmfOptions {
  /** Latent factors, 1 to 1024; biases add two columns to a served row. @default 16 */
  readonly factors?: number
  /** Sweeps of the chain; each draws all user rows and all item rows. @default 30 */
  readonly sweeps?: number
  /** First sweeps, which the posterior means leave out. @default 6, or half of fewer than 12 sweeps */
  readonly burnIn?: number
  /**
   * A rating counts half as much when it is this much older than the newest one, ms: its likelihood is taken to the
   * power of its weight. All need a time, and the chain a CPU. @default all count the same
   */
  readonly halfLifeMs?: number
  /**
   * Worker threads; 0 draws in the calling thread. For a GPU they compute random numbers. The result does not depend on
   * it. @default 1
   */
  readonly threads?: number
  /** A GPU needs the package onnxruntime-node, and takes up to 128 factors. @default 'cpu' */
  readonly device?: BmfDeviceChoice
  /** Called once with the device. */
  readonly onDevice?: (device: AlsDeviceName) => void
  /** Also measures the posterior variance of scores, and the noise of each user's ratings. @default false */
  readonly variance?: boolean
  /**
   * Features of users and of items, of which the prior mean of a row is a regression. Ids of a table that have no rating get a
   * row from their features. A CPU draws them. @default rows of a side have one prior mean
   */
  readonly userFeatures?: FeatureTable
  readonly itemFeatures?: FeatureTable
  /**
   * Whether who rated what is a feature of both sides, whatever the ratings are. It helps where the pairs to predict are like
   * those that were rated, and not where they come later. A CPU draws them. @default false
   */
  readonly whoRated?: boolean
  /** Seed of every random number of the chain. @default 1 */
  readonly seed?: number
  /** Validation ratings, whose error is reported after every sweep. */
  readonly validation?: RatingsTable
  /** Where the state of the chain is stored, so that a killed training continues. @default nowhere */
  readonly store?: ChainStore
  /** Sweeps from one stored state to the next. @default 10 */
  readonly storeEvery?: number
  readonly onProgress?: (progress: BmfProgress) => void
  /** Stops training between half sweeps with the reason of the signal. */
  readonly signal?: AbortSignal
  /** @default the machine's */
  readonly clock?: Clock
}

const FEATURES = kindOf<FeatureTable>(
  'a table of features, as readFeatures(...) gives it',
  (given) => Array.isArray((given as Partial<FeatureTable> | null)?.names),
)

const BMF: OptionShape<BmfOptions> = {
  factors: wholeNumber({ min: 1, max: 1024 }),
  sweeps: wholeNumber({ min: 1, max: 100_000 }),
  burnIn: wholeNumber({ min: 0, max: 100_000 }),
  halfLifeMs: numberIn({ above: 0 }),
  threads: wholeNumber({ min: 0, max: 256 }),
  device: oneOf('cpu', 'gpu'),
  onDevice: aFunction(),
  variance: flag,
  userFeatures: FEATURES,
  itemFeatures: FEATURES,
  whoRated: flag,
  seed: numberIn(),
  validation: objectWith('a table of ratings'),
  store: objectWith('a store, such as chainFile(path)', 'load', 'save'),
  storeEvery: wholeNumber({ min: 1, max: 100_000 }),
  onProgress: aFunction(),
  signal: SIGNAL,
  clock: CLOCK,
}

/** Options with every default filled in. */
export interface BmfSettings {
  readonly factors: number
  readonly sweeps: number
  readonly burnIn: number
  readonly halfLifeMs: number | undefined
  readonly threads: number
  readonly variance: boolean
  readonly userFeatures: FeatureTable | undefined
  readonly itemFeatures: FeatureTable | undefined
  readonly whoRated: boolean
  readonly seed: number
  readonly storeEvery: number
  readonly clock: Clock
}

/** Most factors on a GPU, whose graph has seven operations for each. */
const GPU_FACTORS = 128

/** Checks options and fills in defaults. Throws INVALID_ARGUMENT. */
export function bmfSettings(options: BmfOptions): BmfSettings {
  checkOptions('trainBmf', BMF, options)
  const sweeps = options.sweeps ?? 30
  const settings: BmfSettings = {
    factors: options.factors ?? 16,
    sweeps,
    burnIn: options.burnIn ?? Math.min(6, Math.floor(sweeps / 2)),
    halfLifeMs: options.halfLifeMs,
    threads: options.threads ?? 1,
    variance: options.variance ?? false,
    userFeatures: options.userFeatures,
    itemFeatures: options.itemFeatures,
    whoRated: options.whoRated ?? false,
    seed: options.seed ?? 1,
    storeEvery: options.storeEvery ?? 10,
    clock: options.clock ?? systemClock,
  }
  requireArgument(
    options.device !== 'gpu' || settings.factors <= GPU_FACTORS,
    `a GPU draws rows of up to ${GPU_FACTORS} factors, not ${settings.factors}; train on the CPU`,
  )
  requireArgument(
    settings.halfLifeMs === undefined || options.device !== 'gpu',
    'a chain draws ratings with a half-life on the CPU only; remove the device',
  )
  requireArgument(
    !hasFeatures(settings) || options.device !== 'gpu',
    'a chain draws rows with features on the CPU only; remove the device',
  )
  requireArgument(
    !settings.variance || settings.burnIn + 1 < settings.sweeps,
    `a variance needs two sweeps after burn-in; give more than ${settings.sweeps} sweeps`,
  )
  requireArgument(
    settings.burnIn < settings.sweeps,
    `burnIn (${settings.burnIn}) must be below the number of sweeps (${settings.sweeps}), or no sweep is left for the means`,
  )
  return settings
}

/** Whether rows have features, on either side. */
export function hasFeatures({
  userFeatures,
  itemFeatures,
  whoRated,
}: Pick<BmfSettings, 'userFeatures' | 'itemFeatures' | 'whoRated'>): boolean {
  return whoRated || userFeatures !== undefined || itemFeatures !== undefined
}
