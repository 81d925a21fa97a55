import { aFunction, required } from '../../../core/options/kinds.ts'
import { CLOCK } from '../../../core/options/ports.ts'
import { checkOptions, type OptionShape } from '../../../core/options/shape.ts'
import { LearningCoordinator, type LearningCoordinatorOptions } from '../coordinator.ts'
import type { LearnableVersion } from '../messages.ts'
import { SVM_DELTAS_UID, SVM_MODEL_UID, SVM_OBSERVATIONS_UID } from './job.ts'

/** Options of `linearLearning`. */
export type LinearLearningOptions = Pick<
  LearningCoordinatorOptions<never>,
  'clock' | 'onLearning' | 'onRefused'
>

const LINEAR_LEARNING: OptionShape<LinearLearningOptions> = {
  clock: required(CLOCK),
  onLearning: aFunction(),
  onRefused: aFunction(),
}

/** Makes the coordinator of the `online-svm` job. The owners of blocks need no preparation. */
export function linearLearning(
  options: LinearLearningOptions,
): LearningCoordinator<LearnableVersion> {
  checkOptions('linearLearning', LINEAR_LEARNING, options)
  const gates = [SVM_OBSERVATIONS_UID, SVM_DELTAS_UID, SVM_MODEL_UID]
  return new LearningCoordinator({ ...options, gates })
}
