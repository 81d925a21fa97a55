import { expect, it } from 'vitest'
import { covered } from './waits.ts'

it.each([
  ['none', [], 0],
  ['one', [[10, 30]], 20],
  [
    'some that overlap',
    [
      [10, 30],
      [20, 40],
      [35, 36],
    ],
    30,
  ],
  [
    'some apart, in any order',
    [
      [50, 60],
      [10, 20],
    ],
    20,
  ],
] as const)('the length of %s counts each moment once', (_, spans, length) => {
  expect(covered(spans.map(([from, to]) => [from, to] as const))).toBe(length)
})
