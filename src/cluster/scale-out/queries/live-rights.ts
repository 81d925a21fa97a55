import type { Clock } from '../../../core/clock.ts'
import {
  isLeased,
  isSettled,
  type LeaseRules,
  leaseAfter,
  NO_LEASE,
  type OwnerMark,
} from '../decisions/lease.ts'

/** What is known of the owner of a job partition before this process. */
export interface PreviousOwner {
  readonly before: OwnerMark
  /** Whether its process has ended. */
  readonly refuses: boolean
}

/** Facts about a partition that runs here; undefined while the owner before is not known yet. */
interface Ownership {
  readonly claimedAtMs: number
  previous: PreviousOwner | undefined
}

/**
 * The right of this process to answer `live` for its job partitions: within its lease, and once no owner before it
 * can hold one. All times are monotonic ms.
 */
export class LiveRights {
  private readonly clock: Clock
  private readonly rules: LeaseRules
  private readonly owned = new Map<number, Ownership>()
  private leaseUntilMs = NO_LEASE

  constructor(clock: Clock, rules: LeaseRules) {
    this.clock = clock
    this.rules = rules
  }

  /** The group has answered a request that was sent at this time: the process is a member. */
  answered(sentAtMs: number): void {
    this.leaseUntilMs = leaseAfter(this.leaseUntilMs, sentAtMs, this.rules)
  }

  /** The membership is lost: others may own the partitions from now on. */
  lost(): void {
    this.leaseUntilMs = NO_LEASE
  }

  /** The partition runs here, and its claim on storage was made: an owner that claimed it before is fenced. */
  claimed(partition: number): void {
    const claimedAtMs = this.clock.monotonicMs()
    this.owned.set(partition, { claimedAtMs, previous: undefined })
  }

  /** What a look at the claims before has said. */
  found(partition: number, previous: PreviousOwner): void {
    const ownership = this.owned.get(partition)
    if (ownership !== undefined) ownership.previous = previous
  }

  /** The partition runs here no more. */
  stopped(partition: number): void {
    this.owned.delete(partition)
  }

  /** Whether no owner before this one can answer for the partition. */
  isSettled(partition: number): boolean {
    const ownership = this.owned.get(partition)
    if (ownership === undefined) return false
    const { claimedAtMs: assignedAtMs, previous = UNKNOWN } = ownership
    // The lease of the one before cannot be renewed after its removal, which came before this claim.
    return isSettled({ ...previous, assignedAtMs, nowMs: this.clock.monotonicMs() }, this.rules)
  }

  /** Whether an answer that is made now may be `live`. */
  mayAnswer(partition: number): boolean {
    return isLeased(this.leaseUntilMs, this.clock.monotonicMs()) && this.isSettled(partition)
  }
}

const UNKNOWN: PreviousOwner = {
  before: { wasSettled: false, wasReleased: false },
  refuses: false,
}
