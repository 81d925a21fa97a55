import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { type Candidate, diverseOrder } from '../../../src/gateway/recommender/diverse-order.ts'

const COLUMNS = 6

/** Candidates in the order of their scores, whose last two columns are biases. */
function drawn(seed: number, count: number): Candidate[] {
  const random = seededRandom(seed)
  const scores = Array.from({ length: count }, () => random.next() * 5).sort((a, b) => b - a)
  return scores.map((score) => ({
    score,
    row: Float32Array.from({ length: COLUMNS + 2 }, () => random.next() * 2 - 1),
  }))
}

function cosine(a: Float32Array, b: Float32Array): number {
  let product = 0
  let lengthA = 0
  let lengthB = 0
  for (let i = 0; i < COLUMNS; i++) {
    product += a[i]! * b[i]!
    lengthA += a[i]! ** 2
    lengthB += b[i]! ** 2
  }
  return product / Math.sqrt(lengthA * lengthB)
}

/** What the paper says, step by step, over all pairs. */
function plainly(candidates: readonly Candidate[], diversity: number, most: number): number[] {
  const scores = candidates.map(({ score }) => score)
  const [least, span] = [Math.min(...scores), Math.max(...scores) - Math.min(...scores)]
  const order: number[] = []
  while (order.length < most) {
    const worth = candidates.map(({ score, row }, place) => {
      if (order.includes(place)) return Number.NEGATIVE_INFINITY
      const likeness = order.map((other) => cosine(row!, candidates[other]!.row!))
      const largest = order.length === 0 ? 0 : Math.max(...likeness)
      return ((1 - diversity) * (score - least)) / span - diversity * largest
    })
    order.push(worth.indexOf(Math.max(...worth)))
  }
  return order
}

describe('a diverse order', () => {
  it('is that of the scores without diversity', () => {
    const order = diverseOrder(drawn(1, 30), { diversity: 0, columns: COLUMNS, most: 30 })
    expect(order).toEqual(Array.from({ length: 30 }, (_, n) => n))
  })

  it.each([0.1, 0.5, 0.9, 1])('is that of the definition (diversity %d)', (diversity) => {
    for (let seed = 1; seed <= 20; seed++) {
      const candidates = drawn(seed, 40)
      const order = diverseOrder(candidates, { diversity, columns: COLUMNS, most: 25 })
      expect(order, `seed ${seed}`).toEqual(plainly(candidates, diversity, 25))
    }
  })

  it('has each candidate once, also those of equal scores, without a row, or of zeros', () => {
    const none = { score: 1, row: undefined }
    const zeros = { score: 1, row: new Float32Array(COLUMNS) }
    const order = diverseOrder([none, zeros, none], { diversity: 0.5, columns: COLUMNS, most: 9 })
    expect(order).toEqual([0, 1, 2])
    expect(diverseOrder([], { diversity: 0.5, columns: COLUMNS, most: 9 })).toEqual([])
  })
})
