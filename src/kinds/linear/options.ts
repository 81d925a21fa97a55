import type { TrainedWith } from '../../models/linear/trained-with.ts'
import type { LinearOptions } from '../../training/linear/options.ts'
import type { GoldenExamples } from '../port/golden-set.ts'
import type { Retraining } from '../port/kind.ts'

/**
 * Options of `trainLinear` that are plain data and can be sent to the training process. A candidate that
 * does not reach its `tolerance` fails the data check.
 */
export interface RetrainLinearOptions
  extends Pick<
    LinearOptions,
    | 'loss'
    | 'cost'
    | 'l1'
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
  /**
   * An example counts half as much when its record is this much older than the newest one, ms; files have no times. `auto`
   * chooses it by the newest tenth of the examples (`chooseLinearHalfLife`). @default all count the same
   */
  readonly halfLifeMs?: number | 'auto'
  /** The names of features are hashed to ids below 2^N. @default features have ids */
  readonly hashBits?: number
  /** Namespaces whose features are combined (`FeatureHashing`). @default none */
  readonly crosses?: string
  /** Features of one block of weights. @default that of the live version, else 1024 */
  readonly range?: number
}

/** Options of a retraining of a linear model. */
export interface LinearRetraining extends Retraining<GoldenExamples> {
  readonly linear: RetrainLinearOptions
}

/** What the training process gets of a linear model. */
export interface LinearTraining {
  readonly linear: RetrainLinearOptions
  /** The labels of the live version: an example with another one is left out, as the job that learns refuses it. */
  readonly labels?: TrainedWith['labels']
}
