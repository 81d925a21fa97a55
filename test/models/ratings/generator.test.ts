import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { generateAlsModel, generateAlsRow } from '../../../src/models/als/model-generator.ts'
import { encodeFactors } from '../../../src/models/als/row.ts'
import { formatRating } from '../../../src/models/ratings/format.ts'
import { generateRatings } from '../../../src/models/ratings/generator.ts'
import type { Rating } from '../../../src/models/ratings/rating.ts'

const SHAPE = { users: 500, items: 200, ratings: 20_000 }

function checksum(ratings: Iterable<Rating>): string {
  const hash = createHash('sha256')
  for (const rating of ratings) hash.update(`${formatRating(rating, 'tab')}\n`)
  return hash.digest('hex').slice(0, 16)
}

describe('generated ratings', () => {
  it('are the same for the same seed, and known', () => {
    expect(checksum(generateRatings({ ...SHAPE, ratings: 1000, seed: 1 }))).toBe('20044a4aa57f480d')
    expect(checksum(generateRatings({ ...SHAPE, ratings: 1000, seed: 2 }))).toBe('36eac5757c0b00f9')
    const shape = { ...SHAPE, ratings: 1000, step: 0.5, drift: 1 } as const
    expect(checksum(generateRatings(shape))).toBe('cefd0f430aac9185')
  })

  it('ascend in time, are on the scale and use its steps', () => {
    let last = 0
    const steps = new Set<number>()
    const descents: number[] = []
    for (const { rating, timestamp } of generateRatings({ ...SHAPE, step: 0.5 })) {
      if (timestamp < last) descents.push(timestamp)
      steps.add(rating)
      last = timestamp
    }
    expect(descents).toEqual([])
    const scale = Array.from({ length: 10 }, (_, i) => 0.5 + i / 2)
    expect([...steps].sort((a, b) => a - b)).toEqual(scale)
  })

  it('have popular items by the Zipf law and unequal users', () => {
    const items = new Map<string, number>()
    const users = new Map<string, number>()
    for (const { user, item } of generateRatings({ ...SHAPE, popularityExponent: 1 })) {
      items.set(item, (items.get(item) ?? 0) + 1)
      users.set(user, (users.get(user) ?? 0) + 1)
    }
    const ratio = (items.get('1') as number) / (items.get('10') as number)
    expect(ratio).toBeGreaterThan(7)
    expect(ratio).toBeLessThan(14)
    const activity = [...users.values()].sort((a, b) => b - a)
    expect((activity[0] as number) / (activity[250] as number)).toBeGreaterThan(4)
  })

  it('drift: the same pair is rated alike at the start and differently at the end', () => {
    const shape = { ...SHAPE, users: 20, items: 20, ratings: 40_000, noise: 0, seed: 5 }
    const changed = (drift: number): number => {
      const first = new Map<string, number>()
      let changes = 0
      for (const { user, item, rating } of generateRatings({ ...shape, drift })) {
        const pair = `${user} ${item}`
        if (first.has(pair) && first.get(pair) !== rating) changes++
        else first.set(pair, rating)
      }
      return changes / shape.ratings
    }
    expect(changed(0)).toBe(0)
    expect(changed(1)).toBeGreaterThan(0.1)
  })

  it('turns: ratings before the first turn are those without it; after it tastes are different at once', () => {
    const shape = { ...SHAPE, ratings: 4000, noise: 0, seed: 5 }
    const plain = [...generateRatings(shape)]
    const turned = [...generateRatings({ ...shape, turns: [{ from: 2000, angle: 1 }] })]
    const differ = (from: number): number =>
      plain.slice(from, from + 2000).filter(({ rating }, i) => rating !== turned[from + i]!.rating)
        .length
    expect(turned.slice(0, 2000)).toEqual(plain.slice(0, 2000))
    expect(differ(2000)).toBeGreaterThan(500)
  })

  it.each([
    { users: 0 },
    { ratings: -1 },
    { noise: Number.NaN },
    { drift: 5 },
    { turns: [{ from: 0, angle: 5 }] },
  ])('refuse %o', (wrong) => {
    expect(() => [...generateRatings({ ...SHAPE, ...wrong })]).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    )
  })
})

describe('generated models', () => {
  it('are the same for the same seed, and known', () => {
    const hash = createHash('sha256')
    for (const { id, kind, factors } of generateAlsModel({ users: 50, items: 20, factors: 10 })) {
      hash.update(`${id}-${kind}`).update(encodeFactors(factors))
    }
    expect(hash.digest('hex').slice(0, 16)).toBe('10f7e42f263b41b7')
  })

  it('can be made row by row', () => {
    const rows = [...generateAlsModel({ users: 3, items: 2, factors: 6, seed: 9 })]
    expect(rows.map(({ id, kind }) => `${id}-${kind}`)).toEqual(['1-U', '2-U', '3-U', '1-I', '2-I'])
    const second = new Float32Array(6)
    generateAlsRow('I', 1, 9, second)
    expect(rows[4]?.factors).toEqual(second)
  })

  it('have near-normal factors whose spread falls', () => {
    const variance = new Float64Array(40)
    for (const { factors } of generateAlsModel({ users: 4000, items: 0, factors: 40 })) {
      for (const [i, factor] of factors.entries()) {
        variance[i] = (variance[i] as number) + (factor * factor) / 4000
      }
    }
    expect(variance[0]).toBeGreaterThan(0.33)
    expect(variance[0]).toBeLessThan(0.39)
    expect(variance[39]).toBeLessThan(0.08)
  })
})
