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

/** Facts about a partition and its owner before, from which its successor knows whether it may answer `live`. */
export interface TakeOverFacts {
  /** Whether the successor has committed the partition since it got it. */
  readonly hasCommitted: boolean
  /** Whether the pointer that the successor restored from says that the owner before released the partition. */
  readonly wasReleased: boolean
  /** When the successor got the partition, of its own monotonic clock. */
  readonly assignedAtMs: number
  readonly nowMs: number
  /** Whether the address of the owner before refused a connection just now: its process is gone. */
  readonly refuses: boolean
}

/**
 * Whether the successor of a partition may answer `live`. A process that its peers removed by mistake may hold a
 * lease for one more session timeout; its removal came before the assignment, so that is counted from there.
 * Until then the successor answers only while it sees that the address refuses. Nobody answers before its first
 * commit: that takes the word "released" out of the pointer, which would otherwise hide this owner from the next one.
 */
export function mayAnswerLive(facts: TakeOverFacts, rules: LeaseRules): boolean {
  const { hasCommitted, wasReleased, assignedAtMs, nowMs, refuses } = facts
  const isOver = nowMs >= assignedAtMs + rules.sessionTimeoutMs
  return hasCommitted && (wasReleased || refuses || isOver)
}
