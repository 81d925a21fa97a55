import { expect, it } from 'vitest'
import { loadLevel } from '../../../dashboard/src/graph/load-level.ts'

it.each([
  [0.2, 0, 'quiet'],
  [0.5, 0.1, 'busy'],
  [0.95, 0, 'overloaded'],
  [0.95, 0.11, 'held-up'],
] as const)(
  'a vertex that is busy for %d and back-pressured for %d of its time is %s',
  (busy, backPressured, level) => {
    expect(loadLevel({ busy, backPressured })).toBe(level)
  },
)
