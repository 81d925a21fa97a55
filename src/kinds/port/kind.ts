import type { TopicsPlace } from '../../connectors/topics/place.ts'
import type { TopicStore } from '../../connectors/topics/store.ts'
import type { OptionShape } from '../../core/options/shape.ts'
import type { ObservationKind } from '../../models/observations/compared-records.ts'
import type { HistoryFiles } from '../../models/observations/history.ts'
import type { DataRange } from '../../models/registry/ranges/data-range.ts'
import type { Hyperparameters, RegisteredVersion } from '../../models/registry/version.ts'
import type { GateOptions, ModelGate } from './gate.ts'
import type { GoldenSet } from './golden-set.ts'
import type { ModelTrainer, OnTrained } from './trainer.ts'

/** The golden set of a retraining: what candidate and live version are compared on. */
export interface Retraining<G extends GoldenSet = GoldenSet> {
  /** Observations to compare candidate and live version on; without it, the candidate is not promoted. */
  readonly golden?: G
}

/** What a training starts from. */
export interface TrainingStart {
  readonly live: RegisteredVersion | undefined
  /** Model file with the live rows; undefined without a warm start. */
  readonly startingRows: string | undefined
}

/**
 * What everything above needs to know of a kind of model. `M`: its options of a retraining, in a field with the name of
 * the kind. `T`: what the training process gets. `G`: its golden sets. `O`: its observations.
 */
export interface ModelKind<
  M extends Retraining = Retraining,
  T extends object = object,
  G extends GoldenSet = GoldenSet,
  O = unknown,
> {
  /** Name of the field of its options, and of the kind in `--kind`. */
  readonly name: string
  /** What its versions are trained on. */
  readonly observations: ObservationKind
  /** Name of the queryable state of its rows. */
  readonly state: string
  /** Command of a job that serves and learns it. */
  readonly learner: string
  /** Whether a candidate learns newer observations before it goes live; if not, the job that serves it does. */
  readonly learnsBefore: boolean
  /** The options of a retraining that only this kind has. */
  readonly options: OptionShape<Partial<Omit<M, 'golden'>>>
  /** Whether a version is of this kind. Kinds are asked in the order of their list. */
  includes(version: RegisteredVersion): boolean
  /** Name and revision of the trainer, part of processing names. */
  code(model: M): string
  /** The hyperparameters that the rows depend on. */
  parameters(model: M): Hyperparameters
  /** What changes in the options by what is in files and topics that they name, now: their hashes. @default nothing */
  withFiles?(model: M, place: TopicsPlace): Promise<Partial<M>>
  /** Floats of a row that a training makes, where all versions of a model must have as many; undefined where they may differ. */
  dimension(model: M): number | undefined
  /** Whether a training starts from the live rows, where it can. */
  startsFromRows(model: M): boolean
  /** Why a training that starts from live rows cannot start from these; undefined where it can. @default it always can */
  coldStart?(model: M, live: RegisteredVersion): string | undefined
  /** What the training process gets. */
  training(model: M, start: TrainingStart): T
  /** A trainer, whose code is loaded by this call: only the training process needs it. */
  trainer(onProgress: OnTrained): Promise<ModelTrainer<T>>
  /**
   * The observations of ranges, with their positions, as a version of these hyperparameters reads them; records that are
   * none are left out.
   */
  read(
    topics: TopicStore,
    ranges: readonly DataRange[],
    trained: Hyperparameters,
  ): AsyncIterable<readonly O[]>
  /** The observations of files, likewise. */
  readHistory(history: HistoryFiles, trained: Hyperparameters): AsyncIterable<readonly O[]>
  /** The part of the promotion checks that depends on the kind. */
  gate(options: GateOptions<G, O>): ModelGate
  /** Identity of a golden set, and of the error that a version is measured with on it. */
  goldenId(golden: G, version: RegisteredVersion): string
}
