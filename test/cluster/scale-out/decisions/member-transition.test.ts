import { describe, expect, it } from 'vitest'
import {
  type AssignmentEvent,
  claimsOf,
  type MemberEvent,
  type MemberState,
  type MemberStep,
  newMember,
  phaseOf,
  refusalsOf,
} from '../../../../src/cluster/scale-out/decisions/member-state.ts'
import { memberTransition } from '../../../../src/cluster/scale-out/decisions/member-transition.ts'

interface Given {
  readonly active?: readonly number[]
  readonly release?: readonly number[]
  readonly warmUp?: readonly number[]
}

function assigned(
  generation: number,
  { active = [], release = [], warmUp = [] }: Given = {},
): AssignmentEvent {
  return { kind: 'assigned', generation, active, release, warmUp }
}

/** The last step of these events, from a new member or a state. */
function stepAfter(events: readonly MemberEvent[], from: MemberState = newMember()): MemberStep {
  return events.reduce<MemberStep>((step, event) => memberTransition(step.state, event), {
    state: from,
    actions: [],
  })
}

const RUNNING = stepAfter([assigned(1, { active: [0, 1, 2] })]).state
const JOIN = { kind: 'join', as: 'same' }
const EXIT = { kind: 'exit', reason: { kind: 'terminated' } }

describe('memberTransition', () => {
  it('joins once more when what it says of itself has changed, also after what it releases', () => {
    expect(stepAfter([{ kind: 'changed' }], RUNNING).actions).toEqual([JOIN])
    const releasing = stepAfter([assigned(2, { active: [0, 1], release: [2] })], RUNNING).state
    const changed = stepAfter([{ kind: 'changed' }], releasing)
    expect(changed.actions).toEqual([])
    expect(stepAfter([{ kind: 'released', partition: 2 }], changed.state).actions).toEqual([JOIN])
  })

  it('starts what it gets, and is stable', () => {
    const { state, actions } = stepAfter([assigned(1, { active: [0, 1, 2] })])
    expect(actions).toEqual([{ kind: 'start', partitions: [0, 1, 2] }])
    expect([phaseOf(newMember()), phaseOf(state)]).toEqual(['joining', 'stable'])
    expect(claimsOf(state)).toEqual([0, 1, 2])
  })

  it('joins again when the group rebalances, and lets everything run meanwhile', () => {
    const { state, actions } = stepAfter([{ kind: 'rebalancing' }], RUNNING)
    expect(actions).toEqual([JOIN])
    expect([phaseOf(state), claimsOf(state)]).toEqual(['rejoining', [0, 1, 2]])
    expect(stepAfter([{ kind: 'rebalancing' }], state).actions).toEqual([])
    const same = stepAfter([assigned(2, { active: [0, 1, 2] })], state)
    expect([same.actions, phaseOf(same.state)]).toEqual([[], 'stable'])
  })

  it('releases with a last checkpoint, claims until that is written, and then joins once without', () => {
    const releasing = stepAfter([assigned(2, { active: [0], release: [1, 2] })], RUNNING)
    expect(releasing.actions).toEqual([{ kind: 'release', partitions: [1, 2] }])
    expect([phaseOf(releasing.state), claimsOf(releasing.state)]).toEqual(['releasing', [0, 1, 2]])
    const one = stepAfter([{ kind: 'released', partition: 1 }], releasing.state)
    expect(one.actions).toEqual([])
    const both = stepAfter([{ kind: 'released', partition: 2 }], one.state)
    expect([both.actions, claimsOf(both.state)]).toEqual([[JOIN], [0]])
  })

  it('joins at once when the group rebalances during a release, and again when the release is done', () => {
    const events: MemberEvent[] = [
      assigned(2, { active: [0, 1], release: [2] }),
      { kind: 'rebalancing' },
    ]
    const { state, actions } = stepAfter(events, RUNNING)
    expect([actions, claimsOf(state)]).toEqual([[JOIN], [0, 1, 2]])
    const done = stepAfter([{ kind: 'released', partition: 2 }], state)
    expect(done.actions).toEqual([])
    const given = stepAfter([assigned(3, { active: [0, 1], release: [2] })], done.state)
    expect([given.actions, claimsOf(given.state)]).toEqual([[JOIN], [0, 1]])
  })

  it('starts again what it has released when the newest assignment gives it back', () => {
    const events: MemberEvent[] = [
      assigned(2, { active: [0, 1], release: [2] }),
      { kind: 'rebalancing' },
      { kind: 'released', partition: 2 },
      assigned(3, { active: [0, 1, 2] }),
    ]
    expect(stepAfter(events, RUNNING).actions).toEqual([{ kind: 'start', partitions: [2] }, JOIN])
  })

  it('stops without a checkpoint what the assignment does not have, and claims it no more', () => {
    const { state, actions } = stepAfter([assigned(2, { active: [0] })], RUNNING)
    expect(actions).toEqual([{ kind: 'abandon', partitions: [1, 2] }])
    expect(claimsOf(state)).toEqual([0])
  })

  it.each(['unknown-member', 'illegal-generation'] as const)(
    'stops everything without a commit on %s, and joins only when all has stopped',
    (kind) => {
      const lost = stepAfter([assigned(2, { active: [0, 1], release: [2] }), { kind }], RUNNING)
      expect(lost.actions).toEqual([{ kind: 'abandon', partitions: [0, 1, 2] }])
      expect([phaseOf(lost.state), claimsOf(lost.state)]).toEqual(['fenced', []])
      const stopping: MemberEvent[] = [
        { kind: 'stopped', partition: 0 },
        { kind: 'released', partition: 2 },
        { kind: 'unknown-member' },
      ]
      const nearly = stepAfter(stopping, lost.state)
      expect(nearly.actions).toEqual([])
      expect(stepAfter([{ kind: 'stopped', partition: 1 }], nearly.state).actions).toEqual([
        { kind: 'join', as: 'new' },
      ])
      const alone = stepAfter(
        [0, 1, 2].map((partition) => ({ kind: 'stopped', partition })),
        lost.state,
      )
      const as = kind === 'unknown-member' ? 'new' : 'same'
      expect(alone.actions).toEqual([{ kind: 'join', as }])
    },
  )

  it('ignores an assignment that comes after it lost its membership', () => {
    const { actions, state } = stepAfter(
      [{ kind: 'unknown-member' }, assigned(2, { active: [0, 1, 2] })],
      RUNNING,
    )
    expect([actions, claimsOf(state)]).toEqual([[], []])
  })

  it.each(['illegal-generation', 'round-over'] as const)(
    'only sends its JoinGroup again on %s of the round that it joined',
    (kind) => {
      const events: MemberEvent[] = [{ kind: 'rebalancing' }, { kind }]
      const { actions, state } = stepAfter(events, RUNNING)
      expect([actions, claimsOf(state)]).toEqual([[JOIN], [0, 1, 2]])
    },
  )

  it('waits in silence, takes nothing from itself, and goes on with the next answer', () => {
    const silent = stepAfter([{ kind: 'silence' }], RUNNING)
    expect(silent.actions).toEqual([{ kind: 'hold' }])
    expect(stepAfter([{ kind: 'silence' }], silent.state).actions).toEqual([])
    expect(stepAfter([{ kind: 'alive' }], silent.state).actions).toEqual([{ kind: 'resume' }])
    expect(stepAfter([{ kind: 'unknown-member' }], silent.state).actions).toEqual([
      { kind: 'abandon', partitions: [0, 1, 2] },
    ])
  })

  it('runs what its name had before it joined, and joins once more so that the leader hears of it', () => {
    const event: MemberEvent = { ...assigned(4, { active: [0] }), isEarlier: true }
    expect(stepAfter([event]).actions).toEqual([{ kind: 'start', partitions: [0] }, JOIN])
  })

  it('ends when its group.instance.id belongs to another process, and removes no other one', () => {
    const { state, actions } = stepAfter([{ kind: 'fenced-instance' }], RUNNING)
    expect(actions).toEqual([
      { kind: 'abandon', partitions: [0, 1, 2] },
      { kind: 'exit', reason: { kind: 'instance-taken' } },
    ])
    expect(stepAfter([assigned(9, { active: [1] })], state).actions).toEqual([])
  })

  it('leaves and ends with the reason when it is refused', () => {
    const refusal = { reason: 'job', text: 'another job' } as const
    const event: MemberEvent = {
      kind: 'assigned',
      generation: 1,
      active: [],
      release: [],
      warmUp: [],
      refusal,
    }
    const { state, actions } = stepAfter([event])
    expect(actions).toEqual([
      { kind: 'leave' },
      { kind: 'exit', reason: { kind: 'refused', ...refusal } },
    ])
    expect(phaseOf(state)).toBe('refused')
  })

  it('gives back a partition that it cannot restore, and does not take it until the time has come', () => {
    const failed = stepAfter([{ kind: 'failed', partition: 1, retryAtMs: 9_000 }], RUNNING)
    expect([failed.actions, claimsOf(failed.state)]).toEqual([[JOIN], [0, 2]])
    expect(refusalsOf(failed.state, 4_000)).toEqual([{ partition: 1, retryAfterMs: 5_000 }])
    const due: MemberEvent = { kind: 'probe', nowMs: 9_000 }
    const early = stepAfter([due], failed.state)
    expect([early.actions, refusalsOf(early.state, 0)]).toEqual([[], []])
    expect(stepAfter([assigned(2, { active: [0, 2] })], early.state).actions).toEqual([JOIN])
    const given = stepAfter([assigned(2, { active: [0, 2] })], failed.state)
    expect(stepAfter([{ kind: 'probe', nowMs: 8_999 }], given.state).actions).toEqual([])
    expect(stepAfter([due], given.state).actions).toEqual([JOIN])
  })

  it('says once that a partition is warm', () => {
    const { state } = stepAfter([assigned(2, { active: [0, 1, 2], warmUp: [5] })], RUNNING)
    const warm: MemberEvent = { kind: 'warm', partition: 5 }
    const said = stepAfter([warm], state)
    expect(said.actions).toEqual([JOIN])
    const again = stepAfter([assigned(3, { active: [0, 1, 2], warmUp: [5] }), warm], said.state)
    expect(again.actions).toEqual([])
    expect(stepAfter([{ kind: 'warm', partition: 7 }], state).actions).toEqual([])
  })

  it('hands over before it leaves', () => {
    const leaving = stepAfter([{ kind: 'terminate' }], RUNNING)
    expect([leaving.actions, phaseOf(leaving.state)]).toEqual([[JOIN], 'leaving'])
    const waiting = stepAfter([assigned(2, { active: [1], release: [0, 2] })], leaving.state)
    const next = stepAfter(
      [0, 2].map((partition) => ({ kind: 'released', partition })),
      waiting.state,
    )
    expect(next.actions).toEqual([JOIN])
    const last = stepAfter([assigned(3, { release: [1] })], next.state)
    expect(last.actions).toEqual([{ kind: 'release', partitions: [1] }])
    const done = stepAfter([{ kind: 'released', partition: 1 }], last.state)
    expect([done.actions, phaseOf(done.state)]).toEqual([[{ kind: 'leave' }, EXIT], 'left'])
  })

  it('releases the rest by itself when its time is over, and starts nothing while it leaves', () => {
    const leaving = stepAfter(
      [{ kind: 'terminate' }, assigned(2, { active: [0, 1, 2, 3] })],
      RUNNING,
    )
    expect(leaving.actions).toEqual([])
    const over = stepAfter([{ kind: 'grace-over' }], leaving.state)
    expect(over.actions).toEqual([{ kind: 'release', partitions: [0, 1, 2] }])
    const done = stepAfter(
      [0, 1, 2].map((partition) => ({ kind: 'released', partition })),
      over.state,
    )
    expect(done.actions).toEqual([{ kind: 'leave' }, EXIT])
  })

  it('leaves at once when it has nothing, and without a word when the group knows it no more', () => {
    expect(stepAfter([{ kind: 'terminate' }]).actions).toEqual([{ kind: 'leave' }, EXIT])
    const events: MemberEvent[] = [
      { kind: 'terminate' },
      { kind: 'unknown-member' },
      ...[0, 1, 2].map((partition): MemberEvent => ({ kind: 'stopped', partition })),
    ]
    expect(stepAfter(events, RUNNING).actions).toEqual([EXIT])
  })

  it('starts no partition of an old assignment that it did not claim when it joined again', () => {
    const events: MemberEvent[] = [
      { kind: 'failed', partition: 1, retryAtMs: 10 },
      { kind: 'probe', nowMs: 11 },
    ]
    const { actions, state } = stepAfter(events, RUNNING)
    expect([actions, claimsOf(state)]).toEqual([[], [0, 2]])
  })
})
