import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../../src/core/random.ts'
import { type MeanRows, meanProduct } from '../../../../src/training/bmf/means/mean-product.ts'

const [USERS, ITEMS] = [9, 7]

/** Random rows of some factors, not around 0; axes from `used` on are empty. */
function randomRows(seed: number, factors: number, used = factors): MeanRows {
  const random = seededRandom(seed)
  const side = (rows: number): Float32Array =>
    Float32Array.from({ length: rows * (factors + 1) }, (_, at) => {
      const column = at % (factors + 1)
      const value = 0.5 + random.normal()
      return column < used || column === factors ? value : 0
    })
  return { users: side(USERS), items: side(ITEMS), sweeps: 2 }
}

/** Scores of all pairs. */
function scoresOf({ users, items }: MeanRows, unknowns: number): number[] {
  return Array.from({ length: USERS * ITEMS }, (_, pair) => {
    const [u, i] = [Math.floor(pair / ITEMS) * unknowns, (pair % ITEMS) * unknowns]
    let sum = users[u + unknowns - 1]! + items[i + unknowns - 1]!
    for (let k = 0; k + 1 < unknowns; k++) sum += users[u + k]! * items[i + k]!
    return sum
  })
}

function expectEqual(actual: readonly number[], expected: readonly number[]): void {
  for (const [i, score] of actual.entries()) expect(score).toBeCloseTo(expected[i]!, 4)
}

/** The same scores by other axes: two turned, one of another sign, all of another scale. */
function turned({ users, items, sweeps }: MeanRows): MeanRows {
  const side = (rows: Float32Array, scale: number): Float32Array => {
    const out = rows.slice()
    for (let at = 0; at < rows.length; at += 4) {
      out[at] = scale * (0.6 * rows[at]! - 0.8 * rows[at + 1]!)
      out[at + 1] = scale * (0.8 * rows[at]! + 0.6 * rows[at + 1]!)
      out[at + 2] = -scale * rows[at + 2]!
    }
    return out
  }
  return { users: side(users, 3), items: side(items, 1 / 3), sweeps }
}

describe('the mean of two products', () => {
  it('of the same scores by other axes has these scores', () => {
    const a = randomRows(1, 3)
    const mean = meanProduct(a, turned(a), 4)
    expect(mean.sweeps).toBe(4)
    expectEqual(scoresOf(mean, 4), scoresOf(a, 4))
  })

  it('is exact where the factors suffice, with the weights of the sweeps', () => {
    const [a, b] = [{ ...randomRows(1, 4, 2), sweeps: 6 }, randomRows(2, 4, 2)]
    const [first, second] = [scoresOf(a, 5), scoresOf(b, 5)]
    const expected = first.map((score, pair) => 0.75 * score + 0.25 * second[pair]!)
    expectEqual(scoresOf(meanProduct(a, b, 5), 5), expected)
  })

  it('is nearer than any one of both where they do not suffice, and right on the mean of a row', () => {
    const [a, b] = [randomRows(1, 3), randomRows(2, 3)]
    const [first, second] = [scoresOf(a, 4), scoresOf(b, 4)]
    const actual = scoresOf(meanProduct(a, b, 4), 4)
    const mean = first.map((score, pair) => (score + second[pair]!) / 2)
    const distance = (scores: readonly number[]): number =>
      Math.sqrt(scores.reduce((sum, score, pair) => sum + (score - mean[pair]!) ** 2, 0))
    expect(distance(actual)).toBeLessThan(0.5 * Math.min(distance(first), distance(second)))
    const ofFirstUser = (scores: readonly number[]): number =>
      scores.slice(0, ITEMS).reduce((sum, score) => sum + score, 0)
    expect(ofFirstUser(actual)).toBeCloseTo(ofFirstUser(mean), 3)
  })

  it('of rows without factors is that of the biases', () => {
    const [a, b] = [randomRows(1, 2, 0), randomRows(2, 2, 0)]
    const [first, second] = [scoresOf(a, 3), scoresOf(b, 3)]
    const expected = first.map((score, pair) => (score + second[pair]!) / 2)
    expectEqual(scoresOf(meanProduct(a, b, 3), 3), expected)
  })
})
