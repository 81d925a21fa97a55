import { describe, expect, it } from 'vitest'
import { isWatchDue, nextPollMs, type PollRhythm } from '../../../src/connectors/log/poll-rhythm.ts'

const RHYTHM: PollRhythm = { firstMs: 1, lastMs: 20, watchedMs: 250 }

function quietPolls(watched: boolean, count: number): number[] {
  const delays: number[] = []
  for (let i = 0; i < count; i++) delays.push(nextPollMs(RHYTHM, delays.at(-1), watched))
  return delays
}

describe('the time between two polls', () => {
  it('is short right after a change and grows while nothing changes', () => {
    expect(quietPolls(false, 7)).toEqual([1, 2, 4, 8, 16, 20, 20])
  })

  it('grows further while a watch reports changes', () => {
    expect(quietPolls(true, 10)).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 250, 250])
  })

  it('falls back when the watch ends', () => {
    expect(nextPollMs(RHYTHM, 250, false)).toBe(20)
  })

  it('stays the same when the rhythm has one interval', () => {
    const always: PollRhythm = { firstMs: 5, lastMs: 5, watchedMs: 5 }
    expect([undefined, 5, 5].map((previous) => nextPollMs(always, previous, true))).toEqual([
      5, 5, 5,
    ])
  })

  it('reaches its longest before a watch is due', () => {
    expect([1, 16, 20, 250].map((previous) => isWatchDue(RHYTHM, previous))).toEqual([
      false,
      false,
      true,
      true,
    ])
  })
})
