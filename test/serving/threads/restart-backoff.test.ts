import { describe, expect, it } from 'vitest'
import { RestartBackoff } from '../../../src/serving/threads/restart-backoff.ts'

/** Delays of a thread that ends as soon as it is started, `ends` times, from `fromMs` on. */
function delaysOf(backoff: RestartBackoff, thread: number, ends: number, fromMs = 0): number[] {
  const delays: number[] = []
  let nowMs = fromMs
  for (let i = 0; i < ends; i++) {
    const delayMs = backoff.delayMs(thread, nowMs)
    delays.push(delayMs)
    nowMs += delayMs
  }
  return delays
}

describe('the delay before an ended query thread is started again', () => {
  it('doubles up to ten seconds while the thread ends at once', () => {
    const delays = delaysOf(new RestartBackoff(), 0, 9)
    expect(delays).toEqual([100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000])
  })

  it('is short again after the thread has worked, and for each thread by itself', () => {
    const backoff = new RestartBackoff()
    expect(delaysOf(backoff, 0, 3)).toEqual([100, 200, 400])
    expect(backoff.delayMs(1, 700)).toBe(100)
    expect(backoff.delayMs(0, 60_000)).toBe(100)
  })
})
