import { describe, expect, it } from 'vitest'
import {
  type MemberEvent,
  type MemberState,
  newMember,
} from '../../../../src/cluster/scale-out/decisions/member-state.ts'
import { memberTransition } from '../../../../src/cluster/scale-out/decisions/member-transition.ts'
import { notReadyBecause } from '../../../../src/cluster/scale-out/health/not-ready.ts'

/** The state of a process after some events. */
function stateAfter(...events: readonly MemberEvent[]): MemberState {
  return events.reduce((state, event) => memberTransition(state, event).state, newMember())
}

const assigned = (active: readonly number[]): MemberEvent => ({
  ...{ kind: 'assigned', generation: 1, active, release: [], warmUp: [] },
})

describe('why a process is not ready', () => {
  it.each<[string, MemberState, readonly number[], readonly string[]]>([
    [
      'it has not joined',
      stateAfter(),
      [],
      ['the group of the job has not taken this process yet'],
    ],
    ['all it owns runs', stateAfter(assigned([3, 1])), [1, 3], []],
    ['it owns nothing', stateAfter(assigned([])), [], []],
    ['one is restored', stateAfter(assigned([1, 3])), [3], ['job partition 1 does not run yet']],
    [
      'many are restored',
      stateAfter(assigned(Array.from({ length: 12 }, (_, p) => p))),
      [0, 2],
      ['job partitions 1, 3, 4, 5, 6, 7, 8, 9 and 2 more do not run yet'],
    ],
    [
      'it hands over',
      stateAfter(assigned([1]), { kind: 'terminate' }),
      [1],
      ['this process hands its job partitions over and ends'],
    ],
    [
      'the group has removed it, and a partition has not stopped',
      stateAfter(assigned([1]), { kind: 'unknown-member' }),
      [],
      ['the group of the job has removed this process, which joins again'],
    ],
  ])('%s', (_case, state, processing, expected) => {
    expect(notReadyBecause(state, processing)).toEqual(expected)
  })

  it('is none while others join or Kafka is away: what runs goes on', () => {
    const running = stateAfter(assigned([1, 2]))
    for (const kind of ['rebalancing', 'silence'] as const) {
      const { state } = memberTransition(running, { kind })
      expect(notReadyBecause(state, [1, 2]), kind).toEqual([])
    }
  })
})
