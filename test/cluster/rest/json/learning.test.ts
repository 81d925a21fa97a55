import { describe, expect, it } from 'vitest'
import { learningJson, learningSeries, learns } from '../../../../src/cluster/rest/json/learning.ts'
import { snapshot } from '../snapshot.ts'

const LEARNING = snapshot({
  metrics: {
    'count.0.ratingsLearned': 30,
    'count.0.prequentialMse': 1,
    'count.0.learningVersion': 2,
    'count.1.learner.ratingsLearned': 10,
    'count.1.learner.ratingsRefused': 4,
    'count.1.learner.prequentialMse': 2,
    'count.1.learner.prequentialFrozenMse': Number.NaN,
    'count.1.learner.learningVersion': 1,
    'count.0.updateToVisibleMedianMs': 7,
    'count.1.learner.updateToVisibleMedianMs': 3,
    'words.0.numRecordsOut': 40,
    'reader.0.ratingsRefused': 2,
    'reader.0.freshnessMs': 90_000,
    'reader.1.ratings.freshnessMs': 500,
    'reader.2.ratings.freshnessMs': Number.NaN,
    'reader.1.examples.observationsRefused': 1,
  },
})

describe('the errors of a job that learns', () => {
  it('are means over the subtasks, weighted with what each has learned', () => {
    expect(learningJson(LEARNING)).toMatchObject({
      kind: 'ratings',
      version: 2,
      learned: 40,
      // Those that the readers of the topic refused, too.
      refused: 7,
      freshnessMs: 500,
      driftAlarms: null,
      isStopped: false,
      means: { prequentialMse: 1.25, prequentialFrozenMse: null, prequentialLoss: null },
      subtasks: [
        { name: 'count#0', version: 2, learned: 30 },
        { name: 'learner#1', version: 1, learned: 10 },
      ],
    })
  })

  it('are also series over time, those that have a value', () => {
    expect(learningSeries(LEARNING)).toEqual({
      'learning.prequentialMse': 1.25,
      'learning.learned': 40,
      'learning.visibleMedianMs': 7,
    })
    expect(learningSeries(snapshot())).toEqual({})
  })

  it('of a linear model are losses, accuracy and area, faded for each subtask', () => {
    const job = snapshot({
      metrics: {
        'count.0.observationsLearned': 30,
        'count.0.prequentialLoss': 0.5,
        'count.0.prequentialFadedLoss': 0.25,
        'count.0.prequentialFadedAccuracy': 0.75,
        'count.0.prequentialAuc': 0.875,
        'count.0.driftAlarms': 1,
        'count.0.learningStopped': 1,
        'count.0.learningVersion': 2,
      },
    })
    expect(learningJson(job)).toMatchObject({
      kind: 'examples',
      version: 2,
      driftAlarms: 1,
      isStopped: true,
      means: {
        prequentialLoss: 0.5,
        prequentialFadedLoss: 0.25,
        prequentialFadedAccuracy: 0.75,
        prequentialAuc: 0.875,
      },
      subtasks: [{ name: 'count#0', version: 2, learned: 30, error: 0.25 }],
    })
  })

  it('are empty for a job that does not learn', () => {
    expect(learns(LEARNING)).toBe(true)
    expect(learns(snapshot())).toBe(false)
    expect(learningJson(snapshot())).toMatchObject({ kind: null, version: null, subtasks: [] })
  })
})
