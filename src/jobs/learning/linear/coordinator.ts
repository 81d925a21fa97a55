import { aFunction, flag, required } from '../../../core/options/kinds.ts'
import { CLOCK } from '../../../core/options/ports.ts'
import { checkOptions, type OptionShape } from '../../../core/options/shape.ts'
import { LearningCoordinator, type LearningCoordinatorOptions } from '../coordinator.ts'
import type { LearnableVersion } from '../messages.ts'
import { SVM_DELTAS_UID, SVM_MODEL_UID, SVM_OBSERVATIONS_UID } from './job.ts'

/** Options of `linearLearning`. */
export type LinearLearningOptions = Pick<
  LearningCoordinatorOptions<null>,
  'clock' | 'onLearning' | 'onWorse' | 'neverStop' | 'onRefused'
>

const LINEAR_LEARNING: OptionShape<LinearLearningOptions> = {
  clock: required(CLOCK),
  onLearning: aFunction(),
  onWorse: aFunction(),
  neverStop: flag,
  onRefused: aFunction(),
}

/** Coordinates learning in the `online-svm` job; a version has no constants. */
export type LinearLearningCoordinator = LearningCoordinator<LearnableVersion, null>

/** Makes the coordinator of the `online-svm` job. */
export function linearLearning(options: LinearLearningOptions): LinearLearningCoordinator {
  checkOptions('linearLearning', LINEAR_LEARNING, options)
  return new LearningCoordinator({
    ...options,
    gates: [SVM_OBSERVATIONS_UID, SVM_DELTAS_UID],
    learners: { uid: SVM_MODEL_UID, merge: () => null },
  })
}
