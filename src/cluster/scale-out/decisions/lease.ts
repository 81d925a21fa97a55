/*
 * Right to answer `live` and to believe that one is a member. A coordinator evicts a member at the earliest one
 * session timeout after it received the member's last heartbeat, which is after the member sent it. So a lease
 * that begins at the sending ends before anybody else can own its partitions, however late the answer came.
 * (Leases: Gray and Cheriton, 1989.)
 */

/** Rules of leases. All times are of one monotonic clock, in ms. */
export interface LeaseRules {
  /** `session.timeout.ms` of the group. */
  readonly sessionTimeoutMs: number
  /** Time taken off each lease, for clocks that do not run equally fast. */
  readonly marginMs: number
}

/** Share of the session timeout that is taken off: far more than two clocks drift apart in one session. */
const MARGIN_SHARE = 0.02

/** The rules for a session timeout. */
export function leaseRulesOf(sessionTimeoutMs: number): LeaseRules {
  return { sessionTimeoutMs, marginMs: Math.ceil(sessionTimeoutMs * MARGIN_SHARE) }
}

/** A lease that was never given. */
export const NO_LEASE: number = Number.NEGATIVE_INFINITY

/**
 * End of the lease after an answer that says the member is known (to a Heartbeat, a SyncGroup or a JoinGroup;
 * also one that says that the group rebalances). `sentAtMs` is when the request was sent, never when the answer
 * came. Answers may come in any order: a lease only grows.
 */
export function leaseAfter(leaseUntilMs: number, sentAtMs: number, rules: LeaseRules): number {
  return Math.max(leaseUntilMs, sentAtMs + rules.sessionTimeoutMs - rules.marginMs)
}

/** Whether a lease counts at a moment; each answer is checked with the time at which it is made. */
export function isLeased(leaseUntilMs: number, nowMs: number): boolean {
  return nowMs < leaseUntilMs
}

/** What the pointer of a partition says of the owner that wrote it, besides its position. */
export interface OwnerMark {
  /** Whether all leases of owners before it had ended when it wrote, `isSettled`. */
  readonly wasSettled: boolean
  /** Whether it released the partition: it answers for it no more. */
  readonly wasReleased: boolean
}

/** The mark of a partition that was never owned. */
export const NEVER_OWNED: OwnerMark = { wasSettled: true, wasReleased: true }

/** Facts about a partition and its owner before, from which its successor knows whether it may answer `live`. */
export interface TakeOverFacts {
  /** Mark in the pointer from which the successor restored. */
  readonly before: OwnerMark
  /** Whether the address of the process that wrote the pointer refused a connection just now: it is gone. */
  readonly refuses: boolean
  /** When the successor got the partition, of its own monotonic clock. */
  readonly assignedAtMs: number
  readonly nowMs: number
}

/**
 * Whether no owner before holds a lease on a partition. A process that its peers removed by mistake may hold one
 * for a session timeout; its removal came before the assignment, so that is counted from there. Sooner it is
 * known only of an owner that released, or whose address refuses, and only if that owner had known it of those
 * before it: each writes into the pointer whether it did.
 */
export function isSettled(facts: TakeOverFacts, rules: LeaseRules): boolean {
  const { before, refuses, assignedAtMs, nowMs } = facts
  const isGone = before.wasSettled && (before.wasReleased || refuses)
  return isGone || nowMs >= assignedAtMs + rules.sessionTimeoutMs
}

/**
 * Whether the owner of a partition may answer `live`, within its lease. Not before its first commit: the pointer
 * must name it, or its successor would look at the owner before it.
 */
export function mayAnswerLive(
  facts: TakeOverFacts & { readonly hasCommitted: boolean },
  rules: LeaseRules,
): boolean {
  return facts.hasCommitted && isSettled(facts, rules)
}
