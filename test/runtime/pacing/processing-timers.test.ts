import { describe, expect, it } from 'vitest'
import { ProcessingTimers } from '../../../src/runtime/pacing/processing-timers.ts'

describe('ProcessingTimers', () => {
  it('gives due requests in time order and leaves the others', () => {
    const timers = new ProcessingTimers<string>()
    for (const at of [30, 10, 20]) timers.add(at, 'a')
    expect(timers.takeDue(25)).toEqual({ timestampMs: 10, owner: 'a' })
    expect(timers.takeDue(25)).toEqual({ timestampMs: 20, owner: 'a' })
    expect(timers.takeDue(25)).toBeUndefined()
    expect(timers.dueMs).toBe(31)
  })

  it('counts an equal request of one owner once, of two owners twice', () => {
    const timers = new ProcessingTimers<string>()
    timers.add(10, 'a')
    timers.add(10, 'b')
    timers.add(10, 'a')
    const due = [timers.takeDue(11), timers.takeDue(11), timers.takeDue(11)]
    expect(due.map((entry) => entry?.owner)).toEqual(['a', 'b', undefined])
  })

  it('waits until the millisecond of a request is over', () => {
    const timers = new ProcessingTimers<string>()
    timers.add(10, 'a')
    expect(timers.takeDue(10)).toBeUndefined()
    expect(timers.takeDue(timers.dueMs!)).toEqual({ timestampMs: 10, owner: 'a' })
  })
})
