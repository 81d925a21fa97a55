import { aFunction, flag, required } from '../../../core/options/kinds.ts'
import { CLOCK } from '../../../core/options/ports.ts'
import { checkOptions, type OptionShape } from '../../../core/options/shape.ts'
import { LearningCoordinator, type LearningCoordinatorOptions } from '../coordinator.ts'
import { DELTAS_UID, LEARNER_UID, RATINGS_UID } from './job.ts'
import { type AlsVersionMetadata, type EncodedMoments, mergedMoments } from './version.ts'

/** Coordinates learning in the `online-als` job; the constants of a version are the moments of its rows. */
export type AlsLearningCoordinator = LearningCoordinator<AlsVersionMetadata, EncodedMoments>

/** Options of `alsLearning`. */
export type AlsLearningOptions = Omit<
  LearningCoordinatorOptions<EncodedMoments>,
  'gates' | 'learners'
>

const ALS_LEARNING: OptionShape<AlsLearningOptions> = {
  clock: required(CLOCK),
  onLearning: aFunction(),
  onWorse: aFunction(),
  neverStop: flag,
  onRefused: aFunction(),
  onMemoryDropped: aFunction(),
}

/** Makes the coordinator of the `online-als` job. */
export function alsLearning(options: AlsLearningOptions): AlsLearningCoordinator {
  checkOptions('alsLearning', ALS_LEARNING, options)
  return new LearningCoordinator({
    ...options,
    gates: [RATINGS_UID, DELTAS_UID],
    learners: { uid: LEARNER_UID, merge: mergedMoments },
  })
}
