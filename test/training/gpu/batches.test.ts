import { describe, expect, it } from 'vitest'
import {
  batchSide,
  isSegmented,
  paddedLength,
  SEGMENT_RATINGS,
} from '../../../src/training/gpu/batches.ts'
import { fewRatings, startedShare } from '../als/fixture.ts'

describe('batches', () => {
  const share = startedShare(fewRatings(120, 60, 3000), { factors: 8 })
  const limit = { floats: 5000, floatsOfRow: (length: number) => length * share.unknowns }

  it('have every row once, at its position', () => {
    const { batches, positions } = batchSide(share.users, limit)
    const rows = batches.flatMap((batch) => [...batch.rows])
    expect(rows.toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: share.users.rows }, (_, row) => row),
    )
    expect(rows.map((row) => positions[row])).toEqual(rows.map((_, position) => position))
  })

  /** Batches of rows with these numbers of ratings: the counts of each batch and its length. */
  const batchesOf = (counts: readonly number[], floats: number): unknown => {
    const offsets = Uint32Array.from([0, ...counts]).map((_, row) =>
      counts.slice(0, row).reduce((sum, count) => sum + count, 0),
    )
    const side = { rows: counts.length, offsets }
    const { batches } = batchSide(side, { floats, floatsOfRow: (length) => length })
    return batches.map(({ rows, length }) => [[...rows].map((row) => counts[row]), length])
  }

  it('have the rows of one padded length', () => {
    expect(batchesOf([5, 20, 30, 8, 31, 17], 160)).toEqual([
      [[5, 8], 8],
      [[20, 17], 24],
      [[30, 31], 32],
    ])
  })

  it('have the few rows of a shorter length where these fill a sixteenth of a batch', () => {
    expect(batchesOf([5, 20, 30, 8, 31, 17], 640)).toEqual([
      [[5, 8], 8],
      [[20, 17], 24],
      [[30, 31], 32],
    ])
    expect(batchesOf([5, 20, 30, 8, 31, 17], 800)).toEqual([
      [[5, 8, 20, 17], 24],
      [[30, 31], 32],
    ])
    expect(batchesOf([5, 20, 30, 8, 31, 17], 3000)).toEqual([[[5, 8, 20, 17, 30, 31], 32]])
    expect(batchesOf([5, 1000], 2000)).toEqual([
      [[5], 8],
      [[1000], 1024],
    ])
  })

  it('divide every length that is summed in segments into whole segments', () => {
    for (let count = 1; count < 5000; count++) {
      const length = paddedLength(count)
      if (isSegmented(length)) expect(length % SEGMENT_RATINGS).toBe(0)
      else expect(length).toBeLessThan(2 * SEGMENT_RATINGS)
    }
  })

  it('stay below the limit of floats, unless a single row is longer', () => {
    for (const { rows, length } of batchSide(share.items, limit).batches) {
      if (rows.length > 1) expect(rows.length * length * share.unknowns).toBeLessThanOrEqual(5000)
    }
  })

  it.each([
    [1, 8],
    [8, 8],
    [9, 12],
    [13, 16],
    [17, 24],
    [25, 32],
    [1000, 1024],
    [1025, 1536],
  ])('pad %i ratings to %i', (count, length) => {
    expect(paddedLength(count)).toBe(length)
  })
})
