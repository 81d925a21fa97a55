import { describe, expect, it } from 'vitest'
import type { Clock } from '../../src/core/clock.ts'
import { type DeadlineEntry, DeadlineWheel } from '../../src/wire/deadline-wheel.ts'

/** A clock whose one timer fires when `advance` passes it. */
class OneTimerClock implements Clock {
  now = 0
  timers = 0
  private due: { at: number; callback: () => void } | undefined

  nowMs(): number {
    return this.now
  }

  monotonicMs(): number {
    return this.now
  }

  after(delayMs: number, callback: () => void): () => void {
    this.timers++
    const timer = { at: this.now + delayMs, callback }
    this.due = timer
    return () => {
      if (this.due === timer) this.due = undefined
    }
  }

  get isArmed(): boolean {
    return this.due !== undefined
  }

  advance(ms: number): void {
    const end = this.now + ms
    while (this.due !== undefined && this.due.at <= end) {
      const { at, callback } = this.due
      this.due = undefined
      this.now = at
      callback()
    }
    this.now = end
  }
}

function entryAt(deadlineAt: number, expire: () => void): DeadlineEntry {
  return { deadlineAt, previousEntry: undefined, nextEntry: undefined, expire }
}

describe('DeadlineWheel', () => {
  it('expires entries in order, at most one tick late, each once', () => {
    const clock = new OneTimerClock()
    const wheel = new DeadlineWheel(clock, 10)
    const expired: [number, number][] = []
    for (const at of [5, 95, 100, 101, 2_560, 9_999]) {
      wheel.add(entryAt(at, () => expired.push([at, clock.now])))
    }
    clock.advance(20_000)
    expect(expired.map(([at]) => at)).toEqual([5, 95, 100, 101, 2_560, 9_999])
    for (const [at, when] of expired) {
      expect(when).toBeGreaterThanOrEqual(at)
      expect(when - at).toBeLessThanOrEqual(10)
    }
  })

  it('does not expire a removed entry', () => {
    const clock = new OneTimerClock()
    const wheel = new DeadlineWheel(clock)
    const entry = entryAt(50, () => expect.unreachable())
    wheel.add(entry)
    wheel.remove(entry)
    wheel.remove(entry)
    clock.advance(1000)
    expect(wheel.waiting).toBe(0)
  })

  it('keeps an entry without a deadline until it is removed', () => {
    const clock = new OneTimerClock()
    const wheel = new DeadlineWheel(clock)
    const entry = entryAt(Number.POSITIVE_INFINITY, () => expect.unreachable())
    wheel.add(entry)
    clock.advance(100_000)
    expect(wheel.waiting).toBe(1)
    wheel.remove(entry)
    expect(wheel.waiting).toBe(0)
  })

  it('runs no timer while it is empty, and one timer for any number of entries', () => {
    const clock = new OneTimerClock()
    const wheel = new DeadlineWheel(clock)
    expect(clock.isArmed).toBe(false)
    for (let i = 0; i < 100; i++) wheel.add(entryAt(25, () => {}))
    expect(clock.timers).toBe(1)
    clock.advance(100)
    expect(clock.isArmed).toBe(false)
  })

  it('survives an expiry that removes its neighbour and adds it again', () => {
    const clock = new OneTimerClock()
    const wheel = new DeadlineWheel(clock, 10)
    const expired: string[] = []
    const second = entryAt(50, () => expired.push('second'))
    const first = entryAt(50, () => {
      expired.push('first')
      wheel.remove(second)
      second.deadlineAt = 500
      wheel.add(second)
    })
    wheel.add(first)
    wheel.add(second)
    clock.advance(100)
    expect(expired).toEqual(['first'])
    clock.advance(500)
    expect(expired).toEqual(['first', 'second'])
  })
})
