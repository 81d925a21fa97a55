import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../src/core/random.ts'

describe('seededRandom', () => {
  it('gives the same numbers for a seed, and others for another', () => {
    const draw = (seed: number) => {
      const random = seededRandom(seed)
      return Array.from({ length: 5 }, () => random.next())
    }
    expect(draw(7)).toEqual(draw(7))
    expect(draw(7)).not.toEqual(draw(8))
  })

  it('is uniform below a bound', () => {
    const random = seededRandom(3)
    const counts = new Array<number>(10).fill(0)
    for (let i = 0; i < 100_000; i++) counts[random.below(10)]! += 1
    for (const count of counts) expect(Math.abs(count - 10_000)).toBeLessThan(500)
  })

  it('has normal numbers of mean 0 and variance 1', () => {
    const random = seededRandom(4)
    let sum = 0
    let squares = 0
    for (let i = 0; i < 100_000; i++) {
      const x = random.normal()
      sum += x
      squares += x * x
    }
    expect(Math.abs(sum / 100_000)).toBeLessThan(0.02)
    expect(Math.abs(squares / 100_000 - 1)).toBeLessThan(0.02)
  })
})
