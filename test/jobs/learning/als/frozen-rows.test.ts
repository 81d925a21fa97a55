import { expect, it } from 'vitest'
import { isInSample } from '../../../../src/jobs/learning/als/frozen-rows.ts'

it('one user of eight is in the sample of the frozen error', () => {
  const encoder = new TextEncoder()
  let sampled = 0
  for (let n = 0; n < 16_000; n++) if (isInSample(encoder.encode(`${n}-U`))) sampled++
  expect(sampled).toBeGreaterThan(1800)
  expect(sampled).toBeLessThan(2200)
})
