import type { TopicsPlace } from '../../connectors/topics/place.ts'
import type { HistoryFiles, ReadPlace } from '../../models/observations/history.ts'
import type { LeftOut } from '../../models/observations/left-out.ts'
import type { DataRange } from '../../models/registry/ranges/data-range.ts'
import type { Hyperparameters } from '../../models/registry/version.ts'
import type { ModelVersionMarker } from '../../models/registry/version-marker.ts'

/** Observations that a model is trained on. */
export interface TrainingData {
  readonly place: TopicsPlace
  readonly ranges: readonly DataRange[]
  /** Files that are read before the ranges. @default none */
  readonly history?: HistoryFiles
}

/** Metadata of a trained model. */
export interface TrainedModelMetadata {
  readonly users: number
  readonly items: number
  readonly dimension: number
  readonly biased: boolean
  readonly globalMean: number
  /** Range of the ratings of a model of factor rows. */
  readonly minRating?: number
  readonly maxRating?: number
  readonly newestEventMs: number
  /** Variances of ratings of a user and an item without a row, where they were measured. */
  readonly coldVariances?: ModelVersionMarker['coldVariances']
  /** What training found out: labels and features of a linear model. */
  readonly found?: Hyperparameters
  /** Metrics for the lineage: objective, errors, and figures of the data. */
  readonly metrics: Readonly<Record<string, number>>
  /** Records of the ranges that cannot be read. */
  readonly leftOut?: LeftOut | undefined
  /** The ranges with what was read of them. */
  readonly ranges: readonly DataRange[]
  /** The places of the history with what was read of them. */
  readonly files: readonly ReadPlace[]
  /** The device that it was trained on, in words, where there was a choice. */
  readonly device?: string
  /** Ratings of the ranges whose pairs the history has, too. */
  readonly repeated?: number
}

/** The current value of a row that a replay changed. */
export interface ChangedRow {
  readonly key: string
  readonly vector: Float32Array
  /** Number of ratings that the row was trained on and has learned since. */
  readonly ratings?: number | undefined
  /** What is published beside it (`PublishableRow.memory`). */
  readonly memory?: Float32Array | undefined
}

/** What a replay has learned. */
export interface ReplayedObservations {
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

/** Numbers of the rows that were written. */
export interface WrittenRows {
  readonly users: number
  readonly items: number
}

/** Receives the progress of a training. */
export type OnTrained = (done: number, total: number) => void

/** A trainer of one kind of model in a training process. `T`: what it gets besides the observations. */
export interface ModelTrainer<T = unknown> {
  train(training: TrainingData & T): Promise<TrainedModelMetadata>
  /** Learns later observations online. Throws UNSUPPORTED where the job that serves the model does. */
  replay(ranges: readonly DataRange[]): Promise<ReplayedObservations>
  /** Writes all current rows into a model file. */
  write(file: string): Promise<WrittenRows>
}
