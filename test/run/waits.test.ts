import { expect, it } from 'vitest'
import { covered, noteWait, takeWaits } from './waits.ts'

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

it('a moment of two waits counts for the server, not for the condition', () => {
  takeWaits()
  noteWait('condition', performance.now() - 1000)
  noteWait('server', performance.now() - 400)
  const { server, condition } = takeWaits()
  expect(server).toBeCloseTo(0.4, 1)
  expect(condition).toBeCloseTo(0.6, 1)
})
