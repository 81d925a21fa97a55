import { describe, expect, it } from 'vitest'
import {
  bestLevel,
  type JudgedLevel,
  type LevelRange,
  type LevelSearch,
  nextLevel,
  requireLevels,
} from '../../../../src/testing/load/measurement/level-search.ts'

/** The levels that a search measures when levels up to `limit` meet the objective. */
function levelsOf(range: LevelRange, search: LevelSearch, limit: number): JudgedLevel[] {
  const judged: JudgedLevel[] = []
  for (;;) {
    const level = nextLevel(range, search, judged)
    if (level === undefined) return judged
    judged.push({ level, isWithin: level <= limit })
    expect(judged.length).toBeLessThan(100)
  }
}

const numbers = (judged: readonly JudgedLevel[]) => judged.map(({ level }) => level)

describe('a linear search', () => {
  it('measures every step of the range', () => {
    expect(numbers(levelsOf({ start: 1, end: 9, step: 4 }, 'linear', 100))).toEqual([1, 5, 9])
    expect(numbers(levelsOf({ start: 4, end: 4, step: 1 }, 'linear', 100))).toEqual([4])
  })

  it('ends with the first level above the threshold, also when the range has no end', () => {
    const range = { start: 1, end: Number.POSITIVE_INFINITY, step: 2 }
    const judged = levelsOf(range, 'linear', 6)
    expect(numbers(judged)).toEqual([1, 3, 5, 7])
    expect(bestLevel(judged)).toBe(5)
  })
})

describe('a binary search', () => {
  it.each([1, 2, 63, 64, 99, 100])('finds the highest level within the threshold: %i', (limit) => {
    const judged = levelsOf({ start: 1, end: 100, step: 1 }, 'binary', limit)
    expect(bestLevel(judged)).toBe(limit)
    expect(judged.length).toBeLessThanOrEqual(9)
    expect(new Set(numbers(judged)).size).toBe(judged.length)
  })

  it('is as precise as its step', () => {
    const judged = levelsOf({ start: 100, end: 1130, step: 50 }, 'binary', 777)
    expect(bestLevel(judged)).toBe(750)
  })

  it('ends at once when the lowest level is above the threshold, and after two when none is', () => {
    const range = { start: 10, end: 20, step: 1 }
    expect(numbers(levelsOf(range, 'binary', 1))).toEqual([10])
    expect(numbers(levelsOf(range, 'binary', 99))).toEqual([10, 20])
    expect(bestLevel(levelsOf(range, 'binary', 1))).toBeUndefined()
  })
})

describe('requireLevels', () => {
  it.each([
    [{ start: 0, end: 1, step: 1 }, 'linear'],
    [{ start: 5, end: 4, step: 1 }, 'linear'],
    [{ start: 1, end: 4, step: 0 }, 'linear'],
    [{ start: 1, end: Number.POSITIVE_INFINITY, step: 1 }, 'binary'],
  ] as const)('refuses %j with a %s search', (range, search) => {
    expect(() => requireLevels(range, search)).toThrow(/range/)
  })
})
