import { describe, expect, it } from 'vitest'
import { WeirError } from '../../src/core/errors.ts'
import type {
  Answer,
  AnswerEnvelope,
  Prediction,
  PredictOptions,
} from '../../src/wire/model-reader.ts'
import { intervalOf, predictInterval } from '../../src/wire/rating-interval.ts'

const envelope: AnswerEnvelope = {
  ...{ modelVersion: 3, partition: 0, offset: 7, checkpointId: 1, ageMs: 2, servedBy: 'a/0' },
}
const answerOf = (score: number): Answer<Prediction> => ({
  ok: true,
  value: { score, leftCold: false, rightCold: true },
  envelope,
})
const failed = (error: WeirError): Answer<Prediction> => ({ ok: false, error })
const ASKED = { state: 'ALS_MODEL', left: '1-U', right: '2-I', share: 0.95 }

/** A reader with a score and an answer for the variance. */
function readerOf(variance: Answer<Prediction>) {
  const asked: [string, string, string, PredictOptions][] = []
  return {
    asked,
    predictWithEnvelope: async (
      state: string,
      left: string,
      right: string,
      options: PredictOptions = {},
    ) => {
      asked.push([state, left, right, options])
      return state === 'ALS_MODEL' ? answerOf(3.5) : variance
    },
  }
}

describe('predictInterval', () => {
  it('has the variance of the version that gave the score, and of the same cold rows', async () => {
    const reader = readerOf(answerOf(4))
    const answer = await predictInterval(reader, ASKED, { coldLeft: 'MEAN-U', deadlineMs: 9 })
    const interval = { share: 0.95, low: 3.5 - 3.919928, high: 3.5 + 3.919928, deviation: 2 }
    expect(answer).toMatchObject({
      ok: true,
      value: {
        ...{ score: 3.5, leftCold: false, rightCold: true },
        interval: {
          share: interval.share,
          low: expect.closeTo(interval.low, 5),
          high: expect.closeTo(interval.high, 5),
          deviation: 2,
        },
      },
      envelope,
    })
    expect(reader.asked).toEqual([
      ['ALS_MODEL', '1-U', '2-I', { coldLeft: 'MEAN-U', deadlineMs: 9 }],
      ['ALS_VARIANCE', '1-U', '2-I', { coldLeft: 'MEAN-U', deadlineMs: 9, version: 3 }],
    ])
  })

  it.each([['UNKNOWN_STATE'], ['UNKNOWN_VERSION'], ['UNKNOWN_KEY']] as const)(
    'is UNSUPPORTED where the variance is %s, and says what to do',
    async (code) => {
      const answer = await predictInterval(readerOf(failed(new WeirError(code, 'x'))), ASKED, {})
      expect(answer).toMatchObject({
        ok: false,
        error: {
          code: 'UNSUPPORTED',
          message: expect.stringMatching(
            /version 3 has no variances.*train bmf --ratings FILE --intervals/,
          ),
        },
      })
    },
  )

  it('gives any other error as it is', async () => {
    const error = new WeirError('RESTORING', 'later')
    expect(await predictInterval(readerOf(failed(error)), ASKED, {})).toEqual({ ok: false, error })
  })

  it('is of the model alone', async () => {
    const other = { ...ASKED, state: 'SVM_MODEL' }
    expect(await predictInterval(readerOf(answerOf(1)), other, {})).toMatchObject({
      ok: false,
      error: { code: 'UNSUPPORTED', message: expect.stringContaining('"SVM_MODEL"') },
    })
  })
})

it('an interval of a smaller share is narrower', () => {
  const [wide, narrow] = [intervalOf(3, 1, 0.95), intervalOf(3, 1, 0.5)]
  expect(narrow.high - narrow.low).toBeCloseTo(2 * 0.67449, 4)
  expect(wide.high - wide.low).toBeGreaterThan(narrow.high - narrow.low)
})
