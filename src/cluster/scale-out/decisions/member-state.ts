import type { RefusalReason } from './assignment-data.ts'
import type { PartitionRefusal } from './member-data.ts'
import { ascending } from './partition-list.ts'

/** Relation of a process to the group. */
export type Membership =
  /** It asked to join and runs nothing. */
  | 'joining'
  /** It has an assignment, and its heartbeats are answered. */
  | 'member'
  /** It asked to join again; what it runs goes on. */
  | 'rejoining'
  /** It lost its membership, and stops everything before it joins again. */
  | 'fenced'
  /** The group does not take it. It ends. */
  | 'refused'
  /** It has left. It ends. */
  | 'left'

/** Whether a process joins under the member id that it has, or as a new member. */
export type JoinAs = 'same' | 'new'

/** Phase of a process, for people and metrics. */
export type MemberPhase =
  | 'joining'
  | 'stable'
  /** Some partitions write their last checkpoint. */
  | 'releasing'
  | 'rejoining'
  /** It hands over everything and then leaves. */
  | 'leaving'
  | 'fenced'
  | 'refused'
  | 'left'

/** State of a process in its group. The first one is `newMember`. */
export interface MemberState {
  readonly membership: Membership
  /** Generation of its newest assignment; undefined before the first one and after a loss. */
  readonly generation: number | undefined
  /** Partitions of its newest assignment that it may run. */
  readonly assigned: ReadonlySet<number>
  /** Partitions that run or start. */
  readonly running: ReadonlySet<number>
  /** Partitions that write a last checkpoint and then stop. */
  readonly releasing: ReadonlySet<number>
  /** Partitions that stop without a checkpoint. */
  readonly abandoning: ReadonlySet<number>
  /** Partitions that it could not restore, with the monotonic time until which it does not take them, in ms. */
  readonly failed: ReadonlyMap<number, number>
  /** Partitions that it follows to own them later. */
  readonly warmUps: ReadonlySet<number>
  /** Those of them that it has found to be warm. */
  readonly warm: ReadonlySet<number>
  /** Whether it hands over everything because it is to end. */
  readonly isLeaving: boolean
  /** Whether what it says of itself changed after it sent its JoinGroup: it joins once more. */
  readonly mustRejoin: boolean
  /** Under which member id a fenced process joins again. */
  readonly joinAs: JoinAs
  /** Whether nothing is taken in or committed, since no answer came for a session timeout. */
  readonly isHeld: boolean
}

/** The assignment as far as the state follows from it. */
export interface AssignmentEvent {
  readonly kind: 'assigned'
  readonly generation: number
  readonly active: readonly number[]
  readonly release: readonly number[]
  readonly warmUp: readonly number[]
  /** Whether it was made before this process joined, verdict `earlier` of `judgeAssignment`. */
  readonly isEarlier?: boolean
  readonly refusal?: { readonly reason: RefusalReason; readonly text: string } | undefined
}

/** Something that happened to a process in its group. */
export type MemberEvent =
  | AssignmentEvent
  /** A heartbeat was answered: it is a member, and nothing changes. */
  | { readonly kind: 'alive' }
  /** The group rebalances. */
  | { readonly kind: 'rebalancing' }
  /** The round for which it joined is over and another one begins, or what it got is `foreign`: it joins once more. */
  | { readonly kind: 'round-over' }
  /**
   * The group no longer knows its member id, or another generation counts. An answer to a heartbeat or a commit
   * of another generation than the newest is none, nor is one while a JoinGroup is on its way.
   */
  | { readonly kind: 'unknown-member' | 'illegal-generation' }
  /** Another process joined with its `group.instance.id`. */
  | { readonly kind: 'fenced-instance' }
  /** No answer for a session timeout of the monotonic clock, also found after a pause. */
  | { readonly kind: 'silence' }
  /** A partition has written its last checkpoint and stopped. */
  | { readonly kind: 'released'; readonly partition: number }
  /** A partition has stopped without a checkpoint. */
  | { readonly kind: 'stopped'; readonly partition: number }
  /** A partition could not be restored here; not before `retryAtMs` of the monotonic clock it is taken again. */
  | { readonly kind: 'failed'; readonly partition: number; readonly retryAtMs: number }
  /** A followed partition has come within `acceptable.recovery.lag`. */
  | { readonly kind: 'warm'; readonly partition: number }
  /** What it says of itself has changed by a command: it joins once more. */
  | { readonly kind: 'changed' }
  /** Time to look whether the assignment could be better: `probing.rebalance.interval.ms`, or a `retryAtMs`. */
  | { readonly kind: 'probe'; readonly nowMs: number }
  /** It shall end: SIGTERM, or a drain by command. */
  | { readonly kind: 'terminate' }
  /** The time for its handover is over. */
  | { readonly kind: 'grace-over' }

/** Reason for which a process ends. */
export type ExitReason =
  | { readonly kind: 'terminated' }
  /** Its `group.instance.id` belongs to another process, which joined later. */
  | { readonly kind: 'instance-taken' }
  | { readonly kind: 'refused'; readonly reason: RefusalReason; readonly text: string }

/** An action that the process must execute; those of one step in their order. */
export type MemberAction =
  /** Restore these partitions and run them. */
  | { readonly kind: 'start'; readonly partitions: readonly number[] }
  /** Answer `live` no more for them, write a last checkpoint, stop them, and report `released` for each. */
  | { readonly kind: 'release'; readonly partitions: readonly number[] }
  /** Stop these without any commit, and report `stopped` for each. */
  | { readonly kind: 'abandon'; readonly partitions: readonly number[] }
  /** Take in nothing and begin no commit until `resume`. */
  | { readonly kind: 'hold' }
  | { readonly kind: 'resume' }
  /** Send JoinGroup with the state as it is now: under the same member id, or as a new member. */
  | { readonly kind: 'join'; readonly as: JoinAs }
  /** Send LeaveGroup. */
  | { readonly kind: 'leave' }
  | { readonly kind: 'exit'; readonly reason: ExitReason }

/** Result of a transition. */
export interface MemberStep {
  readonly state: MemberState
  readonly actions: readonly MemberAction[]
}

/** The state of a process that has just sent its first JoinGroup. */
export function newMember(): MemberState {
  return {
    membership: 'joining',
    generation: undefined,
    assigned: new Set(),
    running: new Set(),
    releasing: new Set(),
    abandoning: new Set(),
    failed: new Map(),
    warmUps: new Set(),
    warm: new Set(),
    isLeaving: false,
    mustRejoin: false,
    joinAs: 'new',
    isHeld: false,
  }
}

/** The phase of a state. */
export function phaseOf(state: MemberState): MemberPhase {
  const { membership, isLeaving, releasing } = state
  if (membership === 'fenced' || membership === 'refused' || membership === 'left') {
    return membership
  }
  if (isLeaving) return 'leaving'
  if (membership !== 'member') return membership
  return releasing.size > 0 ? 'releasing' : 'stable'
}

/**
 * Partitions that a process claims in its JoinGroup: all of which it may still commit something. What it
 * abandons is not among them: of that it commits nothing, whether it has stopped or not.
 */
export function claimsOf({ running, releasing }: MemberState): number[] {
  return [...running, ...releasing].sort(ascending)
}

/**
 * Partitions that a process says it does not take, with the time that is left in ms. At least 1: as long as
 * the state has one it does not start it, so no leader may give it.
 */
export function refusalsOf({ failed }: MemberState, nowMs: number): PartitionRefusal[] {
  return [...failed].map(([partition, retryAtMs]) => ({
    partition,
    retryAfterMs: Math.max(1, Math.ceil(retryAtMs - nowMs)),
  }))
}

/** Whether a process still has anything of a partition in its hands. */
export function holdsNothing({ running, releasing, abandoning }: MemberState): boolean {
  return running.size + releasing.size + abandoning.size === 0
}
