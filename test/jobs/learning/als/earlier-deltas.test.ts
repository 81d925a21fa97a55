import { expect, it } from 'vitest'
import { EarlierDeltas } from '../../../../src/jobs/learning/als/earlier-deltas.ts'
import { OperatorStateMemory } from '../../../../src/runtime/subtask/operator-state-memory.ts'

const place = (partition: number, offset: number) => ({ partition, offset })

/** Begun on version 2: the deltas of before end at 10 and 20, its own ratings begin at 100 in partition 1. */
function begun(state: OperatorStateMemory): EarlierDeltas {
  const earlier = new EarlierDeltas(state)
  earlier.found(2, { ends: [10, 20], next: [0, 100] })
  return earlier
}

it.each([
  ['of a rating before those that the job learns', place(1, 19), place(1, 99), false],
  ['of the first rating that the job learns', place(1, 19), place(1, 100), true],
  ['of the job itself', place(1, 20), place(1, 100), false],
  ['of a partition of deltas that came later', place(2, 0), place(1, 100), false],
  ['of a partition of ratings that the job learns from its start', place(0, 9), place(0, 0), true],
  ['of a partition of ratings that came later', place(0, 9), place(5, 3), true],
])('a delta %s', (_, delta, rating, isLeftOut) => {
  const state = new OperatorStateMemory()
  const earlier = begun(state)
  expect(earlier.leavesOut(2, delta, rating)).toBe(isLeftOut)
  expect(earlier.leavesOut(3, delta, rating)).toBe(false)
  earlier.snapshot()
  const entries = state.entries().map(({ name, entries: of }) => [name, of] as const)
  const restored = new EarlierDeltas(new OperatorStateMemory(new Map(entries)))
  expect(restored.leavesOut(2, delta, rating)).toBe(isLeftOut)
})

it('are forgotten of a version after four others', () => {
  const earlier = begun(new OperatorStateMemory())
  for (const version of [3, 4, 5]) earlier.found(version, { ends: [1], next: [] })
  expect(earlier.leavesOut(2, place(0, 9), place(0, 0))).toBe(true)
  earlier.found(6, { ends: [1], next: [] })
  expect(earlier.leavesOut(2, place(0, 9), place(0, 0))).toBe(false)
})

it('are those of each start of the job', () => {
  const state = new OperatorStateMemory()
  const earlier = begun(state)
  // The run between both has sent deltas of ratings from 150 on, and was given up.
  earlier.found(2, { ends: [10, 40], next: [0, 150] })
  earlier.found(2, { ends: [10, 40], next: [0, 150] })
  const leftOut = (offset: number, rating: number) =>
    earlier.leavesOut(2, place(1, offset), place(1, rating))
  expect([leftOut(19, 120), leftOut(30, 120), leftOut(30, 150), leftOut(40, 150)]).toEqual([
    true,
    false,
    true,
    false,
  ])
  earlier.snapshot()
  expect(state.entries().map(({ entries }) => entries.length)).toEqual([2])
})
