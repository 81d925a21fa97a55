import { describe, expect, it } from 'vitest'
import { DeferredResults } from '../../../src/runtime/subtask/deferred-results.ts'
import type { OperatorTask } from '../../../src/runtime/subtask/operator-task.ts'

/** An operator with results that are ready, which adds its name to `emitted` for each. */
function operatorOf(
  name: string,
  ready: number,
  emitted: string[],
  isFull: () => boolean = () => false,
): OperatorTask {
  let left = ready
  const task: Pick<OperatorTask, 'emitNext'> & { readonly deferring: object } = {
    deferring: {
      get isFull() {
        return isFull()
      },
    },
    emitNext: () => {
      if (left === 0) return false
      left -= 1
      emitted.push(name)
      return true
    },
  }
  return task as OperatorTask
}

const always = () => true
const never = () => false

describe('DeferredResults', () => {
  it('emits the results of one record when the time is used up, because nothing wakes it again', () => {
    const emitted: string[] = []
    const results = new DeferredResults()
    results.add(operatorOf('first', 2, emitted))
    results.add(operatorOf('second', 0, emitted))
    expect(results.emit(always, never)).toBe(true)
    expect(emitted).toEqual(['first'])
    expect(results.emit(always, never)).toBe(true)
    expect(results.emit(always, never)).toBe(false)
    expect(emitted).toEqual(['first', 'first'])
  })

  it('emits all that is ready while there is time, from the last operator on', () => {
    const emitted: string[] = []
    const results = new DeferredResults()
    results.add(operatorOf('first', 2, emitted))
    results.add(operatorOf('second', 1, emitted))
    expect(results.emit(always, always)).toBe(true)
    expect(emitted).toEqual(['second', 'first', 'first'])
  })

  it('emits nothing where it may not, or into an operator that is full', () => {
    const emitted: string[] = []
    const results = new DeferredResults()
    results.add(operatorOf('first', 1, emitted))
    results.add(operatorOf('second', 0, emitted, () => true))
    expect(results.emit(never, always)).toBe(false)
    expect(results.emit(always, always)).toBe(false)
    expect(emitted).toEqual([])
  })
})
