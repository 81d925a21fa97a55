import { describe, expect, it } from 'vitest'
import {
  encodeAssignment,
  encodeSubscription,
} from '../../../../src/connectors/kafka/group/envelope.ts'
import { KafkaGroupMember } from '../../../../src/connectors/kafka/group/kafka-member.ts'
import { isGroupError } from '../../../../src/connectors/kafka/group/membership-loss.ts'
import type { GroupMemberOptions } from '../../../../src/connectors/kafka/group/options.ts'
import { messageOf } from '../../../../src/core/errors.ts'
import { until } from '../../../run/until.ts'
import { ScriptedCoordinator } from './scripted-coordinator.ts'

const NOT_COORDINATOR = 16
const LOADING = 14
const ILLEGAL_GENERATION = 22
const UNKNOWN_MEMBER = 25
const REBALANCING = 27
const MEMBER_ID_REQUIRED = 79
const FENCED_INSTANCE = 82

const NOTHING = new Uint8Array(0)
const subscription = encodeSubscription({
  topics: ['t'],
  userData: NOTHING,
  ownedPartitions: new Map(),
})
const assignment = Buffer.from(
  encodeAssignment({ topicPartitions: new Map([['t', [3]]]), userData: NOTHING }),
)

/** An answer to a join, of a follower unless `leader` is the member. */
function joined(memberId: string, generationId: number, leader = 'other') {
  const members =
    leader === memberId ? [{ memberId, groupInstanceId: null, metadata: subscription }] : []
  return { errorCode: 0, memberId, generationId, leader, skipAssignment: false, members }
}
const refused = (errorCode: number, memberId = '') => ({ errorCode, memberId })
const synced = { errorCode: 0, assignment }
const none = () => new Map()

function memberOf(
  coordinator: ScriptedCoordinator,
  options: Partial<GroupMemberOptions> = {},
  deliveryTimeoutMs = 120_000,
): KafkaGroupMember {
  return new KafkaGroupMember(coordinator.cluster({ deliveryTimeoutMs }), {
    groupId: 'g',
    ...options,
  })
}

/** The member ids of the requests to join. */
const idsOf = (coordinator: ScriptedCoordinator) =>
  coordinator.of('join').map(({ arguments: args }) => args[3])

async function messageOfFailure(call: Promise<unknown>): Promise<string> {
  return await call.then(
    () => 'no error',
    (error) => messageOf(error),
  )
}

describe('a member of a Kafka group', () => {
  it('joins again under the id that the coordinator has made', async () => {
    const coordinator = new ScriptedCoordinator()
      .answers('join', refused(MEMBER_ID_REQUIRED, 'm-1'), joined('m-1', 1))
      .answers('sync', synced)
    const generation = await memberOf(coordinator).join(NOTHING, none)
    expect(idsOf(coordinator)).toEqual(['', 'm-1'])
    expect(generation).toMatchObject({ memberId: 'm-1', generationId: 1, isLeader: false })
    expect(generation.assignment.topicPartitions).toEqual(new Map([['t', [3]]]))
  })

  it.each([
    ['before its part was known', REBALANCING],
    ['and ended while it asked for its part', ILLEGAL_GENERATION],
  ])('joins the next round when one was overtaken %s', async (_, errorCode) => {
    const coordinator = new ScriptedCoordinator()
      .answers('join', joined('m-1', 1), joined('m-1', 2))
      .answers('sync', refused(errorCode), synced)
    const { generationId } = await memberOf(coordinator).join(NOTHING, none)
    expect(generationId).toBe(2)
    expect(idsOf(coordinator)).toEqual(['', 'm-1'])
  })

  it.each(['join', 'sync'])(
    'comes back as another one when it was removed before its %s',
    async (at) => {
      const coordinator = new ScriptedCoordinator()
      const removed = refused(UNKNOWN_MEMBER)
      if (at === 'join') coordinator.answers('join', joined('m-1', 1), removed, joined('m-2', 2))
      else coordinator.answers('join', joined('m-1', 1), joined('m-1', 2), joined('m-2', 3))
      const answers = at === 'join' ? [synced] : [synced, removed, synced]
      coordinator.answers('sync', ...answers)
      const member = memberOf(coordinator)
      await member.join(NOTHING, none)
      expect((await member.join(NOTHING, none)).memberId).toBe('m-2')
      expect(idsOf(coordinator)).toEqual(['', 'm-1', ''])
    },
  )

  it('follows its coordinator to another broker, and waits while that one loads the group', async () => {
    const coordinator = new ScriptedCoordinator()
    const moves = () => {
      coordinator.coordinator = 2
      return refused(NOT_COORDINATOR)
    }
    coordinator
      .answers('join', moves, refused(LOADING), joined('m-1', 1))
      .answers('sync', synced)
      .answers('heartbeat', () => {
        coordinator.coordinator = 1
        coordinator.answers('heartbeat', { errorCode: 0 })
        return refused(NOT_COORDINATOR)
      })
    const member = memberOf(coordinator)
    await member.join(NOTHING, none)
    expect(await member.heartbeat()).toBe('stable')
    expect(coordinator.of('join').map(({ port }) => port)).toEqual([1, 2, 2])
    expect(coordinator.of('heartbeat').map(({ port }) => port)).toEqual([2, 1])
  })

  it('waits for a broker that is away, and says so', async () => {
    const coordinator = new ScriptedCoordinator()
      .answers('join', joined('m-1', 1))
      .answers('sync', synced)
    coordinator.down.add(1)
    coordinator.down.add(2)
    coordinator.onNotice = () => coordinator.down.clear()
    const { generationId } = await memberOf(coordinator).join(NOTHING, none)
    expect(generationId).toBe(1)
    expect(coordinator.notices[0]).toMatch(/waiting for Kafka since .* is down/)
    expect(coordinator.notices.at(-1)).toMatch(/can be reached again/)
  })

  it('ends calls that wait when it is closed, also while no broker is there', async () => {
    const coordinator = new ScriptedCoordinator()
    coordinator.down.add(1)
    coordinator.down.add(2)
    const member = memberOf(coordinator)
    const waiting = messageOfFailure(member.join(NOTHING, none))
    await member.close()
    expect(await waiting).toBe('the member of group "g" was closed')
  })

  it('gives up a group that does not settle, and a coordinator that does not answer', async () => {
    const endless = new ScriptedCoordinator()
      .answers('join', joined('m-1', 1))
      .answers('sync', refused(REBALANCING))
    const unsettled = memberOf(endless, { rebalanceTimeoutMs: 1_000 }, 500).join(NOTHING, none)
    expect(await messageOfFailure(unsettled)).toMatch(
      /^join of group "g": the group did not settle within 1500 ms; \d+ rounds ended/,
    )
    expect(endless.clock.monotonicMs()).toBeGreaterThan(500)
    const silent = new ScriptedCoordinator()
      .answers('join', joined('m-1', 1))
      .answers('sync', synced)
      .answers('heartbeat', refused(LOADING))
    const member = memberOf(silent)
    await member.join(NOTHING, none)
    const before = silent.clock.monotonicMs()
    expect(await messageOfFailure(member.heartbeat())).toMatch(/did not succeed within 10000 ms/)
    expect(silent.clock.monotonicMs() - before).toBeLessThanOrEqual(11_000)
  })

  it('has connections of its own: a round that waits holds no heartbeat up', async () => {
    const round = Promise.withResolvers<unknown>()
    const coordinator = new ScriptedCoordinator()
      .answers('join', joined('m-1', 1), round.promise)
      .answers('sync', synced)
      .answers('heartbeat', { errorCode: 0 })
    const member = memberOf(coordinator, { sessionTimeoutMs: 8_000, rebalanceTimeoutMs: 40_000 })
    await member.join(NOTHING, none)
    const waiting = member.join(NOTHING, none)
    await until('the round waits', () => coordinator.of('join').length === 2)
    expect(await member.heartbeat()).toBe('stable')
    round.resolve(joined('m-1', 2))
    expect((await waiting).generationId).toBe(2)
    const connectionOf = (request: string) => coordinator.of(request)[0]!.connection
    const used = ['find', 'join', 'heartbeat'].map(connectionOf)
    expect(new Set(used).size).toBe(3)
    expect(connectionOf('sync')).toBe(connectionOf('join'))
    expect(used.map((at) => coordinator.connections[at]!.answerTimeoutMs)).toEqual([
      undefined,
      45_000,
      4_000,
    ])
  })

  it('sends a round that waits to the new coordinator when a heartbeat hears of it', async () => {
    const coordinator = new ScriptedCoordinator()
      .answers('join', joined('m-1', 1), new Promise(() => undefined), joined('m-1', 2))
      .answers('sync', synced)
      .answers('heartbeat', () => {
        coordinator.coordinator = 2
        coordinator.answers('heartbeat', refused(REBALANCING))
        return refused(NOT_COORDINATOR)
      })
    const member = memberOf(coordinator)
    await member.join(NOTHING, none)
    const waiting = member.join(NOTHING, none)
    await until('the round waits', () => coordinator.of('join').length === 2)
    expect(await member.heartbeat()).toBe('rebalancing')
    expect((await waiting).generationId).toBe(2)
    expect(coordinator.of('join').map(({ port }) => port)).toEqual([1, 1, 2])
  })

  it.each([
    [ILLEGAL_GENERATION, 'illegal-generation'],
    [UNKNOWN_MEMBER, 'unknown-member'],
    [FENCED_INSTANCE, 'fenced'],
  ] as const)('hears of error %i at its heartbeat as %s', async (errorCode, loss) => {
    const coordinator = new ScriptedCoordinator()
      .answers('join', joined('m-1', 1))
      .answers('sync', synced)
      .answers('heartbeat', refused(errorCode))
    const member = memberOf(coordinator, { groupInstanceId: 'i' })
    await member.join(NOTHING, none)
    const error = await member.heartbeat().catch((thrown: unknown) => thrown)
    expect(isGroupError(error, loss)).toBe(true)
    expect(error).toMatchObject({ code: 'MEMBERSHIP_LOST', loss, retryable: false })
    expect(coordinator.of('heartbeat')[0]!.arguments).toEqual(['g', 1, 'm-1', 'i'])
  })

  it('keeps the membership of a round that ended while a heartbeat of the one before was asked', async () => {
    const beat = Promise.withResolvers<unknown>()
    const coordinator = new ScriptedCoordinator()
      .answers('join', joined('m-1', 1), refused(UNKNOWN_MEMBER), joined('m-2', 2))
      .answers('sync', synced)
      .answers('heartbeat', beat.promise)
    const member = memberOf(coordinator)
    await member.join(NOTHING, none)
    const late = member.heartbeat().catch((error: unknown) => error)
    await until('the heartbeat is asked', () => coordinator.of('heartbeat').length === 1)
    await member.join(NOTHING, none)
    beat.resolve(refused(UNKNOWN_MEMBER))
    expect(isGroupError(await late, 'unknown-member')).toBe(true)
    expect(member.generation?.memberId).toBe('m-2')
  })

  it.each([
    [
      30,
      /join of group "g" is not allowed: User:ANONYMOUS needs READ on group "g"; let an administrator run: kafka-acls --add --allow-principal User:ANONYMOUS --operation Read --group g$/,
    ],
    [
      26,
      /INVALID_SESSION_TIMEOUT \(a session of 10000 ms is outside of group\.min\.session\.timeout\.ms/,
    ],
    [23, /INCONSISTENT_GROUP_PROTOCOL \(its members are not of this job/],
    [81, /GROUP_MAX_SIZE_REACHED \(end processes, or raise group\.max\.size/],
  ])('says what helps after error %i', async (errorCode, sentence) => {
    const coordinator = new ScriptedCoordinator().answers('join', refused(errorCode))
    expect(await messageOfFailure(memberOf(coordinator).join(NOTHING, none))).toMatch(sentence)
    expect(coordinator.of('join')).toHaveLength(1)
  })

  it('refuses a broker that is too old for groups of this kind', async () => {
    const coordinator = new ScriptedCoordinator()
    coordinator.joinVersion = 8
    expect(await messageOfFailure(memberOf(coordinator).join(NOTHING, none))).toBe(
      'Kafka at the coordinator of group "g" is too old: it offers JoinGroup only up to version 8, version 9 is needed; Weir needs Kafka 3.2 or later, upgrade the broker',
    )
  })

  it('that leads refuses a member with bytes of another format', async () => {
    const stranger = { memberId: 'x-9', groupInstanceId: null, metadata: Buffer.from('{"a":1}') }
    const answer = joined('m-1', 1, 'm-1')
    const coordinator = new ScriptedCoordinator().answers('join', {
      ...answer,
      members: [...answer.members, stranger],
    })
    const joining = memberOf(coordinator).join(NOTHING, none)
    await expect(joining).rejects.toMatchObject({ code: 'MALFORMED_DATA' })
    expect(await messageOfFailure(joining)).toMatch(
      /^the subscription of member x-9 is not in the format/,
    )
    expect(coordinator.of('sync')).toEqual([])
  })

  it('that leads does not send an assignment for a member that is not there', async () => {
    const coordinator = new ScriptedCoordinator().answers('join', joined('m-1', 1, 'm-1'))
    const assign = () => new Map([['gone', { topicPartitions: new Map(), userData: NOTHING }]])
    const joining = memberOf(coordinator).join(NOTHING, assign)
    expect(await messageOfFailure(joining)).toMatch(/names gone, which is no member of this round/)
  })

  it('leaves a group in which the broker assigns, which names no leader', async () => {
    const coordinator = new ScriptedCoordinator()
      .answers('join', joined('m-1', 1, ''))
      .answers('leave', { errorCode: 0, members: [{ errorCode: 0 }] })
    const joining = memberOf(coordinator).join(NOTHING, none)
    expect(await messageOfFailure(joining)).toMatch(/by the newer protocol .* take another group/)
    expect(coordinator.of('leave')).toHaveLength(1)
    expect(coordinator.of('sync')).toEqual([])
  })

  it('that has returned as the leader into its place does not assign', async () => {
    const coordinator = new ScriptedCoordinator()
      .answers('join', { ...joined('m-1', 1, 'm-1'), skipAssignment: true })
      .answers('sync', synced)
    const assign = () => {
      throw new Error('it was asked to assign')
    }
    const { isLeader, assignment: own } = await memberOf(coordinator).join(NOTHING, assign)
    expect({ isLeader, own: own.topicPartitions }).toEqual({
      isLeader: true,
      own: new Map([['t', [3]]]),
    })
  })

  it('leaves once more while its coordinator moves, and is gone when the group does not know it', async () => {
    const coordinator = new ScriptedCoordinator()
      .answers('join', joined('m-1', 1))
      .answers('sync', synced)
      .answers(
        'leave',
        { errorCode: NOT_COORDINATOR, members: [] },
        { errorCode: 0, members: [{ errorCode: UNKNOWN_MEMBER }] },
      )
    const member = memberOf(coordinator)
    await member.join(NOTHING, none)
    await member.leave()
    await member.leave()
    expect(coordinator.of('leave')).toHaveLength(2)
    expect(member.generation).toBeUndefined()
  })

  it('refuses a heartbeat that does not fit into its session', () => {
    const coordinator = new ScriptedCoordinator()
    expect(() =>
      memberOf(coordinator, { sessionTimeoutMs: 6_000, heartbeatIntervalMs: 3_001 }),
    ).toThrow(/a heartbeat each 3001 ms does not fit into a session of 6000 ms/)
  })
})
