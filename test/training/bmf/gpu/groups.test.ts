import { expect, it } from 'vitest'
import { groupsOf } from '../../../../src/training/bmf/gpu/groups.ts'

const batchOf = (rows: number): { rows: Uint32Array; length: number } => ({
  rows: new Uint32Array(rows),
  length: 8,
})

it.each([
  [
    'as many batches as fit',
    [3, 4, 2, 5],
    [
      [3, 4],
      [2, 5],
    ],
  ],
  ['a batch that is larger than the limit by itself', [1, 9, 1], [[1], [9], [1]]],
  ['nothing of nothing', [], []],
])('a group has %s', (_, sizes, expected) => {
  const groups = groupsOf(sizes.map(batchOf), 7)
  expect(groups.map((group) => group.map(({ rows }) => rows.length))).toEqual(expected)
})
