import { describe, expect, it } from 'vitest'
import { IntCounter, ListAccumulator, LongCounter } from '../../../src/index.ts'
import { TaskAccumulators } from '../../../src/runtime/subtask/task-accumulators.ts'

const TASK = { uid: 'map', subtask: 1 }

describe('the accumulators of a task', () => {
  it('are reported with the task, their name, type and state', () => {
    const accumulators = new TaskAccumulators()
    accumulators.addAccumulator('lines', new IntCounter()).add(3)
    expect(accumulators.parts(TASK)).toEqual([
      { ...TASK, name: 'lines', type: 'IntCounter', state: 3 },
    ])
  })

  it('are found by their name', () => {
    const accumulators = new TaskAccumulators()
    const lines = accumulators.addAccumulator('lines', new IntCounter())
    expect(accumulators.getAccumulator('lines')).toBe(lines)
    expect(accumulators.getAccumulator('other')).toBeUndefined()
  })

  it('have each name once', () => {
    const accumulators = new TaskAccumulators()
    accumulators.addAccumulator('lines', new IntCounter())
    expect(() => accumulators.addAccumulator('lines', new IntCounter())).toThrow(
      expect.objectContaining({ code: 'STATE_CONFLICT' }),
    )
  })

  it('have one type by name in all tasks of a slot', () => {
    const types = new Map<string, string>()
    new TaskAccumulators(types).addAccumulator('lines', new IntCounter())
    const other = new TaskAccumulators(types)
    expect(() => other.addAccumulator('lines', new LongCounter())).toThrow(
      expect.objectContaining({ code: 'STATE_CONFLICT' }),
    )
    expect(() => other.addAccumulator('lines', new IntCounter())).not.toThrow()
  })

  it('are refused when the main thread does not know how to merge their type', () => {
    const unknown = Object.assign(new IntCounter(), { type: 'Unregistered' })
    expect(() => new TaskAccumulators().addAccumulator('lines', unknown)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    )
  })

  it('report a failure for a state that cannot be copied', () => {
    const accumulators = new TaskAccumulators()
    accumulators.addAccumulator('functions', new ListAccumulator<() => void>()).add(() => undefined)
    const [part] = accumulators.parts(TASK)
    expect(part).toMatchObject({
      state: undefined,
      failure: expect.stringContaining('"functions"'),
    })
  })
})
