import { feedbackOf } from '../feedback.ts'
import { trainedWith } from '../linear/trained-with.ts'
import type { NotLearnable } from './checks/not-learnable.ts'
import { isLinear, type LearningTopic, type RegisteredVersion } from './version.ts'

/**
 * Decides whether the job that learns a model could learn a version, by what it said of itself when it began to learn (its
 * state shapes and the flags that it was given); undefined if it could, or if no job has said anything.
 */
export function notLearnable(
  { learnsFeedback, learnsKind, learnsPositive }: LearningTopic,
  version: RegisteredVersion,
): NotLearnable | undefined {
  const kind = isLinear(version) ? 'linear' : 'factors'
  if (learnsKind !== undefined && learnsKind !== kind) return { reason: 'rows', learns: learnsKind }
  if (kind === 'linear') {
    const { classes, labels } = trainedWith(version.lineage.hyperparameters)
    if (classes !== undefined) return learnsKind && { reason: 'classes' }
    const positive = labels?.positive
    const isOther = positive !== undefined && positive !== (learnsPositive ?? positive)
    return isOther ? { reason: 'labels', learns: learnsPositive as number, positive } : undefined
  }
  const isOther = feedbackOf(version.lineage.hyperparameters) !== learnsFeedback
  return learnsFeedback !== undefined && isOther
    ? { reason: 'feedback', learns: learnsFeedback }
    : undefined
}
