import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { judgedPart, slopeOf, type TimedValue, trendOf } from '../../../verify/soak/samples.ts'

const MINUTES = 60
const SAMPLES = 120

/** Values over an hour, two a minute; `level` is given the minute. */
function series(level: (minute: number) => number): TimedValue[] {
  return Array.from({ length: SAMPLES }, (_, i) => {
    const minute = (i * MINUTES) / (SAMPLES - 1)
    return { atMs: minute * 60_000, value: level(minute) }
  })
}

const isFlat = (values: readonly TimedValue[], noise = 4): boolean => {
  const { growth, allowed } = trendOf(values, { noise, perMinute: 0 })
  return growth <= allowed
}

describe('a measure', () => {
  const random = seededRandom(5)

  it.each<[string, (minute: number) => number, boolean]>([
    ['that does not change', () => 20, true],
    ['that falls', (minute) => 50 - minute / 2, true],
    ['that goes up and down around a level', () => 20 + random.below(9) - 4, true],
    [
      'that flickers by one file',
      (minute) => 20 + (Math.floor(minute * 2) % 7 === 0 ? 1 : 0),
      true,
    ],
    ['of a saw: it fills and is compacted', (minute) => 10 + (minute % 7), true],
    ['with a high peak', (minute) => (minute > 30 && minute < 35 ? 500 : 20), true],
    ['with a step within the noise', (minute) => (minute > 30 ? 23 : 20), true],
    ['that grows slowly', (minute) => 20 + minute / 10, false],
    ['that grows slowly under noise', (minute) => 20 + minute / 10 + random.below(5) - 2, false],
    ['with a step above the noise', (minute) => (minute > 30 ? 26 : 20), false],
    ['with a step after two thirds', (minute) => (minute > 39.5 ? 40 : 20), false],
    ['of many small steps', (minute) => 20 + Math.floor(minute / 12) * 2, false],
    ['of a saw whose level rises', (minute) => 10 + (minute % 7) + minute / 8, false],
  ])('%s is judged: flat or not', (_, level, expected) => {
    expect(isFlat(series(level))).toBe(expected)
  })

  it('may grow by its bound for as long as the job runs', () => {
    const bound = { noise: 4, perMinute: 0.25 }
    const growing = trendOf(
      series((minute) => minute * 0.3),
      bound,
    )
    expect(growing.growth).toBeCloseTo(18)
    expect(growing.allowed).toBeCloseTo(19)
    expect(trendOf([], bound)).toMatchObject({ growth: 0, last: 0 })
  })
})

it('a step does not move the slope, which is why the levels are compared, too', () => {
  expect(slopeOf(series((minute) => (minute > 30 ? 1000 : 0)))).toBeLessThan(20)
})

describe('the judged part of a run', () => {
  const run = Array.from({ length: 100 }, (_, i) => i)

  it.each([
    ['without a limit, the second half', 0, 50],
    ['full in the first half, the second half', 30, 50],
    ['full in the second half, what comes after', 60, 60],
    ['full too late to judge, the second half', 80, 50],
    ['never full, the second half', 1000, 50],
  ])('%s', (_, full, from) => {
    expect(judgedPart(run, (sample) => sample >= full)[0]).toBe(from)
  })
})
