import { describe, expect, it } from 'vitest'
import { keptOf } from '../../../src/inference/transforms/truncation.ts'

/* The cases of the library in Rust (`utils/truncation.rs`): empty, short, medium and long texts in a room of 7. */
const LONGEST_FIRST: readonly (readonly [
  first: number,
  second: number,
  kept: readonly number[],
])[] = [
  [0, 0, [0, 0]],
  [0, 8, [0, 7]],
  [2, 2, [2, 2]],
  [2, 8, [2, 5]],
  [4, 0, [4, 0]],
  [4, 4, [3, 4]],
  [4, 8, [3, 4]],
  [8, 0, [7, 0]],
  [8, 2, [5, 2]],
  [8, 4, [4, 3]],
  [8, 8, [3, 4]],
]

describe('texts that are too long', () => {
  it.each(LONGEST_FIRST)(
    'of %i and %i tokens keep %j, the longer one first',
    (first, second, kept) => {
      expect(keptOf([first, second], 7, 'longest-first')).toEqual(kept)
    },
  )

  it('keep the text whole that may not be cut', () => {
    expect(keptOf([3, 9], 7, 'only-second')).toEqual([3, 4])
    expect(keptOf([9, 3], 7, 'only-first')).toEqual([4, 3])
    expect(keptOf([3, 4], 7, 'only-first')).toEqual([3, 4])
    expect(keptOf([9], 7, 'only-first')).toEqual([7])
    expect(keptOf([9], 7, 'longest-first')).toEqual([7])
  })

  it('cannot be cut where nothing would be left, or where there is no such text', () => {
    expect(keptOf([7, 5], 7, 'only-second')).toBeUndefined()
    expect(keptOf([6, 5], 7, 'only-second')).toEqual([6, 1])
    expect(keptOf([2, 9], 7, 'only-first')).toBeUndefined()
    expect(keptOf([9], 7, 'only-second')).toBeUndefined()
  })
})
