import { expect, it } from 'vitest'
import { linearLearningCurve } from '../../../src/training/linear/learning-curve.ts'
import type { LinearProgress } from '../../../src/training/linear/options.ts'

const HISTORY: LinearProgress[] = [
  { round: 1, primal: 20, dual: 5, relativeGap: 0.75, passes: 2, seconds: 1 },
  { round: 2, primal: 12, dual: 9, relativeGap: 0.25, passes: 4, seconds: 2 },
  { round: 3, primal: 11, dual: 11, relativeGap: 0, passes: 6, seconds: 3 },
]

const lines = (svg: string): string[][] =>
  [...svg.matchAll(/<polyline points="([^"]*)"/g)].map((match) => (match[1] ?? '').split(' '))

it('the learning curve draws the gap, without a gap of 0, and both objectives', () => {
  expect(lines(linearLearningCurve(HISTORY)).map((points) => points.length)).toEqual([2, 3, 3])
})

it('the learning curve draws the validation accuracy if there is one', () => {
  const measured = HISTORY.map((progress) => ({ ...progress, validationAccuracy: 0.8 }))
  const svg = linearLearningCurve(measured)
  expect(svg).toContain('Validation accuracy')
  expect(lines(svg)).toHaveLength(4)
})
