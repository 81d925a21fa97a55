import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../src/core/random.ts'
import {
  bootstrapInterval,
  PairedDifference,
  wilsonInterval,
} from '../../src/models/metrics-intervals.ts'
import { FadingError, PrequentialError, WindowError } from '../../src/models/metrics-prequential.ts'

describe('prequential errors', () => {
  it('without fading are the mean of all losses', () => {
    const error = new FadingError(1)
    for (const loss of [1, 2, 6]) error.add(loss)
    expect(error.value).toBeCloseTo(3, 12)
    expect(error.effectiveCount).toBe(3)
  })

  it('weigh a loss by alpha to the power of its age', () => {
    const error = new FadingError(0.5)
    for (const loss of [8, 4, 2]) error.add(loss)
    expect(error.value).toBeCloseTo((2 + 0.5 * 4 + 0.25 * 8) / 1.75, 12)
  })

  it('of a window are the mean of its last losses, without rounding errors that pile up', () => {
    const error = new WindowError(3)
    expect(error.value).toBeNaN()
    for (const loss of [1e9, 5, 1, 2, 3]) error.add(loss)
    expect(error.value).toBe(2)
    expect(error.count).toBe(3)
  })

  it('follow a change that the mean of everything hides', () => {
    const error = new PrequentialError({ fading: 0.99, window: 100 })
    for (let i = 0; i < 5000; i++) error.add(3, 3.5)
    for (let i = 0; i < 500; i++) error.add(3, 5, false)
    const { mse, fadedMse, windowMse, coverage, count } = error.summary()
    expect(windowMse).toBe(4)
    expect(fadedMse).toBeGreaterThan(3.9)
    expect(mse).toBeLessThan(0.7)
    expect(coverage).toBeCloseTo(5000 / 5500, 12)
    expect(count).toBe(5500)
  })

  it('never take in what is not finite', () => {
    const error = new PrequentialError()
    expect(error.add(3, Number.NaN)).toBe(false)
    expect(error.add(3, 2)).toBe(true)
    expect(error.summary().fadedMse).toBe(1)
  })
})

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

  it('of paired losses see a difference that two intervals would hide', () => {
    const random = seededRandom(7)
    const difference = new PairedDifference()
    for (let i = 0; i < 500; i++) {
      const hardness = Math.abs(random.normal()) * 5
      difference.add(hardness + 0.1 + 0.01 * random.normal(), hardness)
    }
    const { low, high } = difference.interval()
    expect(low).toBeGreaterThan(0.09)
    expect(high).toBeLessThan(0.11)
  })
})
