import { expect, it } from 'vitest'
import { isInSample, isPairInSample } from '../../../../src/jobs/learning/als/frozen-rows.ts'

it('one user of sixteen is in the sample of the frozen error', () => {
  const encoder = new TextEncoder()
  let sampled = 0
  for (let n = 0; n < 16_000; n++) if (isInSample(encoder.encode(`${n}-U`))) sampled++
  expect(sampled).toBeGreaterThan(900)
  expect(sampled).toBeLessThan(1100)
})

it('one pair of sixteen is in the sample where learning may be stopped, of every user and of every item', () => {
  const encoder = new TextEncoder()
  const item = (n: number) => ({
    bytes: encoder.encode(`..${n}-I.`),
    start: 2,
    length: `${n}-I`.length,
  })
  for (let fixed = 0; fixed < 20; fixed++) {
    let [ofUser, ofItem] = [0, 0]
    for (let n = 0; n < 1000; n++) {
      if (isPairInSample(encoder.encode(`${fixed}-U`), item(n))) ofUser++
      if (isPairInSample(encoder.encode(`${n}-U`), item(fixed))) ofItem++
    }
    for (const sampled of [ofUser, ofItem]) {
      expect(sampled).toBeGreaterThan(25)
      expect(sampled).toBeLessThan(110)
    }
  }
})
