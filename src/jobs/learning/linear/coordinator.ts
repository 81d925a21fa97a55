import type { Clock } from '../../../core/clock.ts'
import { LearningCoordinator } from '../coordinator.ts'
import type { LearnableVersion } from '../messages.ts'
import { SVM_DELTAS_UID, SVM_OBSERVATIONS_UID } from './job.ts'

/** Options of `linearLearning`. */
export interface LinearLearningOptions {
  readonly clock: Clock
  /** Every slot learns on this version; called again after every restart. */
  readonly onLearning?: ((version: number) => void) | undefined
  /** Observations of a slot were learned without a spilled row; `count`: so far in the attempt. */
  readonly onOutOfReach?: ((count: number) => void) | undefined
}

/** Makes the coordinator of the `online-svm` job. The owners of blocks need no preparation. */
export function linearLearning(
  options: LinearLearningOptions,
): LearningCoordinator<LearnableVersion> {
  return new LearningCoordinator({ ...options, gates: [SVM_OBSERVATIONS_UID, SVM_DELTAS_UID] })
}
