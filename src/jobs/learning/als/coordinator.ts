import type { Clock } from '../../../core/clock.ts'
import { LearningCoordinator } from '../coordinator.ts'
import { DELTAS_UID, LEARNER_UID, RATINGS_UID } from './job.ts'
import { type AlsVersionMetadata, type EncodedMoments, mergedMoments } from './version.ts'

/** Coordinates learning in the `online-als` job; the constants of a version are the moments of its rows. */
export type AlsLearningCoordinator = LearningCoordinator<AlsVersionMetadata, EncodedMoments>

/** Options of `alsLearning`. */
export interface AlsLearningOptions {
  readonly clock: Clock
  /** Every slot learns on this version; called again after every restart. */
  readonly onLearning?: ((version: number) => void) | undefined
  /** The job continues with another rule than that of its checkpoint. */
  readonly onMemoryDropped?: ((rule: string) => void) | undefined
  /** Observations of a slot were learned without a spilled row; `count`: so far in the attempt. */
  readonly onOutOfReach?: ((count: number) => void) | undefined
}

/** Makes the coordinator of the `online-als` job. */
export function alsLearning(options: AlsLearningOptions): AlsLearningCoordinator {
  return new LearningCoordinator({
    ...options,
    gates: [RATINGS_UID, DELTAS_UID],
    learners: { uid: LEARNER_UID, merge: mergedMoments },
  })
}
