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

/** Makes the coordinator of the `online-als` job. */
export function alsLearning(options: AlsLearningOptions): AlsLearningCoordinator {
  return new LearningCoordinator({
    ...options,
    gates: [RATINGS_UID, DELTAS_UID],
    learners: { uid: LEARNER_UID, merge: mergedMoments },
  })
}
