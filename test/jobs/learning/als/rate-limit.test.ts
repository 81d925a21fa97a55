import { expect, it } from 'vitest'
import { RateLimit } from '../../../../src/jobs/learning/als/rate-limit.ts'

it('admits a number of ratings of an id in each second of event time', () => {
  const limit = new RateLimit(3)
  let admitted = 0
  for (let k = 0; k < 10_000; k++) if (!limit.exceeds('7-I', 5000 + (k % 1000))) admitted++
  expect(admitted).toBe(3)
  expect(limit.exceeds('8-I', 5999)).toBe(false)
  expect(limit.exceeds('7-I', 6000)).toBe(false)
})

it('counts each second, in whichever order the times come', () => {
  const limit = new RateLimit(3)
  const admitted = Array.from({ length: 100 }, (_, k) => limit.exceeds('7-I', (k % 2) * 1000))
  expect(admitted.filter((isRefused) => !isRefused).length).toBe(6)
})

it('keeps the count of a busy item while many others come', () => {
  const limit = new RateLimit(3)
  let admitted = 0
  for (let k = 0; k < 400_000; k++) {
    limit.exceeds(`${k}-U`, 5000)
    if (k % 1000 === 0 && !limit.exceeds('7-I', 5000)) admitted++
  }
  expect(admitted).toBe(3)
})
