import { ownershipOf } from './claims.ts'
import type { MemberData } from './member-data.ts'
import { quotasOf } from './quotas.ts'

/** Rules of the assignment, equal in all processes of a job. */
export interface AssignRules {
  /** Followers of each partition, `num.standby.replicas`. */
  readonly standbyReplicas: number
  /**
   * Lag in bytes up to which a follower is warm, `acceptable.recovery.lag`: a partition of a living owner moves
   * only to a warm one. Infinity: it moves at once.
   */
  readonly acceptableLag: number
  /** Most partitions of the job that are warmed up at once only to be moved, `max.warmup.replicas`. */
  readonly maxWarmUps: number
}

/** Defaults: names and numbers of Kafka Streams, but a lag in bytes, which a process reads in a tenth of a second. */
export const DEFAULT_ASSIGN_RULES: AssignRules = Object.freeze({
  standbyReplicas: 0,
  acceptableLag: 16 * 2 ** 20,
  maxWarmUps: 2,
})

/** Facts of one round. Members stand in an order that all would choose: by their lasting names. */
export interface RoundFacts {
  readonly members: readonly MemberData[]
  /** Members that take no part but may still run partitions. */
  readonly outsiders: readonly MemberData[]
  readonly partitions: number
  readonly rules: AssignRules
}

/** The owner of a partition that has none. */
export const NO_OWNER = -1

/** Board on which one round is planned: what each member owns, gets and may take. Members are places in the list. */
export class PlanningBoard {
  readonly members: readonly MemberData[]
  readonly partitions: number
  readonly rules: AssignRules
  /** Place of the member that owns each partition after this round. */
  readonly owners: number[]
  readonly claimed: readonly boolean[]
  /** Partitions that the owner must release in this round. */
  readonly released: Set<number> = new Set()
  /** Members that are to get a partition of a living owner, now or when they are warm, by partition. */
  readonly targets: Map<number, number> = new Map()
  /** Members that follow a partition because it is to be theirs, by partition. */
  readonly warming: Map<number, number> = new Map()
  private readonly claimedOwners: readonly number[]
  private readonly quotas: readonly number[]
  private readonly loads: number[]
  private readonly lags: readonly ReadonlyMap<number, number>[]
  private readonly refusals: readonly ReadonlySet<number>[]

  constructor({ members, outsiders, partitions, rules }: RoundFacts) {
    this.members = members
    this.partitions = partitions
    this.rules = rules
    const { owners, claimed } = ownershipOf(members, outsiders, partitions)
    this.claimedOwners = owners
    this.owners = [...owners]
    this.claimed = claimed
    this.loads = members.map((_, place) => owners.filter((owner) => owner === place).length)
    const facts = members.map(({ capacity, isDraining }, place) => ({
      capacity: isDraining ? 0 : capacity,
      owned: this.loads[place]!,
    }))
    this.quotas = quotasOf(facts, partitions)
    this.lags = members.map(
      ({ standbys }) => new Map(standbys.map(({ partition, lag }) => [partition, lag])),
    )
    this.refusals = members.map(
      ({ refused }) =>
        new Set(refused.filter((r) => r.retryAfterMs > 0).map(({ partition }) => partition)),
    )
  }

  /** Partitions that a member lacks; negative when it has too many. */
  deficit(place: number): number {
    return this.quotas[place]! - this.loads[place]!
  }

  /** Load of a member for each unit of its capacity. */
  share(place: number): number {
    return this.loads[place]! / this.members[place]!.capacity
  }

  /** Bytes that a member must read before it could own a partition; Infinity when it does not follow it. */
  lag(place: number, partition: number): number {
    return this.lags[place]!.get(partition) ?? Number.POSITIVE_INFINITY
  }

  /** Whether a member could own a partition at once. */
  isWarm(place: number, partition: number): boolean {
    return this.lag(place, partition) <= this.rules.acceptableLag
  }

  /** Whether a member may get a partition: it stays, and it did not fail to restore it. */
  mayTake(place: number, partition: number): boolean {
    return !this.members[place]!.isDraining && !this.refusals[place]!.has(partition)
  }

  /** Whether the owner runs the partition already, so that it must be released before it moves. */
  isRunning(partition: number): boolean {
    return this.owners[partition] !== NO_OWNER && this.claimedOwners[partition] !== NO_OWNER
  }

  /** Gives a partition that has no owner. */
  give(partition: number, place: number): void {
    this.owners[partition] = place
    this.loads[place]! += 1
  }

  /** Plans that a partition of a living owner goes to `place`: both are counted as if it had. */
  plan(partition: number, place: number): void {
    this.targets.set(partition, place)
    this.loads[this.owners[partition]!]! -= 1
    this.loads[place]! += 1
  }
}
