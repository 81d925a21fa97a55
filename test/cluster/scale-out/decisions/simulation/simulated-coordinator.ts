import type { JoinedMember } from '../../../../../src/cluster/scale-out/decisions/plan-round.ts'
import type { EventQueue } from './event-queue.ts'
import type { Commit, SimulatedPointers } from './simulated-pointers.ts'

/** Errors of a group, as Kafka's. */
export type GroupError = 'unknown-member' | 'illegal-generation' | 'fenced-instance' | 'rebalancing'

/** Request to join; an empty member id asks for a new one. */
export interface JoinRequest {
  readonly memberId: string
  readonly instanceId: string | undefined
  readonly userData: Uint8Array
}

/** Answer to a join. */
export type JoinAnswer =
  | { readonly error: GroupError }
  | {
      readonly error?: undefined
      readonly memberId: string
      readonly generation: number
      /** All members, for the leader only. */
      readonly members: readonly JoinedMember[] | undefined
    }

/** Answer to a sync. */
export type SyncAnswer =
  | { readonly error: GroupError }
  | { readonly error?: undefined; readonly userData: Uint8Array }

/** A request of a member. */
export interface Caller {
  readonly memberId: string
  readonly instanceId: string | undefined
  readonly generation: number
}

interface Member {
  memberId: string
  readonly instanceId: string | undefined
  userData: Uint8Array
  seenAtMs: number
  join: ((answer: JoinAnswer) => void) | undefined
  sync: ((answer: SyncAnswer) => void) | undefined
}

/**
 * Kafka's coordinator of a classic group, as far as members can see it: rounds of JoinGroup and SyncGroup,
 * heartbeats, eviction after a session or a rebalance timeout, static members, and commits that count only
 * under a known member id and the present generation.
 */
export class SimulatedCoordinator {
  generation = 0
  /** Rounds that were completed by a SyncGroup of the leader. */
  rounds = 0
  private state: 'empty' | 'preparing' | 'completing' | 'stable' = 'empty'
  private readonly members = new Map<string, Member>()
  private readonly shares = new Map<string, Uint8Array>()
  private leader = ''
  private made = 0
  private round = 0
  private readonly queue: EventQueue
  private readonly pointers: SimulatedPointers
  private readonly sessionMs: number
  private readonly rebalanceMs: number

  constructor(
    queue: EventQueue,
    pointers: SimulatedPointers,
    limits: { readonly sessionMs: number; readonly rebalanceMs: number },
  ) {
    this.queue = queue
    this.pointers = pointers
    this.sessionMs = limits.sessionMs
    this.rebalanceMs = limits.rebalanceMs
  }

  join(request: JoinRequest, answer: (answer: JoinAnswer) => void): void {
    const { memberId, instanceId, userData } = request
    if (memberId !== '' && !this.members.has(memberId)) {
      answer({ error: this.errorOfStranger(instanceId) })
      return
    }
    const before = memberId === '' ? this.staticMember(instanceId) : undefined
    if (before !== undefined) {
      this.replace(before, request, answer)
      return
    }
    const member = this.members.get(memberId) ?? this.added(instanceId)
    if (this.state === 'stable' && this.isNoNews(member, userData)) {
      answer({ memberId, generation: this.generation, members: undefined })
      return
    }
    Object.assign(member, { userData, join: answer, seenAtMs: this.queue.nowMs })
    if (this.state !== 'preparing') this.prepare()
    this.completeJoin(false)
  }

  sync(
    caller: Caller,
    shares: ReadonlyMap<string, Uint8Array>,
    answer: (answer: SyncAnswer) => void,
  ): void {
    const error = this.errorOf(caller) ?? (this.state === 'preparing' ? 'rebalancing' : undefined)
    if (error !== undefined) {
      answer({ error })
      return
    }
    const member = this.members.get(caller.memberId)!
    member.seenAtMs = this.queue.nowMs
    member.sync = answer
    if (this.state === 'completing' && caller.memberId === this.leader) {
      this.state = 'stable'
      this.rounds++
      this.shares.clear()
      for (const [memberId, share] of shares) this.shares.set(memberId, share)
    }
    if (this.state === 'stable') this.answerSyncs()
  }

  heartbeat(caller: Caller): GroupError | undefined {
    const error = this.errorOf(caller)
    if (error !== undefined) return error
    this.members.get(caller.memberId)!.seenAtMs = this.queue.nowMs
    return this.state === 'preparing' ? 'rebalancing' : undefined
  }

  leave(memberId: string): void {
    if (this.members.has(memberId)) this.remove(memberId)
  }

  commit(caller: Caller, commit: Commit): GroupError | undefined {
    if (this.pointers.isRepeated(commit)) return undefined
    const error = this.errorOf(caller)
    if (error === undefined) this.pointers.apply(commit)
    return error
  }

  /** Member id of a process, by its name in its data: what DescribeGroups shows. */
  isKnown(memberId: string): boolean {
    return this.members.has(memberId)
  }

  /** A member other than the leader that says what it said before begins no round. */
  private isNoNews({ memberId, userData }: Member, said: Uint8Array): boolean {
    return memberId !== this.leader && Buffer.compare(userData, said) === 0
  }

  private errorOf({ memberId, instanceId, generation }: Caller): GroupError | undefined {
    if (!this.members.has(memberId)) return this.errorOfStranger(instanceId)
    return generation === this.generation ? undefined : 'illegal-generation'
  }

  private errorOfStranger(instanceId: string | undefined): GroupError {
    return this.staticMember(instanceId) === undefined ? 'unknown-member' : 'fenced-instance'
  }

  private staticMember(instanceId: string | undefined): Member | undefined {
    if (instanceId === undefined) return undefined
    return [...this.members.values()].find((member) => member.instanceId === instanceId)
  }

  /** A static member that returns while the group is stable gets its old share: no rebalance (KIP-345). */
  private replace(
    before: Member,
    request: JoinRequest,
    answer: (answer: JoinAnswer) => void,
  ): void {
    this.members.delete(before.memberId)
    before.join?.({ error: 'fenced-instance' })
    const member = this.added(request.instanceId)
    member.userData = request.userData
    if (this.leader === before.memberId) this.leader = member.memberId
    if (this.state !== 'stable') {
      member.join = answer
      if (this.state !== 'preparing') this.prepare()
      this.completeJoin(false)
      return
    }
    const share = this.shares.get(before.memberId)
    this.shares.delete(before.memberId)
    if (share !== undefined) this.shares.set(member.memberId, share)
    const { memberId } = member
    answer({ memberId, generation: this.generation, members: undefined })
  }

  private added(instanceId: string | undefined): Member {
    const member: Member = {
      memberId: `m-${String(++this.made).padStart(4, '0')}`,
      instanceId,
      userData: new Uint8Array(),
      seenAtMs: this.queue.nowMs,
      join: undefined,
      sync: undefined,
    }
    this.members.set(member.memberId, member)
    this.watch(member)
    return member
  }

  private watch(member: Member): void {
    const idleMs = this.queue.nowMs - member.seenAtMs
    const isWaiting = member.join !== undefined
    this.queue.after(isWaiting ? this.sessionMs : Math.max(1, this.sessionMs - idleMs), () => {
      if (this.members.get(member.memberId) !== member) return
      const isLate = this.queue.nowMs - member.seenAtMs >= this.sessionMs
      if (isLate && member.join === undefined) this.remove(member.memberId)
      else this.watch(member)
    })
  }

  private remove(memberId: string): void {
    this.members.delete(memberId)
    if (this.leader === memberId) this.leader = ''
    if (this.members.size === 0) {
      this.state = 'empty'
      return
    }
    if (this.state !== 'preparing') this.prepare()
    this.completeJoin(false)
  }

  private prepare(): void {
    this.state = 'preparing'
    const round = ++this.round
    for (const member of this.members.values()) {
      member.sync?.({ error: 'rebalancing' })
      member.sync = undefined
    }
    this.queue.after(this.rebalanceMs, () => {
      if (this.state === 'preparing' && this.round === round) this.completeJoin(true)
    })
  }

  private completeJoin(isLate: boolean): void {
    const missing = [...this.members.values()].filter(({ join }) => join === undefined)
    if (missing.length > 0 && !isLate) return
    for (const { memberId } of missing) this.members.delete(memberId)
    if (this.members.size === 0) {
      this.state = 'empty'
      return
    }
    this.generation++
    this.state = 'completing'
    if (!this.members.has(this.leader)) this.leader = [...this.members.keys()][0]!
    this.answerJoins()
  }

  private answerJoins(): void {
    const { generation } = this
    const members = [...this.members.values()].map((member) => ({
      memberId: member.memberId,
      groupInstanceId: member.instanceId,
      userData: member.userData,
    }))
    for (const member of this.members.values()) {
      const answer = member.join!
      member.join = undefined
      member.seenAtMs = this.queue.nowMs
      const { memberId } = member
      answer({ memberId, generation, members: memberId === this.leader ? members : undefined })
    }
  }

  private answerSyncs(): void {
    for (const member of this.members.values()) {
      const answer = member.sync
      const userData = this.shares.get(member.memberId)
      if (answer === undefined || userData === undefined) continue
      member.sync = undefined
      answer({ userData })
    }
  }
}
