import { expect, it } from 'vitest'
import { mayLease } from '../../../src/models/registry/retraining-lease.ts'

const MINUTE = 60_000
const here = { machine: 'here', goesOn: (process: string) => process === 'here/runs/1' }
const heldBy = (process: string) => ({ process, sinceMs: 0, atMs: 0 })

it.each([
  ['no loop has the model', undefined, 0, false, true],
  [
    'a loop of this machine runs, however long it was silent',
    'here/runs/1',
    60 * MINUTE,
    false,
    false,
  ],
  ['a loop of this machine has ended', 'here/ended/1', 0, false, true],
  ['a loop of another machine was renewed lately', 'there/1-2/1', 9 * MINUTE, false, false],
  [
    'a loop of another machine is silent for more than ten minutes',
    'there/1-2/1',
    11 * MINUTE,
    false,
    true,
  ],
  ['a loop that runs is taken over', 'here/runs/1', 0, true, true],
] as const)(
  'where %s, a newcomer may have it or not',
  (_, process, nowMs, isTakeOver, expected) => {
    const held = process === undefined ? undefined : heldBy(process)
    expect(mayLease({ held, nowMs, here, isTakeOver })).toBe(expected)
  },
)
