import {
  decodeAssignment,
  encodeAssignment,
} from '../../../../../src/cluster/scale-out/decisions/assignment-data.ts'
import { GROUP_FORMATS } from '../../../../../src/cluster/scale-out/decisions/frame.ts'
import {
  decodeMemberData,
  encodeMemberData,
} from '../../../../../src/cluster/scale-out/decisions/member-data.ts'
import type { JoinedMember } from '../../../../../src/cluster/scale-out/decisions/plan-round.ts'
import { type Decisions, REAL_DECISIONS } from './decisions.ts'

const V1 = { version: 1, understands: GROUP_FORMATS }

/** What is released is given to another member in the same round. */
export const HAND_OVER_IN_ONE_ROUND: Decisions = {
  ...REAL_DECISIONS,
  plan: (joined, options) => {
    const shares = REAL_DECISIONS.plan(joined, options)
    const assignments = new Map(
      [...shares].map(([memberId, { userData }]) => [memberId, decodeAssignment(userData)]),
    )
    for (const [memberId, { release }] of assignments) {
      const [taker] = [...assignments]
        .filter(([other]) => other !== memberId)
        .sort(([, a], [, b]) => a.active.length - b.active.length)
      if (taker === undefined) continue
      assignments.set(taker[0], { ...taker[1], active: [...taker[1].active, ...release] })
    }
    return new Map(
      [...assignments].map(([memberId, assignment]) => {
        const warmUp = assignment.warmUp.filter((p) => !assignment.active.includes(p))
        const userData = encodeAssignment({ ...assignment, warmUp }, V1)
        return [memberId, { active: assignment.active, userData }]
      }),
    )
  },
}

/** A lease is counted from the coming of the answer. */
export const LEASE_FROM_ANSWER: Decisions = {
  ...REAL_DECISIONS,
  lease: (until, { answeredAtMs }, rules) =>
    REAL_DECISIONS.lease(until, { sentAtMs: answeredAtMs, answeredAtMs }, rules),
}

/** A process that lost its membership joins as a new member and lets everything run. */
export const ZOMBIE_KEEPS_PARTITIONS: Decisions = {
  ...REAL_DECISIONS,
  transition: (state, event) => {
    if (event.kind !== 'unknown-member') return REAL_DECISIONS.transition(state, event)
    const rejoining = { ...state, membership: 'rejoining', mustRejoin: false } as const
    return { state: rejoining, actions: [{ kind: 'join', as: 'new' }] }
  },
}

/** A successor takes "released", or an address that refuses, from an owner that was itself unsure. */
export const FORGETS_OWNER_BEFORE_LAST: Decisions = {
  ...REAL_DECISIONS,
  isSettled: (facts, rules) =>
    REAL_DECISIONS.isSettled({ ...facts, before: { ...facts.before, wasSettled: true } }, rules),
}

/** A successor answers `live` as soon as it has committed. */
export const SUCCESSOR_DOES_NOT_WAIT: Decisions = { ...REAL_DECISIONS, isSettled: () => true }

/** Each partition goes where it would go if no process had any; who has it releases it first. */
export const NOT_STICKY: Decisions = {
  ...REAL_DECISIONS,
  plan: (joined, options) => {
    const claims = joined.map(({ userData }) => new Set(decodeMemberData(userData).owned))
    const shares = REAL_DECISIONS.plan(joined.map(withoutClaims), options)
    return new Map(
      joined.map(({ memberId }, place) => {
        const assignment = decodeAssignment(shares.get(memberId)!.userData)
        const planned = new Set(assignment.active)
        const isElsewhere = (p: number): boolean =>
          claims.some((claimed, other) => other !== place && claimed.has(p))
        const active = assignment.active.filter((p) => !isElsewhere(p))
        const release = [...claims[place]!].filter((p) => !planned.has(p))
        const userData = encodeAssignment({ ...assignment, active, release }, V1)
        return [memberId, { active, userData }]
      }),
    )
  },
}

function withoutClaims(member: JoinedMember): JoinedMember {
  const data = { ...decodeMemberData(member.userData), generation: undefined, owned: [] }
  return { ...member, userData: encodeMemberData(data) }
}
