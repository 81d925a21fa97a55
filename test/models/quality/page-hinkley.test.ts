import { describe, expect, it } from 'vitest'
import { ByteReader } from '../../../src/core/byte-reader.ts'
import { ByteWriter } from '../../../src/core/byte-writer.ts'
import { seededRandom } from '../../../src/core/random.ts'
import { PageHinkley } from '../../../src/models/quality/page-hinkley.ts'

/** Squared normal errors whose deviation rises from 1 to `to` at each of the places. */
function stream(count: number, rises: readonly number[], to: number, seed: number): number[] {
  const random = seededRandom(seed)
  return Array.from({ length: count }, (_, i) => {
    const deviation = rises.filter((at) => i >= at).reduce((product) => product * to, 1)
    return (deviation * random.normal()) ** 2
  })
}

/** Places of the alarms by the definition: mean and deviation over all errors since the last alarm. */
function plainAlarms(errors: readonly number[]): number[] {
  const alarms: number[] = []
  let since: number[] = []
  let rise = 0
  for (const [i, error] of errors.entries()) {
    since.push(error)
    if (since.length < 100) continue
    const mean = since.reduce((sum, x) => sum + x, 0) / since.length
    const squares = since.reduce((sum, x) => sum + (x - mean) ** 2, 0)
    const deviation = Math.sqrt(squares / (since.length - 1))
    rise = Math.max(0, 0.9999 * rise + (error - mean) / deviation - 0.1)
    if (rise <= 100) continue
    alarms.push(i)
    since = []
    rise = 0
  }
  return alarms
}

function alarmsOf(detector: PageHinkley, errors: readonly number[], first = 0): number[] {
  return errors.flatMap((error, i) => (detector.add(error) ? [first + i] : []))
}

function joinAll(parts: readonly PageHinkley[]): PageHinkley {
  const joined = new PageHinkley()
  for (const part of parts) {
    const writer = new ByteWriter()
    part.write(writer)
    joined.join(new ByteReader(writer.toBytes()))
  }
  return joined
}

describe('Page-Hinkley', () => {
  const errors = stream(4000, [1500, 3000], 2, 9)

  it('raises its alarms where the definition does', () => {
    expect(alarmsOf(new PageHinkley(), errors)).toEqual(plainAlarms(errors))
    expect(plainAlarms(errors)).toHaveLength(2)
  })

  it('raises the same alarms after a checkpoint at any place', () => {
    const expected = plainAlarms(errors)
    const first = expected[0]!
    for (const cut of [
      1,
      99,
      100,
      1000,
      1499,
      1501,
      first - 1,
      first,
      first + 1,
      first + 2,
      3050,
    ]) {
      const before = new PageHinkley()
      const found = alarmsOf(before, errors.slice(0, cut))
      const after = joinAll([before])
      found.push(...alarmsOf(after, errors.slice(cut), cut))
      expect(found).toEqual(expected)
      expect(after.alarms).toBe(expected.length)
    }
  })

  it('of two slots knows the mean and the deviation of all errors, and the rises of both', () => {
    const [a, b] = [new PageHinkley(), new PageHinkley()]
    alarmsOf(a, stream(1000, [980], 2, 1))
    alarmsOf(b, stream(700, [685], 2, 2))
    const joined = joinAll([a, b])
    expect(a.level * b.level).toBeGreaterThan(0)
    expect(joined.level).toBe(a.level + b.level)
    const all = [...stream(1000, [980], 2, 1), ...stream(700, [685], 2, 2), 7]
    joined.add(7)
    const mean = all.reduce((sum, x) => sum + x, 0) / all.length
    const squares = all.reduce((sum, x) => sum + (x - mean) ** 2, 0)
    const step = (7 - mean) / Math.sqrt(squares / (all.length - 1)) - 0.1
    expect(joined.level).toBeCloseTo(0.9999 * (a.level + b.level) + step, 9)
  })

  it('finds a rise after few errors where those of the rise do not count as calm', () => {
    const few = stream(3000, [60], 3, 4)
    const options = { minErrors: 30, delta: 0.5, threshold: 60 }
    expect(alarmsOf(new PageHinkley(options), few)).toEqual([])
    const [found] = alarmsOf(new PageHinkley({ ...options, calmOnly: true }), few)
    expect(found).toBeGreaterThan(60)
    expect(found).toBeLessThan(120)
  })

  it('finds a rise after calm errors that are all alike, with a checkpoint in the rise', () => {
    const options = { minErrors: 30, threshold: 60, calmOnly: true }
    const detector = new PageHinkley(options)
    expect(alarmsOf(detector, new Array<number>(100).fill(1))).toEqual([])
    expect(alarmsOf(detector, new Array<number>(2).fill(2))).toEqual([])
    const writer = new ByteWriter()
    detector.write(writer)
    const again = new PageHinkley(options)
    again.join(new ByteReader(writer.toBytes()))
    expect(again.level).toBe(detector.level)
    expect(alarmsOf(again, [2, 2, 2])).toEqual(alarmsOf(detector, [2, 2, 2]))
    expect(again.alarms).toBe(1)
  })
})
