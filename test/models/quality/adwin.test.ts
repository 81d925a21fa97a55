import { describe, expect, it } from 'vitest'
import { ByteReader } from '../../../src/core/byte-reader.ts'
import { ByteWriter } from '../../../src/core/byte-writer.ts'
import { seededRandom } from '../../../src/core/random.ts'
import { Adwin } from '../../../src/models/quality/adwin.ts'

/** Errors of 0 and 1: 1 with probability `rate`. */
function stream(count: number, rate: number, seed: number): number[] {
  const random = seededRandom(seed)
  return Array.from({ length: count }, () => (random.next() < rate ? 1 : 0))
}

function alarmsOf(detector: Adwin, errors: readonly number[], first = 0): number[] {
  return errors.flatMap((error, i) => (detector.add(error) ? [first + i] : []))
}

function bytesOf(detector: Adwin): Uint8Array {
  const writer = new ByteWriter()
  detector.write(writer)
  return writer.toBytes()
}

function joinAll(parts: readonly Adwin[]): Adwin {
  const joined = new Adwin()
  for (const part of parts) joined.join(new ByteReader(bytesOf(part)))
  return joined
}

function fed(errors: readonly number[]): Adwin {
  const detector = new Adwin()
  alarmsOf(detector, errors)
  return detector
}

const mean = (errors: readonly number[]) => errors.reduce((sum, x) => sum + x, 0) / errors.length

describe('ADWIN', () => {
  it('has the same window and alarms after a checkpoint at any place', () => {
    const errors = [...stream(3000, 0.2, 1), ...stream(1500, 0.5, 2)]
    const unbroken = new Adwin()
    const expected = alarmsOf(unbroken, errors)
    // Not before the change, and within a few hundred errors of it.
    expect(expected[0]).toBeGreaterThanOrEqual(3000)
    expect(expected[0]).toBeLessThan(3300)
    for (const cut of [1, 31, 32, 33, 1000, 2999, 3010, 3050, expected[0]!, 4400]) {
      const before = new Adwin()
      const found = alarmsOf(before, errors.slice(0, cut))
      const after = joinAll([before])
      expect(bytesOf(after)).toEqual(bytesOf(before))
      found.push(...alarmsOf(after, errors.slice(cut), cut))
      expect(found).toEqual(expected)
      expect(bytesOf(after)).toEqual(bytesOf(unbroken))
    }
  })

  it.each([
    [1000, 1000],
    [5000, 37],
    [3, 4000],
  ])('of slots with %d and %d errors has one window with all of them', (first, second) => {
    const [a, b] = [stream(first, 0.2, 3), stream(second, 0.2, 4)]
    const joined = joinAll([fed(a), fed(b)])
    expect(joined.width).toBe(first + second)
    expect(joined.mean).toBeCloseTo(mean([...a, ...b]), 9)
    // Buckets stay few, and a change is found as by one that saw all.
    expect(bytesOf(joined).length).toBeLessThan(16 * 6 * 14)
    expect(alarmsOf(joined, stream(2000, 0.2, 5))).toEqual([])
    const [delay] = alarmsOf(joined, stream(1000, 0.5, 6))
    expect(delay).toBeLessThan(300)
    expect(joined.mean).toBeCloseTo(0.5, 1)
  })

  it.each([[[1231, 747, 431, 1231]], [[40, 63, 31, 95, 127, 15]], [[5000, 4999, 5001, 3, 2500]]])(
    'of many slots, one after the other, has all their errors: %j',
    (sizes) => {
      const errors = sizes.map((size, i) => stream(size, 0.2, 50 + i))
      const joined = joinAll(errors.map(fed))
      const all = errors.flat()
      expect(joined.width).toBe(all.length)
      expect(joined.mean).toBeCloseTo(mean(all), 9)
      const floats = new DataView(bytesOf(joined).slice().buffer)
      // Behind 25 bytes of sums, each row is its number of buckets, and two floats for each bucket.
      for (let at = 25; at < floats.byteLength; ) {
        const end = at + 1 + 16 * floats.getUint8(at)
        for (at += 1; at < end; at += 8)
          expect(floats.getFloat64(at, true)).toBeGreaterThanOrEqual(0)
      }
      const [delay] = alarmsOf(joined, stream(2000, 0.9, 7))
      expect(delay).toBeLessThan(100)
    },
  )

  it('of two slots that both forgot a change does not find it again', () => {
    const changed = (seed: number) => [...stream(2000, 0.2, seed), ...stream(2000, 0.5, seed + 1)]
    const joined = joinAll([fed(changed(10)), fed(changed(20))])
    const { alarms } = joined
    expect(alarms).toBeGreaterThanOrEqual(2)
    expect(alarmsOf(joined, stream(2000, 0.5, 30))).toEqual([])
    expect(joined.alarms).toBe(alarms)
  })
})
