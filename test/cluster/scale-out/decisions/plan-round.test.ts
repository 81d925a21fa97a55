import { describe, expect, it } from 'vitest'
import { decodeAssignment } from '../../../../src/cluster/scale-out/decisions/assignment-data.ts'
import {
  encodeMemberData,
  type MemberData,
} from '../../../../src/cluster/scale-out/decisions/member-data.ts'
import {
  type JoinedMember,
  planRound,
} from '../../../../src/cluster/scale-out/decisions/plan-round.ts'
import { JOB, memberWith } from './members.ts'
import { AT_ONCE } from './rounds.ts'

function joined(memberId: string, data: Partial<MemberData> = {}): JoinedMember {
  return { memberId, userData: encodeMemberData(memberWith(data)) }
}

describe('planRound', () => {
  it('gives each member its tasks, its place and one map of all owners with their addresses', () => {
    const members = [
      joined('b', { address: 'host-b:1', owned: [0, 1, 2, 3, 4, 5, 6, 7] }),
      joined('a', { address: 'host-a:1' }),
    ]
    const shares = planRound(members, { generation: 9, rules: AT_ONCE })
    expect(shares.get('b')!.active).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
    expect(shares.get('a')!.active).toEqual([])
    const b = decodeAssignment(shares.get('b')!.userData)
    expect(b).toMatchObject({ epoch: 9, active: [0, 1, 2, 3], release: [4, 5, 6, 7], self: 1 })
    expect(b.map.addresses).toEqual(['host-a:1', 'host-b:1'])
    expect(b.map.owners).toEqual([1, 1, 1, 1, 1, 1, 1, 1])
    expect(decodeAssignment(shares.get('a')!.userData).map).toEqual(b.map)
  })

  it('gives the same shares in whichever order the members joined', () => {
    const members = ['c', 'a', 'b'].map((name) => joined(name))
    const forth = planRound(members, { generation: 1 })
    const back = planRound([...members].reverse(), { generation: 1 })
    for (const [memberId, share] of forth) expect(back.get(memberId)).toEqual(share)
    expect(decodeAssignment(planRound(members).get('a')!.userData).epoch).toBeUndefined()
  })

  it.each([
    ['job', { fingerprint: 'f'.repeat(32) }, 'give this one another application.id'],
    ['partitions', { partitions: 4 }, 'scale-out.partitions is 4 here and 8 in the running'],
    ['max-parallelism', { maxParallelism: 64 }, 'pipeline.max-parallelism is 64 here and 128'],
    ['storage', { storageId: 'a'.repeat(32) }, 'to one folder that all reach'],
    ['cluster', { cluster: 'kafka-2' }, 'with the brokers of the running processes'],
  ])(
    'refuses a newcomer with another %s, and never the process that runs',
    (reason, field, text) => {
      const newcomers = ['a', 'b', 'c'].map((name) => joined(name, { job: { ...JOB, ...field } }))
      const shares = planRound([...newcomers, joined('z', { owned: [0, 1] })])
      expect(shares.get('z')!.active).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
      const { refusal, map } = decodeAssignment(shares.get('a')!.userData)
      expect(refusal).toMatchObject({ reason, text: expect.stringContaining(text) })
      expect(map.owners).toEqual([])
      expect(shares.get('b')!.active).toEqual([])
    },
  )

  it('takes the side of most processes, then of the first name, while none runs', () => {
    const other = { ...JOB, partitions: 4 }
    const most = planRound([joined('a', { job: other }), joined('b'), joined('c')])
    expect(decodeAssignment(most.get('a')!.userData).refusal?.reason).toBe('partitions')
    const halves = planRound([joined('a', { job: other }), joined('b')])
    expect(decodeAssignment(halves.get('b')!.userData).refusal?.reason).toBe('partitions')
    expect(halves.get('a')!.active).toEqual([0, 1, 2, 3])
  })

  it('leaves out a member whose data it cannot read, and says so', () => {
    const userData = new TextEncoder().encode('another program')
    const shares = planRound([joined('a'), { memberId: 'x', userData }])
    expect(shares.get('a')!.active).toHaveLength(8)
    expect(decodeAssignment(shares.get('x')!.userData).refusal).toMatchObject({
      reason: 'foreign-data',
      text: expect.stringContaining('data of the group begin with WSOM'),
    })
    expect(planRound([{ memberId: 'x', userData }]).get('x')!.active).toEqual([])
  })

  it('writes to a mixed group in the version that all read', () => {
    const shares = planRound([
      joined('new', { understands: { lowest: 1, highest: 2 } }),
      joined('old'),
    ])
    expect([...shares.values()].map(({ userData }) => userData[4])).toEqual([1, 1])
    expect(shares.get('new')!.active.length + shares.get('old')!.active.length).toBe(8)
  })

  it('refuses a member two versions ahead while others run, and leads no other one when none does', () => {
    const ahead = joined('new', { understands: { lowest: 3, highest: 3 } })
    const shares = planRound([ahead, joined('old', { owned: [0] })])
    expect(shares.get('old')!.active).toHaveLength(8)
    expect(decodeAssignment(shares.get('new')!.userData).refusal?.reason).toBe('format')
    expect(() => planRound([ahead, joined('old')])).toThrow(
      expect.objectContaining({ code: 'UNSUPPORTED_VERSION' }),
    )
  })

  it('refuses a newcomer that no longer reads what the running processes write', () => {
    const newer = joined('a', { understands: { lowest: 2, highest: 2 } })
    const shares = planRound([newer, joined('b', { owned: [0] }), joined('c')])
    expect(shares.get('b')!.active.length + shares.get('c')!.active.length).toBe(8)
    expect(decodeAssignment(shares.get('a')!.userData).refusal).toMatchObject({
      reason: 'format',
      text: expect.stringContaining('it reads versions 2 to 2'),
    })
    const running = joined('a', { understands: { lowest: 2, highest: 2 }, owned: [0] })
    expect(() => planRound([running, joined('b')])).toThrow('another one leads')
  })

  it('names a member by its group.instance.id, so that a return under a new member id changes no order', () => {
    const named = (memberId: string, groupInstanceId: string): JoinedMember => ({
      ...joined(memberId),
      groupInstanceId,
    })
    const before = planRound([named('m-1', 'pod-0'), named('m-2', 'pod-1')])
    const after = planRound([named('m-9', 'pod-0'), named('m-2', 'pod-1')])
    expect(after.get('m-9')).toEqual(before.get('m-1'))
  })
})
