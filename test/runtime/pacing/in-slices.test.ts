import { describe, expect, it } from 'vitest'
import { inSlices } from '../../../src/runtime/pacing/in-slices.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'

/** Steps that take half a millisecond each; `done` counts them. */
function work(steps: number) {
  const clock = new ManualClock(0)
  const done = { steps: 0 }
  function* half(): Generator<void, void> {
    for (let i = 0; i < steps; i++) {
      done.steps += 1
      clock.advance(0.5)
      yield
    }
  }
  return { clock, done, half }
}

describe('work in slices', () => {
  it('lets the event loop turn after each millisecond', async () => {
    const { clock, done, half } = work(20)
    const seen: number[] = []
    const look = (): void => {
      seen.push(done.steps)
      if (done.steps < 20) setImmediate(look)
    }
    const whole = inSlices(half(), clock, () => true)
    look()
    expect(await whole).toBe(true)
    expect(done.steps).toBe(20)
    expect(seen).toEqual([2, 4, 6, 8, 10, 12, 14, 16, 18, 20])
  })

  it('is left undone when nothing needs it any more', async () => {
    const { clock, done, half } = work(20)
    expect(await inSlices(half(), clock, () => done.steps < 6)).toBe(false)
    expect(done.steps).toBe(6)
  })
})
