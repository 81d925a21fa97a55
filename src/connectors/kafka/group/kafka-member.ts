import { sleep } from '../../../core/clock.ts'
import { WeirError } from '../../../core/errors.ts'
import { coordinatorRight, requestOf } from '../client/access-rights.ts'
import type { KafkaCluster } from '../client/cluster.ts'
import { KAFKA_ERRORS, kafkaError } from '../client/errors.ts'
import { heartbeatV4, joinGroupV9, leaveGroupV5, syncGroupV5 } from '../client/library.ts'
import { retryDelay } from '../client/retry.ts'
import { CoordinatorCalls } from './coordinator-calls.ts'
import { decodeAssignment, encodeSubscription } from './envelope.ts'
import { encodedAssignments } from './leader.ts'

import type { AssignMembers, Generation, GroupMember } from './member.ts'
import { GroupError, type GroupLoss } from './membership-loss.ts'
import {
  type CheckedMemberOptions,
  checkedMemberOptions,
  type GroupMemberOptions,
} from './options.ts'

/** Type of the groups of consumers, whose assignments tools and autoscalers read. */
const PROTOCOL_TYPE = 'consumer'
/** Time for the answer of a broker after the last member came, ms; the same as in Java's client. */
const JOIN_LAPSE_MS = 5_000

/** Losses by error number. */
const LOSSES: ReadonlyMap<number, GroupLoss> = new Map([
  [KAFKA_ERRORS.ILLEGAL_GENERATION, 'illegal-generation'],
  [KAFKA_ERRORS.UNKNOWN_MEMBER_ID, 'unknown-member'],
  [KAFKA_ERRORS.REBALANCE_IN_PROGRESS, 'rebalancing'],
  [KAFKA_ERRORS.FENCED_INSTANCE_ID, 'fenced'],
])

/** The loss that an error number of a broker means; undefined for other numbers. */
export function groupLossOf(errorCode: number): GroupLoss | undefined {
  return LOSSES.get(errorCode)
}

/** The answer to a join that has a generation. */
interface Joined {
  readonly memberId: string
  readonly generationId: number
  readonly leader: string
  readonly skipAssignment: boolean
  readonly members: readonly {
    readonly memberId: string
    readonly groupInstanceId?: string | null | undefined
    readonly metadata: Uint8Array
  }[]
}

/** A member of a group of a Kafka, by the classic protocol: JoinGroup, SyncGroup, Heartbeat and LeaveGroup. */
export class KafkaGroupMember implements GroupMember {
  private readonly cluster: KafkaCluster
  private readonly options: CheckedMemberOptions
  private readonly instanceId: string | null
  /** For rounds, which wait for other members. */
  private readonly rounds: CoordinatorCalls
  /** For what is answered at once. */
  private readonly calls: CoordinatorCalls
  private memberId = ''
  private current: Generation | undefined
  private joining = false

  /** Throws INVALID_ARGUMENT. Nothing is sent before the first call. */
  constructor(cluster: KafkaCluster, options: GroupMemberOptions) {
    this.cluster = cluster
    this.options = checkedMemberOptions(options)
    const { groupId, sessionTimeoutMs, rebalanceTimeoutMs, groupInstanceId } = this.options
    this.instanceId = groupInstanceId ?? null
    this.rounds = new CoordinatorCalls(cluster, groupId, rebalanceTimeoutMs + JOIN_LAPSE_MS)
    // Half of a session: while a frozen coordinator does not answer, the session runs at its successor. A round that
    // waits at the same broker would notice that only after its own, long time.
    const repeatRound = () => void this.rounds.repeat()
    this.calls = new CoordinatorCalls(cluster, groupId, sessionTimeoutMs / 2, repeatRound)
  }

  get generation(): Generation | undefined {
    return this.current
  }

  async join(userData: Uint8Array, assign: AssignMembers): Promise<Generation> {
    if (this.joining) {
      const message = `${this.doing('join')}: another call waits for its round; one is enough`
      throw new WeirError('ILLEGAL_STATE', message)
    }
    this.joining = true
    try {
      return await this.untilSettled(userData, assign)
    } finally {
      this.joining = false
    }
  }

  private async untilSettled(userData: Uint8Array, assign: AssignMembers): Promise<Generation> {
    const { clock, random, deliveryTimeoutMs } = this.cluster
    const timeoutMs = deliveryTimeoutMs + this.options.rebalanceTimeoutMs
    const endMs = clock.monotonicMs() + timeoutMs
    for (let overtaken = 0; ; overtaken++) {
      const generation = await this.round(userData, assign, timeoutMs)
      if (generation !== undefined) {
        this.current = generation
        return generation
      }
      const delayMs = retryDelay(random, overtaken)
      if (clock.monotonicMs() + delayMs > endMs) {
        const message = `${this.doing('join')}: the group did not settle within ${timeoutMs} ms; ${overtaken + 1} rounds ended before this member knew its part; look for processes that join and end again and again`
        throw new WeirError('CONNECTOR_FAILED', message)
      }
      await sleep(clock, delayMs)
    }
  }

  /** One round; undefined if it was overtaken by the next one, or the group no longer knew this member. */
  private async round(
    userData: Uint8Array,
    assign: AssignMembers,
    timeoutMs: number,
  ): Promise<Generation | undefined> {
    const joined = await this.joinGroup(userData, timeoutMs)
    if (joined === undefined) return undefined
    const { memberId, generationId, leader, skipAssignment } = joined
    if (leader === '') await this.refuseStrangers()
    const isLeader = leader === memberId
    const assignments = isLeader && !skipAssignment ? this.lead(joined, assign) : []
    const bytes = await this.syncGroup(joined, assignments, timeoutMs)
    if (bytes === undefined) return undefined
    const assignment = decodeAssignment(bytes, `the leader ${leader}`)
    return { memberId, generationId, isLeader, leaderId: leader, assignment }
  }

  private async joinGroup(userData: Uint8Array, timeoutMs: number): Promise<Joined | undefined> {
    const { groupId, sessionTimeoutMs, rebalanceTimeoutMs, protocolName, topics } = this.options
    const subscription = encodeSubscription({ topics, userData, ownedPartitions: new Map() })
    const protocols = [{ name: protocolName, metadata: Buffer.from(subscription) }]
    for (;;) {
      const answer = await this.rounds.call({
        doing: this.doing('join'),
        timeoutMs,
        request: (connection) =>
          connection.call(
            joinGroupV9.api,
            groupId,
            sessionTimeoutMs,
            rebalanceTimeoutMs,
            this.memberId,
            this.instanceId,
            PROTOCOL_TYPE,
            protocols,
            null,
          ),
      })
      if (answer.errorCode === KAFKA_ERRORS.MEMBER_ID_REQUIRED) {
        this.memberId = answer.memberId
        continue
      }
      if (!this.mayContinue(answer.errorCode, 'join')) return undefined
      this.memberId = answer.memberId
      return answer
    }
  }

  private async syncGroup(
    { memberId, generationId }: Joined,
    assignments: { memberId: string; assignment: Buffer }[],
    timeoutMs: number,
  ): Promise<Uint8Array | undefined> {
    const { groupId, protocolName } = this.options
    const answer = await this.rounds.call({
      doing: this.doing('join'),
      timeoutMs,
      request: (connection) =>
        connection.call(
          syncGroupV5.api,
          groupId,
          generationId,
          memberId,
          this.instanceId,
          PROTOCOL_TYPE,
          protocolName,
          assignments,
        ),
    })
    return this.mayContinue(answer.errorCode, 'join') ? answer.assignment : undefined
  }

  /** Whether a round goes on; false if another one is needed. Throws for what no other round changes. */
  private mayContinue(errorCode: number, verb: string): boolean {
    if (errorCode === KAFKA_ERRORS.NONE) return true
    const loss = LOSSES.get(errorCode)
    if (loss === undefined || loss === 'fenced') throw this.error(errorCode, verb)
    if (loss === 'unknown-member') this.forget()
    return false
  }

  /**
   * Leaves a group whose consumers have the newer protocol (KIP-848). There the broker assigns, and names no leader:
   * each member would get topic partitions, and no data of its job.
   */
  private async refuseStrangers(): Promise<never> {
    await this.leave()
    const message = `${this.doing('join')}: consumers that are not of this job have the group, by the newer protocol of Kafka's consumers; take another group, or end them`
    throw new WeirError('INVALID_ARGUMENT', message)
  }

  private lead(
    { members }: Joined,
    assign: AssignMembers,
  ): { memberId: string; assignment: Buffer }[] {
    const joined = members.map(({ memberId, groupInstanceId, metadata }) => ({
      ...{ memberId, groupInstanceId: groupInstanceId ?? undefined, subscription: metadata },
    }))
    return encodedAssignments(joined, assign, this.options).map(({ memberId, assignment }) => ({
      memberId,
      assignment: Buffer.from(assignment),
    }))
  }

  async heartbeat(): Promise<'stable' | 'rebalancing'> {
    const generation = this.current
    if (generation === undefined) {
      const message = `${this.doing('heartbeat')}: the process is no member; join first`
      throw new WeirError('ILLEGAL_STATE', message)
    }
    const { groupId, sessionTimeoutMs } = this.options
    const { memberId, generationId } = generation
    const { errorCode } = await this.calls.call({
      doing: this.doing('heartbeat'),
      timeoutMs: sessionTimeoutMs,
      request: (connection) =>
        connection.call(heartbeatV4.api, groupId, generationId, memberId, this.instanceId),
    })
    if (errorCode === KAFKA_ERRORS.NONE) return 'stable'
    if (errorCode === KAFKA_ERRORS.REBALANCE_IN_PROGRESS) return 'rebalancing'
    // A round may have ended while the answer was on its way: then it was about the generation before.
    if (this.current === generation && errorCode === KAFKA_ERRORS.UNKNOWN_MEMBER_ID) this.forget()
    throw this.error(errorCode, 'heartbeat')
  }

  async leave(): Promise<void> {
    const { memberId } = this
    if (memberId === '') return
    await this.removeMember('leave', memberId, this.instanceId, 'the process ends')
    this.forget()
  }

  async remove(memberId: string): Promise<void> {
    const why = 'another member saw that its process is gone'
    await this.removeMember(`removal of member ${memberId}`, memberId, null, why)
  }

  private async removeMember(
    verb: string,
    memberId: string,
    groupInstanceId: string | null,
    reason: string,
  ): Promise<void> {
    const { groupId, sessionTimeoutMs } = this.options
    const { errorCode } = await this.calls.call({
      doing: this.doing(verb),
      timeoutMs: sessionTimeoutMs,
      request: async (connection) => {
        const member = { memberId, groupInstanceId, reason }
        const answer = await connection.call(leaveGroupV5.api, groupId, [member])
        return { errorCode: answer.errorCode || (answer.members?.[0]?.errorCode ?? 0) }
      },
    })
    if (errorCode === KAFKA_ERRORS.NONE || errorCode === KAFKA_ERRORS.UNKNOWN_MEMBER_ID) return
    throw this.error(errorCode, verb)
  }

  async close(): Promise<void> {
    await Promise.all([this.rounds.close(), this.calls.close()])
  }

  /** Drops the membership: the next join asks for a new member id. */
  private forget(): void {
    this.memberId = ''
    this.current = undefined
  }

  private doing(verb: string): string {
    return `${verb} of group "${this.options.groupId}"`
  }

  private error(errorCode: number, verb: string): WeirError {
    const { groupId, sessionTimeoutMs, protocolName } = this.options
    const loss = LOSSES.get(errorCode)
    if (loss !== undefined) return new GroupError(loss, this.doing(verb))
    const request = requestOf(this.cluster, this.doing(verb), coordinatorRight('group', groupId))
    return kafkaError(errorCode, request, adviceOf(errorCode, sessionTimeoutMs, protocolName))
  }
}

/** What to do after an error number; undefined if its name says it. */
function adviceOf(
  errorCode: number,
  sessionTimeoutMs: number,
  protocolName: string,
): string | undefined {
  if (errorCode === KAFKA_ERRORS.INVALID_SESSION_TIMEOUT) {
    return `a session of ${sessionTimeoutMs} ms is outside of group.min.session.timeout.ms to group.max.session.timeout.ms of the brokers, by default 6 s to 30 min`
  }
  if (errorCode === KAFKA_ERRORS.INCONSISTENT_GROUP_PROTOCOL) {
    return `its members are not of this job: they have another type than ${PROTOCOL_TYPE}, or not the protocol ${protocolName}; take another group, or end them`
  }
  if (errorCode === KAFKA_ERRORS.GROUP_MAX_SIZE_REACHED) {
    return 'end processes, or raise group.max.size of the brokers'
  }
  return undefined
}
