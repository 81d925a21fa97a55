import { expect, it } from 'vitest'
import type { History } from '../../../dashboard/src/data/answers.ts'
import { appended } from '../../../dashboard/src/data/append-samples.ts'

const history = (times: readonly number[], values: readonly (number | null)[]): History => ({
  times,
  series: [{ metric: 'm', values }],
})

it('adds only samples that are newer than the last one', () => {
  const before = [
    [1, 3],
    [10, 30],
  ]
  expect(appended(before, history([1000, 3000, 5000], [10, 31, null]))).toEqual([
    [1, 3, 5],
    [10, 30, null],
  ])
  expect(appended(before, history([1000, 3000], [10, 31]))).toBe(before)
  expect(appended(before, undefined)).toBe(before)
})

it('keeps ten minutes', () => {
  const times = Array.from({ length: 400 }, (_, i) => i * 2000)
  const [kept] = appended([[], []], history(times, times))
  expect([kept!.length, kept![0], kept!.at(-1)]).toEqual([300, 200, 798])
})

it('leaves samples of other metrics out', () => {
  const before = [[1], [10], [20]]
  expect(appended(before, history([5000], [1]))).toBe(before)
})
