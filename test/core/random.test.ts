import { describe, expect, it } from 'vitest'
import { ReseededRandom, randomStreams, seededRandom } from '../../src/core/random.ts'

describe('ReseededRandom', () => {
  it('has the numbers of its last seed from their beginning', () => {
    const random = new ReseededRandom()
    for (const seed of [7, 8, 7]) {
      random.reseed(seed)
      const expected = seededRandom(seed)
      const drawn = [random.next(), random.below(100), random.normal(), random.normal()]
      expect(drawn).toEqual([
        expected.next(),
        expected.below(100),
        expected.normal(),
        expected.normal(),
      ])
    }
  })
})

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

describe('randomStreams', () => {
  const numbersOf = (block: number, row: number, random = randomStreams(5)): number[] => {
    random.seek(block, row)
    return Array.from({ length: 3 }, () => random.normal())
  }

  it('has the same numbers in a stream, whatever was drawn before', () => {
    const random = randomStreams(5)
    random.normal()
    const later = numbersOf(8, 1, random)
    expect(numbersOf(3, 900, random)).toEqual(numbersOf(3, 900))
    expect(later).toEqual(numbersOf(8, 1))
  })

  it('has other numbers in every stream and for every seed', () => {
    const firsts = new Set<number>()
    for (let block = 0; block < 30; block++) {
      for (let row = 0; row < 100; row++) firsts.add(numbersOf(block, row)[0]!)
    }
    firsts.add(numbersOf(0, 0, randomStreams(6))[0]!)
    expect(firsts.size).toBe(3001)
  })

  it('has first numbers over neighbouring streams that are normal and not correlated', () => {
    const random = randomStreams(1)
    const sums = { first: 0, squares: 0, products: 0 }
    let before = 0
    for (let row = 0; row < 100_000; row++) {
      random.seek(7, row)
      const x = random.normal()
      sums.first += x
      sums.squares += x * x
      sums.products += x * before
      before = x
    }
    expect(Math.abs(sums.first / 100_000)).toBeLessThan(0.02)
    expect(Math.abs(sums.squares / 100_000 - 1)).toBeLessThan(0.03)
    expect(Math.abs(sums.products / 100_000)).toBeLessThan(0.02)
  })
})
