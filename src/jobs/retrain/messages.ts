import type { TopicsPlace } from '../../connectors/topics/place.ts'
import type { OnlineRuleOptions } from '../../models/als/online/rules.ts'
import type { TrainedWith } from '../../models/linear/trained-with.ts'
import type { DataRange } from '../../models/registry/ranges/data-range.ts'
import type { Hyperparameters } from '../../models/registry/version.ts'
import type { AlsOptions } from '../../training/als/solver/options.ts'
import type { BmfOptions } from '../../training/bmf/options.ts'
import type { LinearOptions } from '../../training/linear/options.ts'
import type { LeftOut } from '../observations/left-out.ts'

/** Trainer of a factor model: alternating least squares, or Bayesian factorisation. */
export type FactorsTrainer = 'als' | 'bmf'

/** Options of `trainAls` or `trainBmf` that are plain data and can be sent to the training process. */
export interface RetrainAlsOptions
  extends AlsTrainingOptions,
    Pick<BmfOptions, 'sweeps' | 'burnIn'> {
  /**
   * A chain of `bmf` starts from random rows; it takes `factors`, `sweeps`, `burnIn`, `threads` and `seed`. @default
   * 'als'
   */
  readonly trainer?: FactorsTrainer
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
  | 'seed'
>

/** The options of `trainAls` among those of a retraining. */
export function alsOptionsIn(options: RetrainAlsOptions): AlsTrainingOptions {
  const { trainer: _trainer, sweeps: _sweeps, burnIn: _burnIn, ...als } = options
  return als
}

/** The options of `trainBmf` among those of a retraining. */
export function bmfOptionsIn(options: RetrainAlsOptions): BmfTrainingOptions {
  const { factors, sweeps, burnIn, threads, seed } = options
  const given = Object.entries({ factors, sweeps, burnIn, threads, seed })
  return Object.fromEntries(given.filter(([, value]) => value !== undefined))
}

type BmfTrainingOptions = Pick<BmfOptions, 'factors' | 'sweeps' | 'burnIn' | 'threads' | 'seed'>

/**
 * Options of `trainLinear` that are plain data and can be sent to the training process. A candidate that
 * does not reach its `tolerance` fails the data check.
 */
export interface RetrainLinearOptions
  extends Pick<
    LinearOptions,
    | 'loss'
    | 'cost'
    | 'positiveWeight'
    | 'bias'
    | 'solver'
    | 'scale'
    | 'tolerance'
    | 'maxRounds'
    | 'threads'
    | 'seed'
  > {
  /** Examples with the id of a feature from here on are left out, as the job that learns refuses them. @default 2^27 */
  readonly maxFeatures?: number
  /** Features of one block of weights. @default that of the live version, else 1024 */
  readonly range?: number
}

/** What to train: the kind of the model, and its options. */
export type Training =
  | {
      readonly als: RetrainAlsOptions
      /** How later observations are learned. */
      readonly rule: OnlineRuleOptions
      /** Model file with the rows to start from. */
      readonly startingRows?: string
    }
  | {
      readonly linear: RetrainLinearOptions
      /** The labels of the live version: an example with another one is left out, as the job that learns refuses it. */
      readonly labels?: TrainedWith['labels']
    }

/** A request to the training process; each has one answer. */
export type TrainerRequest =
  /** Trains on the ranges. */
  | ({
      readonly kind: 'train'
      readonly place: TopicsPlace
      readonly ranges: readonly DataRange[]
    } & Training)
  /** Learns the observations of the ranges online; only for ALS models. */
  | { readonly kind: 'replay'; readonly ranges: readonly DataRange[] }
  /** Writes all current rows into a model file. */
  | { readonly kind: 'write'; readonly file: string }

/** Metadata of a trained model. */
export interface TrainedModelMetadata {
  readonly users: number
  readonly items: number
  readonly dimension: number
  readonly biased: boolean
  readonly globalMean: number
  /** Range of the ratings of an ALS model. */
  readonly minRating?: number
  readonly maxRating?: number
  readonly newestEventMs: number
  /** What training found out: labels and features of a linear model. */
  readonly found?: Hyperparameters
  /** Metrics for the lineage: objective, errors, and figures of the data. */
  readonly metrics: Readonly<Record<string, number>>
  /** Records of the ranges that cannot be read. */
  readonly leftOut?: LeftOut | undefined
  /** The ranges with what was read of them. */
  readonly ranges: readonly DataRange[]
}

/** The current value of a row that a replay changed. */
export interface ChangedRow {
  readonly key: string
  readonly vector: Float32Array
  /** Number of ratings that the row was trained on and has learned since. */
  readonly ratings?: number | undefined
}

/** An answer of the training process, or its progress before the answer. */
export type TrainerAnswer =
  | { readonly kind: 'progress'; readonly done: number; readonly total: number }
  | { readonly kind: 'trained'; readonly metadata: TrainedModelMetadata }
  | {
      readonly kind: 'replayed'
      /** Observations that were read, and those of them that the rule does not learn. */
      readonly observations: number
      readonly refused: number
      readonly leftOut?: LeftOut | undefined
      readonly newestEventMs: number
      /** Rows that changed since the last `replay` or `write`. */
      readonly rows: readonly ChangedRow[]
      /** The ranges with what was read of them. */
      readonly ranges: readonly DataRange[]
    }
  | { readonly kind: 'written'; readonly users: number; readonly items: number }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string }
