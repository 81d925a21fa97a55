import { expect, it } from 'vitest'
import { isSupported } from '../../../src/kinds/factors/golden-support.ts'

const pairs = (ratings: readonly number[], prediction: number) =>
  ratings.map((rating) => ({ rating, prediction }))

it.each<[string, readonly number[], number, boolean]>([
  ['liked as much as predicted', [5, 4, 5, 4, 5], 4.6, true],
  ['predicted a little too high, within the error of few ratings', [5, 3, 4, 5, 4], 4.7, true],
  ['pushed far above its ratings', [3, 4, 3, 2, 4], 4.9, false],
  ['pushed, with many ratings', Array.from({ length: 50 }, (_, n) => 3 + (n % 2)), 4, false],
  ['rated too seldom to say', [5, 5, 5, 5], 5, false],
  ['without golden ratings', [], 5, false],
  ['rated alike by all, and predicted above that', [4, 4, 4, 4, 4], 4.1, false],
])('golden ratings and a risen item %s', (_, ratings, prediction, expected) => {
  expect(isSupported(pairs(ratings, prediction), 'rise')).toBe(expected)
})

it.each<[string, readonly number[], number, boolean]>([
  ['disliked as much as predicted', [2, 3, 2, 1, 2], 2.1, true],
  ['predicted a little too low, within the error of few ratings', [3, 2, 4, 3, 3], 2.8, true],
  ['pushed far below its ratings', [5, 4, 5, 4, 5], 2.9, false],
  ['pushed, with many ratings', Array.from({ length: 50 }, (_, n) => 4 + (n % 2)), 4, false],
  ['rated too seldom to have deserved its place', [5, 5, 5, 5], 2, true],
  ['predicted above its ratings', [2, 2, 3, 2, 2], 4, true],
])('golden ratings and a fallen item %s', (_, ratings, prediction, expected) => {
  expect(isSupported(pairs(ratings, prediction), 'fall')).toBe(expected)
})
