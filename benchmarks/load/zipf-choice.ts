import { seededRandom } from '../../src/core/random.ts'

/** A choice among `count` numbers by Zipf's law with exponent 1.1, the same order in every run. */
export function zipfChoice(count: number): () => number {
  const random = seededRandom(7)
  const weights = Array.from({ length: count }, (_, i) => (i + 1) ** -1.1)
  const sum = weights.reduce((total, weight) => total + weight, 0)
  return () => {
    let left = random.next() * sum
    const found = weights.findIndex((weight) => {
      left -= weight
      return left < 0
    })
    return Math.max(0, found)
  }
}
