import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { SmallestStrings } from '../../../src/core/text/smallest-strings.ts'
import { finished } from '../../../src/state/port/scan-part.ts'

describe('SmallestStrings', () => {
  it('keeps the smallest ones, sorted, and says whether it left one out', () => {
    const random = seededRandom(3)
    for (const capacity of [1, 2, 7, 100, 500]) {
      const texts = [...new Set(Array.from({ length: 300 }, () => `k${random.below(100_000)}`))]
      const smallest = new SmallestStrings(capacity)
      for (const text of texts) smallest.offer(text)
      expect(smallest.isCut).toBe(capacity < texts.length)
      expect(finished(smallest.sorted())).toEqual([...texts].sort().slice(0, capacity))
    }
  })
})
