import { describe, expect, it } from 'vitest'
import { deletableDeltas } from '../../../../src/jobs/learning/write-back/deletable-deltas.ts'

describe('deltas that may be deleted', () => {
  it('are those below the lowest offset of all readers, in each partition', () => {
    const readers = [
      [10, 20],
      [7, 30],
      [9, 25],
    ]
    expect(deletableDeltas(readers)).toEqual([7, 20])
  })

  it('are none in a partition of which a reader has no offset', () => {
    expect(
      deletableDeltas([
        [10, 20, 5],
        [7, -1],
      ]),
    ).toEqual([7, 0, 0])
    expect(deletableDeltas([[10], []])).toEqual([0])
  })

  it('are none without readers', () => {
    expect(deletableDeltas([])).toEqual([])
  })
})
