import { describe, expect, it } from 'vitest'
import { PairsCall } from '../../../src/client/pair-batch.ts'
import { WeirError } from '../../../src/core/errors.ts'
import { seededRandom } from '../../../src/core/random.ts'
import { predictionsBody } from '../../../src/gateway/routes/predictions-body.ts'
import { scoreNumber } from '../../../src/gateway/routes/score-number.ts'

function callOf(scores: readonly number[]): PairsCall {
  const call = new PairsCall(scores.length)
  scores.forEach((score, i) => {
    call.scores[i] = score
    call.flags[i] = i % 4
    call.versions[i] = i < 5 ? 2 : 4_294_967_295
  })
  return call
}

function entriesOf({ scores, flags, versions }: PairsCall): object[] {
  return Array.from(scores, (score, i) => ({
    score: scoreNumber(score),
    userCold: (flags[i]! & 1) !== 0,
    itemCold: (flags[i]! & 2) !== 0,
    modelVersion: versions[i],
  }))
}

describe('the body of a batch', () => {
  it('has the text that JSON.stringify writes, for scores of every size', () => {
    const random = seededRandom(3)
    const any = Array.from({ length: 3000 }, () => random.normal() * 10 ** (random.below(16) - 6))
    const call = callOf([0, -0, 10, -1.5, 1e-4, 99_999_992, 1e8, 1e-30, 0.1, 1e9, ...any])
    const entries = (text: string) => text.split('},{')
    const written = entries(predictionsBody(call).toString())
    const expected = entries(JSON.stringify({ predictions: entriesOf(call) }))
    expect(written).toHaveLength(expected.length)
    const different = written.findIndex((entry, i) => entry !== expected[i])
    expect(written[different]).toBe(expected[different])
  })

  it('has null for a score that is no number', () => {
    const text = predictionsBody(callOf([Number.NaN, Number.NEGATIVE_INFINITY])).toString()
    const { predictions } = JSON.parse(text) as { predictions: { score: unknown }[] }
    expect(predictions.map(({ score }) => score)).toEqual([null, null])
  })

  it('has an error in the place of a score', () => {
    const call = callOf([1, 2, 3])
    call.errors.set(1, new WeirError('UNKNOWN_KEY', '"5"'))
    const [first, , last] = entriesOf(call)
    const { predictions } = JSON.parse(predictionsBody(call).toString())
    expect(predictions).toMatchObject([
      first,
      { error: { code: 'UNKNOWN_KEY', status: 404 } },
      last,
    ])
  })
})
