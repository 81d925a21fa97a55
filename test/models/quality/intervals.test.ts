import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import {
  bootstrapInterval,
  RunningMean,
  wilsonInterval,
} from '../../../src/models/quality/intervals.ts'

describe('confidence intervals', () => {
  it("Wilson's is that of the textbook, and stays within 0 and 1", () => {
    const { low, high } = wilsonInterval(8, 10)
    expect(low).toBeCloseTo(0.4902, 3)
    expect(high).toBeCloseTo(0.9433, 3)
    expect(wilsonInterval(10, 10).high).toBeCloseTo(1, 12)
    expect(wilsonInterval(10, 10).high).toBeLessThanOrEqual(1)
    expect(wilsonInterval(10, 10).low).toBeGreaterThan(0.7)
  })

  it('cover the truth about 95 times in 100', () => {
    const random = seededRandom(5)
    let wilson = 0
    let bootstrap = 0
    for (let trial = 0; trial < 300; trial++) {
      let hits = 0
      const values = new Float64Array(80)
      for (let i = 0; i < values.length; i++) {
        if (random.next() < 0.9) hits++
        values[i] = -Math.log(1 - random.next())
      }
      const share = wilsonInterval(hits, values.length)
      if (share.low <= 0.9 && 0.9 <= share.high) wilson++
      const mean = bootstrapInterval(values, random, 200)
      if (mean.low <= 1 && 1 <= mean.high) bootstrap++
    }
    console.info(`covered of 300: Wilson ${wilson}, bootstrap ${bootstrap}`)
    expect(wilson).toBeGreaterThan(300 * 0.91)
    expect(bootstrap).toBeGreaterThan(300 * 0.88)
  })

  it('of a mean are wider the more they must cover', () => {
    const mean = new RunningMean()
    for (let i = 0; i < 100; i++) mean.add(i % 10)
    const [ninety, usual] = [mean.interval(0.9), mean.interval()]
    const error = Math.sqrt(mean.deviations / 99 / 100)
    expect(usual.high - usual.mean).toBeCloseTo(1.95996 * error, 5)
    expect(ninety.high - ninety.mean).toBeCloseTo(1.64485 * error, 5)
  })
})
