import { LearningCoordinator, type LearningCoordinatorOptions } from '../coordinator.ts'
import type { LearnableVersion } from '../messages.ts'
import { SVM_DELTAS_UID, SVM_OBSERVATIONS_UID } from './job.ts'

/** Options of `linearLearning`. */
export type LinearLearningOptions = Pick<
  LearningCoordinatorOptions<never>,
  'clock' | 'onLearning' | 'onRefused'
>

/** Makes the coordinator of the `online-svm` job. The owners of blocks need no preparation. */
export function linearLearning(
  options: LinearLearningOptions,
): LearningCoordinator<LearnableVersion> {
  return new LearningCoordinator({ ...options, gates: [SVM_OBSERVATIONS_UID, SVM_DELTAS_UID] })
}
