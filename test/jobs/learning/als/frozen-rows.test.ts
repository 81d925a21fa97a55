import { expect, it } from 'vitest'
import { isInSample } from '../../../../src/jobs/learning/als/frozen-rows.ts'

it('one user of sixteen is in the sample of the frozen error', () => {
  const encoder = new TextEncoder()
  let sampled = 0
  for (let n = 0; n < 16_000; n++) if (isInSample(encoder.encode(`${n}-U`))) sampled++
  expect(sampled).toBeGreaterThan(900)
  expect(sampled).toBeLessThan(1100)
})
