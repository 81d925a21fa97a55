import { expect, it } from 'vitest'
import { RecentValues } from '../../../src/jobs/learning/recent-values.ts'

it('gives quantiles of the newest values only', () => {
  const values = new RecentValues(4)
  expect(values.quantile(0.5)).toBeNaN()
  for (const value of [100, 7]) values.add(value)
  expect([values.quantile(0), values.quantile(1)]).toEqual([7, 100])
  for (const value of [3, 1, 2]) values.add(value)
  expect([0, 0.5, 0.99].map((q) => values.quantile(q))).toEqual([1, 3, 7])
})
