import { expect, it } from 'vitest'
import { normalQuantile } from '../../../src/core/numbers/normal-quantile.ts'

it.each([
  [0.5, 0, 6],
  [0.8, 0.8416212336, 6],
  [0.9, 1.2815516, 6],
  [0.975, 1.959963985, 6],
  [0.999, 3.0902323, 5],
  [0.0005, -3.290526731, 6],
  [1 - 1e-6, 4.7534243, 5],
  [1e-6, -4.7534243, 5],
  [1 - 1e-12, 7.034487147, 4],
  [1e-20, -9.2623401, 5],
])('the quantile of %d is that of the tables', (p, expected, digits) => {
  expect(normalQuantile(p)).toBeCloseTo(expected, digits)
})
