import { describe, expect, it } from 'vitest'
import { batchSide, paddedLength } from '../../../src/training/gpu/batches.ts'
import { fewRatings, startedShare } from '../als/fixture.ts'

describe('batches', () => {
  const share = startedShare(fewRatings(120, 60, 3000), { factors: 8 })
  const limit = { floats: 5000, floatsOfRow: (length: number) => length * share.unknowns }

  it('have every row once, padded by less than half', () => {
    const { batches, positions } = batchSide(share.users, limit)
    const rows = batches.flatMap((batch) => [...batch.rows])
    expect(rows.toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: share.users.rows }, (_, row) => row),
    )
    expect(rows.map((row) => positions[row])).toEqual(rows.map((_, position) => position))
    for (const batch of batches) {
      for (const row of batch.rows) {
        const count = share.users.offsets[row + 1]! - share.users.offsets[row]!
        expect(count).toBeLessThanOrEqual(batch.length)
        expect(batch.length).toBeLessThan(Math.max(9, (count * 3) / 2))
      }
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
