import type { TopicsPlace } from '../connectors/topics/open-topics.ts'
import type { OnlineRuleOptions } from '../models/online-rules.ts'
import type { DataRange } from '../models/registry-version.ts'
import type { AlsFeedback, AlsSolverKind, PenaltyScaling } from '../training/als-options.ts'

/** Options of training that can travel: those of `trainAls` that are plain data. */
export interface RetrainAlsOptions {
  readonly factors?: number
  readonly iterations?: number
  readonly biases?: boolean
  readonly feedback?: AlsFeedback
  readonly alpha?: number
  readonly regularization?: number
  readonly penalty?: PenaltyScaling
  readonly solver?: AlsSolverKind
  readonly cgSteps?: number
  readonly threads?: number
  readonly seed?: number
}

/** What the training process is asked. Each request has one answer. */
export type TrainerRequest =
  /** Trains on the ranges. */
  | {
      readonly kind: 'train'
      readonly place: TopicsPlace
      readonly ranges: readonly DataRange[]
      readonly als: RetrainAlsOptions
      /** How observations after the ranges are learned. */
      readonly rule: OnlineRuleOptions
      /** Model file with rows to start from. */
      readonly startingRows?: string
    }
  /** Learns the observations of the ranges, one by one. */
  | { readonly kind: 'replay'; readonly ranges: readonly DataRange[] }
  /** Writes all rows as they are now into a model file. */
  | { readonly kind: 'write'; readonly file: string }

/** What was trained. */
export interface TrainedFacts {
  readonly users: number
  readonly items: number
  readonly dimension: number
  readonly biased: boolean
  readonly globalMean: number
  readonly minRating: number
  readonly maxRating: number
  readonly newestEventMs: number
  /** Iterations, objective, error and data figures for the lineage. */
  readonly metrics: Readonly<Record<string, number>>
}

/** A row that a replay changed, as it is now. */
export interface ChangedRow {
  readonly key: string
  readonly vector: Float32Array
  /** Ratings that it was trained on and learned since. */
  readonly ratings?: number | undefined
}

/** Answers, and progress in between. */
export type TrainerAnswer =
  | { readonly kind: 'progress'; readonly done: number; readonly total: number }
  | { readonly kind: 'trained'; readonly facts: TrainedFacts }
  | {
      readonly kind: 'replayed'
      readonly observations: number
      readonly newestEventMs: number
      /** Rows that changed since the last `replay` or `write`. */
      readonly rows: readonly ChangedRow[]
    }
  | { readonly kind: 'written'; readonly users: number; readonly items: number }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string }
