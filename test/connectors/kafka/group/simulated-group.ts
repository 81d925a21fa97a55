import type { JoinedMember } from '../../../../src/connectors/kafka/group/leader.ts'
import {
  GroupError,
  type GroupLoss,
} from '../../../../src/connectors/kafka/group/membership-loss.ts'
import type { Cancel, Clock } from '../../../../src/core/clock.ts'

/** A request to join. */
export interface SimulatedJoin {
  /** Empty for a new member. */
  readonly memberId: string
  readonly groupInstanceId: string | undefined
  readonly subscription: Uint8Array
  readonly sessionTimeoutMs: number
  readonly rebalanceTimeoutMs: number
}

/** The answer to a request to join. */
export interface SimulatedRound {
  readonly memberId: string
  readonly generationId: number
  readonly leaderId: string
  /** Whether a leader need not assign, because it has only returned into its place. */
  readonly skipAssignment: boolean
  /** The members, for the leader. */
  readonly members: readonly JoinedMember[]
}

/** A sender as it names itself in other requests. */
export interface SimulatedSender {
  readonly memberId: string
  readonly generationId: number
  readonly groupInstanceId: string | undefined
}

/** A member as the group keeps it. */
interface Place extends SimulatedJoin {
  readonly memberId: string
  assignment: Uint8Array
  join: PromiseWithResolvers<SimulatedRound> | undefined
  sync: PromiseWithResolvers<Uint8Array> | undefined
  hasSynced: boolean
  endSession: Cancel
}

type State = 'empty' | 'preparing' | 'completing' | 'stable'

const NOTHING = new Uint8Array(0)

/**
 * One group of a simulated coordinator, by the states of Kafka's classic groups: a round is prepared until each member
 * has joined or its time is over, and completes when the leader has assigned. Sessions end by the clock; one that waits
 * for others is alive.
 */
export class SimulatedGroup {
  private readonly clock: Clock
  private readonly newId: () => string
  private readonly places = new Map<string, Place>()
  private state: State = 'empty'
  private generationId = 0
  private leaderId = ''
  private endRound: Cancel = () => undefined

  constructor(clock: Clock, newId: () => string) {
    this.clock = clock
    this.newId = newId
  }

  /** Ids of the members. */
  get memberIds(): readonly string[] {
    return [...this.places.keys()]
  }

  /** Joins the next round; rejects with GroupError. */
  async join(request: SimulatedJoin): Promise<SimulatedRound> {
    const { memberId, groupInstanceId, subscription } = request
    const instance = this.instance(groupInstanceId)
    if (instance !== undefined && memberId === '') return await this.replace(instance, request)
    if (instance !== undefined && instance.memberId !== memberId) throw loss('fenced')
    if (memberId === '') return await this.waitForRound(this.add(request, this.newId()))
    const known = this.places.get(memberId)
    if (known === undefined) throw loss('unknown-member')
    const isSame = equal(known.subscription, subscription)
    const place = this.add(request, memberId, known)
    const isLeader = memberId === this.leaderId
    if (isSame && this.state === 'completing') return this.round(place, false)
    if (isSame && this.state === 'stable' && !isLeader) return this.round(place, false)
    return await this.waitForRound(place)
  }

  /** Gives what the leader has assigned; the leader sends it for all. Rejects with GroupError. */
  async sync(
    sender: SimulatedSender,
    assignments: readonly { readonly memberId: string; readonly assignment: Uint8Array }[],
  ): Promise<Uint8Array> {
    const place = this.check(sender)
    if (this.state === 'preparing') throw loss('rebalancing')
    if (this.state === 'stable') return place.assignment
    place.hasSynced = true
    if (place.memberId !== this.leaderId) {
      place.sync = Promise.withResolvers()
      return await place.sync.promise
    }
    this.endRound()
    this.state = 'stable'
    for (const one of this.places.values()) {
      const given = assignments.find(({ memberId }) => memberId === one.memberId)
      one.assignment = given?.assignment ?? NOTHING
      one.sync?.resolve(one.assignment)
      one.sync = undefined
      this.renew(one)
    }
    return place.assignment
  }

  /** Renews a session. Throws GroupError. */
  heartbeat(sender: SimulatedSender): 'stable' | 'rebalancing' {
    this.renew(this.check(sender))
    return this.state === 'preparing' ? 'rebalancing' : 'stable'
  }

  /** Removes a member, if the group has it. */
  leave(memberId: string): void {
    const place = this.places.get(memberId)
    if (place !== undefined) this.remove(place)
  }

  /** The place of a sender. Throws GroupError if it is not what it thinks it is. */
  check({ memberId, generationId, groupInstanceId }: SimulatedSender): Place {
    const instance = this.instance(groupInstanceId)
    if (instance !== undefined && instance.memberId !== memberId) throw loss('fenced')
    const place = this.places.get(memberId)
    if (place === undefined) throw loss('unknown-member')
    if (generationId !== this.generationId) throw loss('illegal-generation')
    return place
  }

  private instance(groupInstanceId: string | undefined): Place | undefined {
    if (groupInstanceId === undefined) return undefined
    return [...this.places.values()].find((place) => place.groupInstanceId === groupInstanceId)
  }

  private add(request: SimulatedJoin, memberId: string, before?: Place): Place {
    before?.endSession()
    const place: Place = {
      ...request,
      memberId,
      assignment: before?.assignment ?? NOTHING,
      join: undefined,
      sync: undefined,
      hasSynced: false,
      endSession: () => undefined,
    }
    this.places.set(memberId, place)
    this.renew(place)
    return place
  }

  /** A process takes the place of one with the same instance id. */
  private async replace(before: Place, request: SimulatedJoin): Promise<SimulatedRound> {
    before.endSession()
    before.join?.reject(loss('fenced'))
    before.sync?.reject(loss('fenced'))
    this.places.delete(before.memberId)
    const place = this.add(request, this.newId(), before)
    const wasLeader = this.leaderId === before.memberId
    if (wasLeader) this.leaderId = place.memberId
    const isSame = equal(before.subscription, request.subscription)
    if (isSame && this.state === 'stable') return this.round(place, wasLeader)
    return await this.waitForRound(place)
  }

  private async waitForRound(place: Place): Promise<SimulatedRound> {
    place.join = Promise.withResolvers()
    const { promise } = place.join
    if (this.state === 'preparing') this.completeIfAllJoined()
    else this.prepare()
    return await promise
  }

  private round({ memberId }: Place, skipAssignment: boolean): SimulatedRound {
    const isLeader = memberId === this.leaderId
    return {
      memberId,
      generationId: this.generationId,
      leaderId: this.leaderId,
      skipAssignment,
      members: isLeader ? [...this.places.values()] : [],
    }
  }

  private prepare(): void {
    this.state = 'preparing'
    for (const place of this.places.values()) {
      place.sync?.reject(loss('rebalancing'))
      place.sync = undefined
      this.renew(place)
    }
    this.waitAtMost(() => this.complete())
    this.completeIfAllJoined()
  }

  private completeIfAllJoined(): void {
    if ([...this.places.values()].every(({ join }) => join !== undefined)) this.complete()
  }

  private complete(): void {
    for (const place of this.places.values()) {
      if (place.join === undefined && place.groupInstanceId === undefined) this.drop(place)
    }
    const joined = [...this.places.values()].filter(({ join }) => join !== undefined)
    if (this.places.size > 0 && joined.length === 0) {
      this.waitAtMost(() => this.complete())
      return
    }
    this.endRound()
    this.generationId += 1
    this.state = joined.length === 0 ? 'empty' : 'completing'
    if (!joined.some(({ memberId }) => memberId === this.leaderId)) {
      this.leaderId = joined[0]?.memberId ?? ''
    }
    for (const place of joined) {
      place.hasSynced = false
      place.join!.resolve(this.round(place, false))
      place.join = undefined
      this.renew(place)
    }
    if (joined.length > 0) this.waitAtMost(() => this.endSync())
  }

  /** The time of a round is over: members that did not ask for their part are gone. */
  private endSync(): void {
    for (const place of this.places.values()) if (!place.hasSynced) this.drop(place)
    this.prepare()
  }

  private waitAtMost(then: () => void): void {
    this.endRound()
    const times = [...this.places.values()].map((place) => place.rebalanceTimeoutMs)
    this.endRound = this.clock.after(Math.max(0, ...times), then)
  }

  private renew(place: Place): void {
    place.endSession()
    place.endSession = this.clock.after(place.sessionTimeoutMs, () => {
      if (place.join !== undefined || place.sync !== undefined) this.renew(place)
      else this.remove(place)
    })
  }

  private remove(place: Place): void {
    this.drop(place)
    if (this.state === 'preparing') this.completeIfAllJoined()
    else this.prepare()
  }

  private drop(place: Place): void {
    place.endSession()
    place.join?.reject(loss('unknown-member'))
    place.sync?.reject(loss('unknown-member'))
    this.places.delete(place.memberId)
  }
}

function loss(kind: GroupLoss): GroupError {
  return new GroupError(kind, 'request to a simulated coordinator')
}

function equal(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0
}
