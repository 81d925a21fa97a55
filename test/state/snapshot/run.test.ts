import { expect, it } from 'vitest'
import { type SnapshotPart, SnapshotRun } from '../../../src/state/snapshot/run.ts'
import { StandingClock } from '../keyed-state-fixture.ts'

it('copies the parts in turn and stops when the time budget ends', () => {
  const clock = new StandingClock()
  const copied: string[] = []
  const part = (name: string, entries: number): SnapshotPart => {
    let at = 0
    return {
      stored: undefined,
      copyStored: () => {},
      copyNext: () => {
        if (at === entries) return false
        copied.push(`${name}${at++}`)
        clock.now += 0.1
        return true
      },
    }
  }
  const run = new SnapshotRun([part('a', 40), part('b', 0), part('c', 50)], clock)
  expect(run.step(1)).toBe(false)
  expect(copied).toHaveLength(32)
  while (!run.step(1));
  expect(run.done).toBe(true)
  expect(copied).toHaveLength(90)
  expect(copied[40]).toBe('c0')
})
