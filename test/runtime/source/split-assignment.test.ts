import { describe, expect, it } from 'vitest'
import { SplitAssignment } from '../../../src/runtime/source/split-assignment.ts'

const offsets = (partitions: readonly number[]) =>
  partitions.map((partition) => ({ partition, nextOffset: 10 * partition }))

describe('the partitions of a source', () => {
  it('belong to one subtask each: all are read, none twice', () => {
    const read = [0, 1, 2].flatMap((subtask) =>
      new SplitAssignment({}, subtask, 3).discover([0, 1, 2, 3, 4, 5, 6]),
    )
    expect(read.map(({ partition }) => partition).sort()).toEqual([0, 1, 2, 3, 4, 5, 6])
  })

  it('belong to the subtask that the source says', () => {
    const assigned = new SplitAssignment({ subtaskOf: () => 1 }, 1, 2)
    expect(assigned.discover([0, 1, 2])).toHaveLength(3)
  })

  it('are read from the start when they are new, and only once', () => {
    const assigned = new SplitAssignment({}, 0, 1)
    expect(assigned.discover([0])).toEqual([{ partition: 0, nextOffset: -1 }])
    expect(assigned.discover([0, 1])).toEqual([{ partition: 1, nextOffset: -1 }])
  })

  it('continue at their restored positions, those of other subtasks elsewhere', () => {
    const assigned = new SplitAssignment({}, 1, 2)
    expect(assigned.restore(offsets([0, 1, 2, 3]))).toEqual(offsets([1, 3]))
    expect(assigned.isRestored(1)).toBe(true)
    expect(assigned.isRestored(0)).toBe(false)
    expect(assigned.discover([1, 3, 5])).toEqual([{ partition: 5, nextOffset: -1 }])
  })
})
