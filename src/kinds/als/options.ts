import { requireArgument } from '../../core/errors.ts'
import type { OnlineRuleOptions } from '../../models/als/online/rules.ts'
import { BIAS_COLUMNS } from '../../models/als/row.ts'
import type { RegisteredVersion } from '../../models/registry/version.ts'
import type { AlsOptions } from '../../training/als/solver/options.ts'
import type { BmfOptions } from '../../training/bmf/options.ts'
import type { GoldenRatings } from '../port/golden-set.ts'
import type { Retraining } from '../port/kind.ts'

/** Trainer of a factor model: alternating least squares, or Bayesian factorisation. */
export type AlsTrainerName = 'als' | 'bmf'

/** Options of `trainAls` or `trainBmf` that are plain data and can be sent to the training process. */
export interface RetrainAlsOptions
  extends AlsTrainingOptions,
    Pick<BmfOptions, 'sweeps' | 'burnIn' | 'whoRated'> {
  /**
   * A chain of `bmf` starts from random rows; it takes `factors`, `sweeps`, `burnIn`, `whoRated`, `intervals`, `threads`,
   * `device` and `seed`.
   * @default 'als'
   */
  readonly trainer?: AlsTrainerName
  /** Whether a chain measures the variances of ratings and publishes them with the rows. @default false */
  readonly intervals?: boolean
  /** As that of `trainAls`; `auto` chooses it by the newest tenth of the ratings (`chooseHalfLife`). @default all count the same */
  readonly halfLifeMs?: number | 'auto'
  /** Files of features of users and of items, which a chain reads (`featuresAt`). @default no features */
  readonly userFeaturesFile?: string
  readonly itemFeaturesFile?: string
  /** Their hashes, which tell trainings on other features apart. @default those of the files when a retraining begins */
  readonly userFeaturesSha256?: string
  readonly itemFeaturesSha256?: string
}

type AlsTrainingOptions = Pick<
  AlsOptions,
  | 'factors'
  | 'iterations'
  | 'biases'
  | 'feedback'
  | 'alpha'
  | 'regularization'
  | 'penalty'
  | 'solver'
  | 'cgSteps'
  | 'threads'
  | 'device'
  | 'seed'
>

/** Options of a retraining of an ALS model. */
export interface AlsRetraining extends Retraining<GoldenRatings> {
  readonly als: RetrainAlsOptions
  /** How the candidate learns observations after the range. */
  readonly rule: OnlineRuleOptions
}

/** What the training process gets of an ALS model. */
export interface AlsTraining {
  readonly als: RetrainAlsOptions
  /** How later observations are learned. */
  readonly rule: OnlineRuleOptions
  /** Model file with the rows to start from. */
  readonly startingRows?: string
}

/** Factors of a training whose options do not say them: those of `trainAls`. */
const DEFAULT_FACTORS = 50

/**
 * Why a training cannot start from rows of a live version: they have more factors than it makes, whose loss could be anything,
 * or other columns. Undefined where it can: factors that the rows lack start at random.
 */
export function coldStart(
  { factors = DEFAULT_FACTORS, feedback, biases = feedback !== 'implicit' }: RetrainAlsOptions,
  { number, dimension, biased }: Pick<RegisteredVersion, 'number' | 'dimension' | 'biased'>,
): string | undefined {
  if (biased !== biases) {
    return `version ${number} has ${biased ? 'biases' : 'no biases'}, and this training makes rows with${biases ? '' : 'out'} them`
  }
  const held = dimension - (biased ? BIAS_COLUMNS : 0)
  if (held <= factors) return undefined
  return `version ${number} has ${held} factors, and this training makes rows with ${factors}`
}

/** Options of a retraining that `trainAls` does not have, and the half-life. */
const OF_OTHERS: ReadonlySet<string> = new Set([
  ...['trainer', 'sweeps', 'burnIn', 'whoRated', 'intervals', 'halfLifeMs'],
  ...['userFeaturesFile', 'itemFeaturesFile', 'userFeaturesSha256', 'itemFeaturesSha256'],
])

/** The options of `trainAls` among those of a retraining, apart from the half-life. */
export function alsOptionsIn(options: RetrainAlsOptions): AlsTrainingOptions {
  const own = Object.entries(options).filter(([name]) => !OF_OTHERS.has(name))
  return Object.fromEntries(own)
}

/** The options of `trainBmf` among those of a retraining, apart from the half-life. */
export function bmfOptionsIn(options: RetrainAlsOptions): BmfTrainingOptions {
  const { factors, sweeps, burnIn, whoRated, intervals: variance, threads, device, seed } = options
  requireArgument(
    device !== 'auto',
    'a chain has no trial of both devices; give cpu or gpu as the device',
  )
  const chain = { factors, sweeps, burnIn, whoRated, variance, threads, device, seed }
  const given = Object.entries(chain)
  return Object.fromEntries(given.filter(([, value]) => value !== undefined))
}

type BmfTrainingOptions = Pick<
  BmfOptions,
  'factors' | 'sweeps' | 'burnIn' | 'whoRated' | 'variance' | 'threads' | 'device' | 'seed'
>
