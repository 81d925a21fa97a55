import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { type Allows, type Combination, type Factors, namesIn, pairwise } from './pairwise.ts'

const FACTORS = {
  shape: ['disc', 'square', 'star'],
  colour: ['red', 'green', 'blue', 'grey'],
  size: ['small', 'large'],
  weight: ['light', 'heavy', 'unknown'],
} as const

/** Discs are never red, what is small is never heavy, and a grey star is never large. */
const allows: Allows<typeof FACTORS> = ({ shape, colour, size, weight }) =>
  !(shape === 'disc' && colour === 'red') &&
  !(size === 'small' && weight === 'heavy') &&
  !(shape === 'star' && colour === 'grey' && size === 'large')

/** Every row that there can be. */
function allRows<F extends Factors>(factors: F): readonly Combination<F>[] {
  const rows = Object.entries(factors).reduce<Record<string, string>[]>(
    (found, [factor, levels]) =>
      found.flatMap((row) => levels.map((level) => ({ ...row, [factor]: level }))),
    [{}],
  )
  return rows as Combination<F>[]
}

const pairsOf = (rows: readonly Record<string, string>[]): readonly string[] =>
  [...new Set(rows.flatMap((row) => namesIn(row)))].sort()

describe('a pairwise table', () => {
  it.each([1, 2, 3, 4, 5])('of seed %i has every pair that an allowed row can have', (seed) => {
    const table = pairwise(FACTORS, seededRandom(seed), { allows })
    expect(pairsOf(table)).toEqual(pairsOf(allRows(FACTORS).filter(allows)))
    expect(table.filter((row) => !allows(row))).toEqual([])
    expect(table.length).toBeLessThan(allRows(FACTORS).length / 3)
  })

  it('has some pairs alone in fewer rows, all of which are allowed', () => {
    const all = pairsOf(allRows(FACTORS).filter(allows))
    const pairs = new Set(all.filter((_, n) => n % 4 === 0))
    const table = pairwise(FACTORS, seededRandom(1), { allows, pairs })
    expect([...pairs].filter((name) => !pairsOf(table).includes(name))).toEqual([])
    expect(table.filter((row) => !allows(row))).toEqual([])
    expect(table.length).toBeLessThan(pairwise(FACTORS, seededRandom(1), { allows }).length)
  })

  it('without a rule is hardly longer than the product of the two longest factors', () => {
    const table = pairwise(FACTORS, seededRandom(1))
    expect(pairsOf(table)).toEqual(pairsOf(allRows(FACTORS)))
    expect(table.length).toBeLessThanOrEqual(4 * 3 + 4)
  })

  it('has a level that takes long only in rows that need it', () => {
    const rowsWith = (costly: readonly string[]): number => {
      const table = pairwise(FACTORS, seededRandom(1), { allows, costly: new Set(costly) })
      expect(pairsOf(table)).toEqual(pairsOf(allRows(FACTORS).filter(allows)))
      return table.filter(({ size }) => size === 'large').length
    }
    // Each colour is in a row with it, at the least.
    expect(rowsWith(['large'])).toBeGreaterThanOrEqual(FACTORS.colour.length)
    expect(rowsWith(['large'])).toBeLessThan(rowsWith(['small']))
  })

  it('finds the row of a pair that only one row can have', () => {
    const lonely: Allows<typeof FACTORS> = ({ shape, colour, size, weight }) =>
      shape !== 'star' ||
      ((colour ?? 'blue') === 'blue' &&
        (size ?? 'large') === 'large' &&
        (weight ?? 'unknown') === 'unknown')
    const table = pairwise(FACTORS, seededRandom(1), { allows: lonely })
    expect(table).toContainEqual({
      shape: 'star',
      colour: 'blue',
      size: 'large',
      weight: 'unknown',
    })
    expect(pairsOf(table)).toEqual(pairsOf(allRows(FACTORS).filter(lonely)))
  })

  it('is the same for the same seed, with the row of the most pairs first', () => {
    const table = pairwise(FACTORS, seededRandom(7), { allows })
    expect(pairwise(FACTORS, seededRandom(7), { allows })).toEqual(table)
    const news: number[] = []
    const seen = new Set<string>()
    for (const row of table) {
      const names = namesIn(row).filter((name) => !seen.has(name))
      news.push(names.length)
      for (const name of names) seen.add(name)
    }
    expect(news).toEqual([...news].sort((a, b) => b - a))
  })
})
