import { describe, expect, it } from 'vitest'
import { accumulatorsSnapshot } from '../../../../src/cluster/rest/job/accumulators-snapshot.ts'

/** The text of one accumulator with this state. */
function textOf(type: string, ...states: readonly unknown[]): string | undefined {
  const parts = states.map((state, subtask) => ({ uid: 'a', subtask, name: 'n', type, state }))
  return accumulatorsSnapshot(parts).job[0]?.value
}

describe('the snapshot of accumulators', () => {
  it('has values as Java writes them', () => {
    expect(textOf('ListAccumulator', ['a', new Set([2])], [3])).toBe('[a, [2], 3]')
    expect(textOf('Histogram', new Map([[5, 1]]), new Map([[4, 2]]))).toBe('{4=2, 5=1}')
    expect(textOf('ListAccumulator', [{ user: 1 }, null])).toBe('[{"user":1}, null]')
    expect(textOf('AverageAccumulator', { sum: 3, count: 2 })).toBe('1.5')
  })

  it('says why an accumulator has no value', () => {
    const part = { uid: 'a', name: 'n', state: 1 }
    const { job, vertices } = accumulatorsSnapshot([
      { ...part, subtask: 0, type: 'IntCounter' },
      { ...part, subtask: 1, type: 'LongCounter' },
    ])
    expect(job[0]?.value).toMatch(/IntCounter and of type LongCounter/)
    expect(vertices[0]?.subtasks.map(({ accumulators: [one] }) => one?.value)).toEqual(['1', '1'])
  })
})
