import { describe, expect, it } from 'vitest'
import { featureScales, scaledTable } from '../../../src/training/data/feature-scales.ts'
import { type SparseTable, SparseTableBuilder } from '../../../src/training/data/sparse-table.ts'

/** Feature 0 is never there, 1 is 0 or 4, 2 is always 5, 3 is -8 or 2. */
function table(): SparseTable {
  const builder = new SparseTableBuilder()
  builder.add(1, [1, 2, 3], [4, 5, -8])
  builder.add(-1, [2, 3], [5, 2])
  builder.add(1, [1, 2, 3], [400, 500, 800])
  return builder.build()
}

const FIRST_TWO = Uint32Array.of(0, 1)

describe('the factors of features', () => {
  it('by the largest absolute value of the rows that train', () => {
    expect(Array.from(featureScales(table(), FIRST_TWO, 'max') ?? [])).toEqual([
      1,
      0.25,
      0.2,
      1 / 8,
    ])
  })

  it('by the standard deviation, in which absent values count; one that does not vary by its value', () => {
    const scales = featureScales(table(), FIRST_TWO, 'deviation') ?? new Float64Array(0)
    expect(Array.from(scales)).toEqual([1, 0.5, 0.2, 0.2])
  })

  it('do not exist without scaling', () => {
    expect(featureScales(table(), FIRST_TWO, 'none')).toBeUndefined()
  })
})

describe('a scaled table', () => {
  it('has the values times their factors, and leaves the table as it was', () => {
    const original = table()
    const scaled = scaledTable(original, Float64Array.of(1, 0.25, 0.2, 0.5))
    expect(Array.from(scaled.values.subarray(0, 5))).toEqual([1, 1, -4, 1, 1])
    expect(Array.from(original.values.subarray(0, 3))).toEqual([4, 5, -8])
    expect(scaled.indexes).toBe(original.indexes)
  })
})
