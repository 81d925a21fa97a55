import { expect, it } from 'vitest'
import { LearningErrorFunction } from '../../../../src/jobs/learning/error/learning-error.ts'
import {
  joinedRatingError,
  type RatingError,
  type RatingErrorPart,
} from '../../../../src/jobs/learning/error/rating-error.ts'
import { NO_ALARMS } from '../../../../src/models/quality/drift-monitor.ts'
import type { KeyedFunctionContext } from '../../../../src/operators/process/function.ts'

/** What slot `slot` of `parallelism` reports: an error of `mse` over `ratings`. */
function part(slot: number, parallelism: number, ratings: number, mse: number): RatingErrorPart {
  const alarms = NO_ALARMS
  return {
    ...{ version: 1, slot, parallelism, ratings, alarms, coverage: 1, frozenRatings: ratings },
    ...{ mse, windowMse: mse, fadedMse: mse, startMse: mse, frozenMse: mse },
  }
}

/** The error after these reports, each of which replaces that of its slot. */
function errorAfter(...parts: readonly RatingErrorPart[]): RatingError {
  let kept: RatingError | undefined
  const state = {
    value: () => kept,
    update: (error: RatingError) => {
      kept = error
    },
  }
  const joining = new LearningErrorFunction(joinedRatingError)
  joining.open({ getState: () => state } as unknown as KeyedFunctionContext)
  for (const one of parts) joining.processElement(one)
  return kept!
}

it('the error of a version is that of its slots, weighed by their ratings', () => {
  const { ratings, mse, slots } = errorAfter(
    part(0, 2, 100, 1),
    part(1, 2, 300, 2),
    part(0, 2, 200, 3),
  )
  expect({ ratings, mse, slots: slots.length }).toEqual({ ratings: 500, mse: 2.4, slots: 2 })
})

it.each([
  ['fewer', [part(0, 1, 500, 1)], 500],
  ['more', [part(0, 3, 200, 1), part(1, 3, 200, 1), part(2, 3, 100, 1)], 500],
])('the parts of slots from before a start with %s slots no longer count', (_, now, ratings) => {
  const before = [part(0, 2, 100, 5), part(1, 2, 300, 5)]
  expect(errorAfter(...before, ...now)).toMatchObject({ ratings, mse: 1 })
})
