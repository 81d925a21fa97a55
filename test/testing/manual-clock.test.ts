import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/testing/manual-clock.ts'

describe('ManualClock', () => {
  it('calls what is due in the order of its times, each at its time', () => {
    const clock = new ManualClock(1000)
    const calls: string[] = []
    clock.after(20, () => calls.push(`b at ${clock.nowMs()}`))
    clock.after(10, () => {
      calls.push(`a at ${clock.nowMs()}`)
      clock.after(5, () => calls.push(`nested at ${clock.nowMs()}`))
    })
    clock.after(21, () => calls.push('too late'))
    clock.advance(20)
    expect(calls).toEqual(['a at 1010', 'nested at 1015', 'b at 1020'])
    expect(clock.pending).toBe(1)
  })

  it('does not call what is canceled', () => {
    const clock = new ManualClock()
    let called = false
    const cancel = clock.after(1, () => {
      called = true
    })
    cancel()
    clock.advance(5)
    expect(called).toBe(false)
  })

  it('refuses to go back', () => {
    const clock = new ManualClock(50)
    clock.advanceTo(60)
    expect(clock.monotonicMs()).toBe(10)
    expect(() => clock.advanceTo(59)).toThrow(/the clock cannot go back by 1 ms/)
  })
})
