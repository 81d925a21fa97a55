import { expect, it } from 'vitest'
import {
  notLearnableHint,
  notLearnableText,
} from '../../../src/models/registry/checks/not-learnable.ts'
import { notLearnable } from '../../../src/models/registry/learnable.ts'
import type { Hyperparameters, LearningTopic } from '../../../src/models/registry/version.ts'
import { registeredVersion } from './registered-version.ts'

const version = (hyperparameters: Hyperparameters, users = 3) => {
  const { lineage, ...rest } = registeredVersion(1)
  return { ...rest, users, lineage: { ...lineage, hyperparameters } }
}
const factors = version({})
const implicit = version({ feedback: 'implicit' })
const weights = version({ positiveLabel: 2, negativeLabel: 1 }, 0)
const unlabelled = version({}, 0)

it.each<[LearningTopic, typeof factors, ReturnType<typeof notLearnable>]>([
  // A job of an earlier build, or none.
  [{}, implicit, undefined],
  [{}, weights, undefined],
  [{ learnsFeedback: 'explicit' }, weights, undefined],
  [{ learnsKind: 'factors', learnsFeedback: 'explicit' }, factors, undefined],
  [{ learnsFeedback: 'explicit' }, implicit, { reason: 'feedback', learns: 'explicit' }],
  [{ learnsFeedback: 'implicit' }, factors, { reason: 'feedback', learns: 'implicit' }],
  [{ learnsKind: 'factors' }, weights, { reason: 'rows', learns: 'factors' }],
  [{ learnsKind: 'linear' }, factors, { reason: 'rows', learns: 'linear' }],
  [{ learnsKind: 'linear' }, weights, undefined],
  [{ learnsKind: 'linear', learnsPositive: 2 }, weights, undefined],
  [{ learnsKind: 'linear', learnsPositive: 1 }, unlabelled, undefined],
  [
    { learnsKind: 'linear', learnsPositive: 1 },
    weights,
    { reason: 'labels', learns: 1, positive: 2 },
  ],
])('%j: case %#', (learning, candidate, expected) => {
  expect(notLearnable(learning, candidate)).toEqual(expected)
})

it('says why, and what to do', () => {
  const labels = { reason: 'labels', learns: 1, positive: 2 } as const
  expect(notLearnableText(labels)).toBe(
    'the job that learns the model was started with 1 as positive label, and this version was trained with 2: it would be served, but not learned',
  )
  expect(notLearnableHint(labels)).toContain('without --positive')
  expect(notLearnableHint({ reason: 'rows', learns: 'factors' })).toContain('topic of its own')
  expect(notLearnableHint({ reason: 'feedback', learns: 'implicit' })).toContain('--rule')
})
