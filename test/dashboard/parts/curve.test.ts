import { expect, it } from 'vitest'
import { curveOf } from '../../../dashboard/src/parts/curve.ts'

it('draws a curve from 0 at the bottom to the largest value at the top, without what is unknown', () => {
  const size = { width: 80, height: 20 }
  expect(curveOf([0, 5, null, 10, 0], size)).toBe('0.0,19.0 20.0,10.0 60.0,1.0 80.0,19.0')
  expect(curveOf([3], size)).toBe('0.0,1.0')
  expect(curveOf([0, 0], size)).toBe('0.0,19.0 80.0,19.0')
  expect(curveOf([], size)).toBe('')
})
