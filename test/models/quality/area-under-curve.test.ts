import { expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { areaUnderCurve } from '../../../src/models/quality/area-under-curve.ts'

/** Share of pairs of a positive and a negative example in which the positive one scores higher; a tie is half. */
function plainArea(scores: readonly number[], truths: readonly number[]): number {
  let [won, pairs] = [0, 0]
  for (const [i, score] of scores.entries()) {
    for (const [j, other] of scores.entries()) {
      if (truths[i] !== 1 || truths[j] !== 0) continue
      pairs++
      won += score > other ? 1 : score === other ? 0.5 : 0
    }
  }
  return won / pairs
}

it('the area is the share of pairs in the right order, also with ties', () => {
  const random = seededRandom(8)
  for (const levels of [3, 1000]) {
    const truths: number[] = Array.from({ length: 200 }, () => (random.next() < 0.3 ? 1 : 0))
    const scores = truths.map((truth) => Math.round(levels * (random.normal() + truth)) / levels)
    const { area, positives, negatives } = areaUnderCurve(scores, truths)
    expect(area).toBeCloseTo(plainArea(scores, truths), 12)
    expect(positives).toBe(truths.reduce((sum, truth) => sum + truth, 0))
    expect(positives + negatives).toBe(200)
  }
})

it('there is no area of one label', () => {
  expect(areaUnderCurve([1, 2], [1, 1]).area).toBeNaN()
  expect(areaUnderCurve([], []).area).toBeNaN()
})
