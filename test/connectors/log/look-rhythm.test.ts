import { describe, expect, it } from 'vitest'
import { isWatchDue, type LookRhythm, nextLookMs } from '../../../src/connectors/log/look-rhythm.ts'

const RHYTHM: LookRhythm = { firstMs: 1, lastMs: 20, watchedMs: 250 }

function quietLooks(watched: boolean, count: number): number[] {
  const delays: number[] = []
  for (let i = 0; i < count; i++) delays.push(nextLookMs(RHYTHM, delays.at(-1), watched))
  return delays
}

describe('the time between two looks', () => {
  it('is short right after a change and grows while nothing changes', () => {
    expect(quietLooks(false, 7)).toEqual([1, 2, 4, 8, 16, 20, 20])
  })

  it('grows further while a watch tells of changes', () => {
    expect(quietLooks(true, 10)).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 250, 250])
  })

  it('falls back when the watch ends', () => {
    expect(nextLookMs(RHYTHM, 250, false)).toBe(20)
  })

  it('stays the same where the rhythm knows one time', () => {
    const always: LookRhythm = { firstMs: 5, lastMs: 5, watchedMs: 5 }
    expect([undefined, 5, 5].map((previous) => nextLookMs(always, previous, true))).toEqual([
      5, 5, 5,
    ])
  })

  it('reaches its longest before a watch is worth it', () => {
    expect([1, 16, 20, 250].map((previous) => isWatchDue(RHYTHM, previous))).toEqual([
      false,
      false,
      true,
      true,
    ])
  })
})
