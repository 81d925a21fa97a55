import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import {
  alwaysValidDifference,
  type SampleSums,
  withSample,
} from '../../../src/inference/off-policy/always-valid.ts'

const NOTHING: SampleSums = { count: 0, sum: 0, squares: 0 }
const LOOKS = 100
const SAMPLES_A_LOOK = 40
const EXPERIMENTS = 400

/** Whether an experiment of 100 looks says at any of them that 0 is not the difference, by a rule. */
function isAlarm(
  seed: number,
  rates: readonly [number, number],
  excludesZero: (first: SampleSums, second: SampleSums) => boolean,
): boolean {
  const random = seededRandom(seed)
  let [first, second] = [NOTHING, NOTHING]
  for (let look = 0; look < LOOKS; look++) {
    for (let i = 0; i < SAMPLES_A_LOOK; i++) {
      first = withSample(first, random.next() < rates[0] ? 1 : 0)
      second = withSample(second, random.next() < rates[1] ? 1 : 0)
    }
    if (excludesZero(first, second)) return true
  }
  return false
}

const byAlwaysValid = (first: SampleSums, second: SampleSums): boolean => {
  const { low, high } = alwaysValidDifference(first, second)
  return low > 0 || high < 0
}

/** The test that is made once, at the end: two proportions and 1.96 deviations. */
const byFixedHorizon = (first: SampleSums, second: SampleSums): boolean => {
  const [p, q] = [first.sum / first.count, second.sum / second.count]
  const deviation = Math.sqrt((p * (1 - p)) / first.count + (q * (1 - q)) / second.count)
  return Math.abs(p - q) > 1.96 * deviation
}

const shareOfAlarms = (rates: readonly [number, number], rule: typeof byAlwaysValid): number => {
  let alarms = 0
  for (let seed = 0; seed < EXPERIMENTS; seed++) if (isAlarm(seed, rates, rule)) alarms++
  return alarms / EXPERIMENTS
}

describe('an interval that may be looked at every day', () => {
  it('gives at most 5 % false alarms over 100 looks, where a test for one look gives many', () => {
    expect(shareOfAlarms([0.2, 0.2], byAlwaysValid)).toBeLessThanOrEqual(0.05)
    expect(shareOfAlarms([0.2, 0.2], byFixedHorizon)).toBeGreaterThan(0.2)
  })

  it('finds a difference that is there', () => {
    expect(shareOfAlarms([0.2, 0.25], byAlwaysValid)).toBeGreaterThan(0.95)
  })

  it('is not much wider than an interval for one look, where it is tuned to be narrow', () => {
    const sums = { count: 2000, sum: 400, squares: 400 }
    const { low, high } = alwaysValidDifference(sums, sums, { tunedFor: 2000 })
    const once = 2 * 1.96 * Math.sqrt((2 * 0.2 * 0.8) / 2000)
    expect((high - low) / once).toBeGreaterThan(1.2)
    expect((high - low) / once).toBeLessThan(1.8)
  })

  it('has no ends before each side has 30 samples', () => {
    const few = { count: 29, sum: 10, squares: 10 }
    const many = { count: 1000, sum: 10, squares: 10 }
    expect(alwaysValidDifference(few, many)).toMatchObject({ low: -Infinity, high: Infinity })
  })

  it('refuses a confidence that is none', () => {
    expect(() => alwaysValidDifference(NOTHING, NOTHING, { confidence: 1 })).toThrow(
      'confidence must be a number above 0 and below 1, not 1',
    )
    expect(() => alwaysValidDifference(NOTHING, NOTHING, { tunedFor: 0 })).toThrow('tunedFor')
  })
})
