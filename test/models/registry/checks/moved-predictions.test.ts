import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../../src/core/random.ts'
import {
  type PredictedPair,
  worstMoved,
} from '../../../../src/models/registry/checks/moved-predictions.ts'

const WIDTH = 4
const ITEMS = 300

/** Golden ratings of items: `moveOf` is that of a candidate's predictions, `truthOf` how ratings differ from live ones. */
function golden(
  seed: number,
  moveOf: (item: number) => number,
  truthOf: (item: number) => number = () => 0,
): ReadonlyMap<string, readonly PredictedPair[]> {
  const random = seededRandom(seed)
  return new Map(
    Array.from({ length: ITEMS }, (_, item) => {
      const pairs = Array.from({ length: 3 + random.below(40) }, () => {
        const live = 3.5 + 0.5 * random.normal()
        const rating = live + truthOf(item) + 0.95 * random.normal()
        return { rating, live, candidate: live + moveOf(item) + 0.1 * random.normal() }
      })
      return [String(item), pairs] as const
    }),
  )
}

describe('predictions that have moved', () => {
  it.each([1, -1])('away from golden ratings by 1.5 are named, direction %d', (direction) => {
    const pairs = new Map(golden(1, (item) => (item === 7 ? 1.5 * direction : 0)))
    const random = seededRandom(2)
    const ofSeven = Array.from({ length: 25 }, () => {
      const rating = 3.5 + 0.95 * random.normal()
      return { rating, live: 3.5, candidate: 3.5 + 1.5 * direction }
    })
    const worst = worstMoved(pairs.set('7', ofSeven), WIDTH)
    expect(worst?.group).toBe('7')
    expect(worst?.certain).toBeGreaterThan(0.1)
  })

  it('towards golden ratings are right', () => {
    const shift = (item: number): number => (item % 2 === 0 ? 1 : -1)
    expect(worstMoved(golden(3, shift, shift), WIDTH)?.certain ?? 0).toBe(0)
  })

  it('beyond golden ratings, but with a smaller error than before, are right', () => {
    const pairs = golden(
      4,
      () => 1,
      () => 0.8,
    )
    expect(worstMoved(pairs, WIDTH)?.certain ?? 0).toBe(0)
  })

  it('of an item that live was wrong about, too, are held against it only as far as they moved', () => {
    const worst = worstMoved(
      golden(
        6,
        () => 0.4,
        (item) => (item === 9 ? -3 : 0.4),
      ),
      WIDTH,
    )
    expect(worst?.group).toBe('9')
    expect(worst?.certain).toBeCloseTo(0.1, 2)
  })

  it('by less than the smallest move are not tested', () => {
    expect(
      worstMoved(
        golden(5, () => 0.1),
        WIDTH,
      ),
    ).toBeUndefined()
  })

  it('are hardly ever refused by chance, though many are tested', () => {
    let refused = 0
    for (let seed = 0; seed < 100; seed++) {
      const random = seededRandom(seed + 100)
      const shifts = Array.from({ length: ITEMS }, () => 0.3 * random.normal())
      const shift = (item: number): number => shifts[item] as number
      if ((worstMoved(golden(seed, shift, shift), WIDTH)?.certain ?? 0) > 0) refused++
    }
    expect(refused).toBeLessThanOrEqual(3)
  })
})
