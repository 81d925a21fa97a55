import {
  decodeAssignment,
  encodeSubscription,
} from '../../../../src/connectors/kafka/group/envelope.ts'
import { encodedAssignments } from '../../../../src/connectors/kafka/group/leader.ts'
import type {
  AssignMembers,
  Generation,
  GroupMember,
} from '../../../../src/connectors/kafka/group/member.ts'
import { isGroupError } from '../../../../src/connectors/kafka/group/membership-loss.ts'
import {
  type CheckedMemberOptions,
  checkedMemberOptions,
  type GroupMemberOptions,
} from '../../../../src/connectors/kafka/group/options.ts'
import { WeirError } from '../../../../src/core/errors.ts'
import type { SimulatedGroup } from './simulated-group.ts'

/** A member of a simulated group. */
export class SimulatedMember implements GroupMember {
  private readonly group: SimulatedGroup
  private readonly options: CheckedMemberOptions
  private readonly closing = Promise.withResolvers<never>()
  private memberId = ''
  private current: Generation | undefined
  private joining = false
  private closed = false

  constructor(group: SimulatedGroup, options: GroupMemberOptions) {
    this.group = group
    this.options = checkedMemberOptions(options)
    this.closing.promise.catch(() => undefined)
  }

  get generation(): Generation | undefined {
    return this.current
  }

  async join(userData: Uint8Array, assign: AssignMembers): Promise<Generation> {
    if (this.joining) throw new WeirError('ILLEGAL_STATE', 'another join waits')
    this.joining = true
    try {
      for (;;) {
        this.checkOpen()
        const generation = await Promise.race([this.round(userData, assign), this.closing.promise])
        if (generation === undefined) continue
        this.current = generation
        return generation
      }
    } finally {
      this.joining = false
    }
  }

  private async round(
    userData: Uint8Array,
    assign: AssignMembers,
  ): Promise<Generation | undefined> {
    const { topics, groupInstanceId } = this.options
    const subscription = encodeSubscription({ topics, userData, ownedPartitions: new Map() })
    try {
      const joined = await this.group.join({
        ...this.options,
        groupInstanceId,
        memberId: this.memberId,
        subscription,
      })
      const { memberId, generationId, leaderId, skipAssignment, members } = joined
      this.memberId = memberId
      const isLeader = leaderId === memberId
      const assigned =
        isLeader && !skipAssignment ? encodedAssignments(members, assign, this.options) : []
      const bytes = await this.group.sync({ memberId, generationId, groupInstanceId }, assigned)
      const assignment = decodeAssignment(bytes, 'the leader')
      return { memberId, generationId, isLeader, leaderId, assignment }
    } catch (error) {
      if (!isGroupError(error) || isGroupError(error, 'fenced')) throw error
      if (isGroupError(error, 'unknown-member')) this.forget()
      return undefined
    }
  }

  async heartbeat(): Promise<'stable' | 'rebalancing'> {
    this.checkOpen()
    const generation = this.current
    if (generation === undefined) throw new WeirError('ILLEGAL_STATE', 'no member; join first')
    const { memberId, generationId } = generation
    const { groupInstanceId } = this.options
    try {
      return this.group.heartbeat({ memberId, generationId, groupInstanceId })
    } catch (error) {
      if (isGroupError(error, 'unknown-member')) this.forget()
      throw error
    }
  }

  async leave(): Promise<void> {
    this.checkOpen()
    this.group.leave(this.memberId)
    this.forget()
  }

  async remove(memberId: string): Promise<void> {
    this.checkOpen()
    this.group.leave(memberId)
  }

  async close(): Promise<void> {
    this.closed = true
    this.closing.reject(new WeirError('ILLEGAL_STATE', 'the member was closed'))
  }

  private checkOpen(): void {
    if (this.closed) throw new WeirError('ILLEGAL_STATE', 'the member was closed')
  }

  private forget(): void {
    this.memberId = ''
    this.current = undefined
  }
}
