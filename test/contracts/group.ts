import { describe, expect, it, onTestFinished } from 'vitest'
import type { TransactionIdentity } from '../../src/connectors/kafka/client/identity.ts'
import type {
  PartitionCommit,
  TransactionalCommit,
} from '../../src/connectors/kafka/group/commits.ts'
import { isGroupError } from '../../src/connectors/kafka/group/membership-loss.ts'
import type { GroupMemberOptions } from '../../src/connectors/kafka/group/options.ts'
import { isWeirError } from '../../src/core/errors.ts'
import { type GroupWorld, Process, settled } from './group-world.ts'

/** The loss that a call heard of, its error code, or `no error`. */
export async function outcomeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call
    return 'no error'
  } catch (error) {
    if (isGroupError(error)) return String(error.details['loss'])
    return isWeirError(error) ? error.code : String(error)
  }
}

/** Makes processes of a new group, whose members are closed when the test ends. */
function processesOf(world: GroupWorld, groupId: string) {
  return (process: string, options: Partial<GroupMemberOptions> = {}): Process => {
    const made = new Process(world, groupId, process, options)
    onTestFinished(() => made.member.close())
    return made
  }
}

/** Contract of a group coordinator and its members. `open` returns the world of a test. */
export function groupContract(name: string, open: () => GroupWorld): void {
  describe(`the members of a group of ${name}`, () => {
    it('are one that joins alone: it leads, and gets what it assigned', async () => {
      const world = open()
      const a = processesOf(world, world.newGroup())('a')
      await settled(world, [a])
      const { memberId, leaderId, isLeader, generationId } = a.last!
      expect({ isLeader, leaderId }).toEqual({ isLeader: true, leaderId: memberId })
      expect(generationId).toBeGreaterThan(0)
      expect({ names: a.names, partitions: a.partitions }).toEqual({ names: 'a', partitions: [0] })
      expect(await a.member.heartbeat()).toBe('stable')
    })

    it.each([3, 20])(
      'are %i that join at once: one leads, and its assignment reaches each',
      async (count) => {
        const world = open()
        const make = processesOf(world, world.newGroup())
        const names = Array.from({ length: count }, (_, i) => `p${String(i).padStart(2, '0')}`)
        const all = names.map((process) => make(process))
        await settled(world, all)
        expect(all.map(({ partitions }) => partitions)).toEqual(names.map((_, i) => [i]))
        const leaders = all.filter(({ last }) => last!.isLeader)
        expect(leaders).toHaveLength(1)
        const [leader] = leaders
        expect(new Set(all.map(({ last }) => last!.leaderId))).toEqual(
          new Set([leader!.last!.memberId]),
        )
        expect(new Set(all.map(({ last }) => last!.memberId)).size).toBe(count)
        const seen = leader!.led.map(({ userData }) => new TextDecoder().decode(userData))
        expect(seen.sort()).toEqual(names)
      },
    )

    it('hear at their heartbeats that another one joins, and that one leaves', async () => {
      const world = open()
      const make = processesOf(world, world.newGroup())
      const [a, b] = [make('a'), make('b')]
      await settled(world, [a])
      const before = a.last!.generationId
      b.begin()
      await world.until('a hears of b', async () => (await a.member.heartbeat()) === 'rebalancing')
      expect(b.waits).toBe(true)
      await settled(world, [a, b])
      expect(a.last!.generationId).toBeGreaterThan(before)
      expect(a.losses).toEqual([])
      await b.member.leave()
      await b.member.leave()
      expect(b.member.generation).toBeUndefined()
      await settled(world, [a])
      expect(a.losses).toEqual([])
    })

    it.each([{}, { groupInstanceId: 'three' }])(
      'remove one with %o whose process is gone; if it lives, it comes back under another id',
      async (options) => {
        const world = open()
        const make = processesOf(world, world.newGroup())
        const [a, b] = [make('a'), make('b', options)]
        await settled(world, [a, b])
        const { memberId } = b.last!
        await a.member.remove(memberId)
        await a.member.remove(memberId)
        await a.member.remove('never-was-there')
        expect(await outcomeOf(b.member.heartbeat())).toBe('unknown-member')
        expect(b.member.generation).toBeUndefined()
        expect(await outcomeOf(b.member.heartbeat())).toBe('ILLEGAL_STATE')
        await settled(world, [a])
        await settled(world, [a, b])
        expect(b.last!.memberId).not.toBe(memberId)
      },
    )

    it('of one instance id fence each other: the younger process stays', async () => {
      const world = open()
      const groupId = world.newGroup()
      const make = processesOf(world, groupId)
      const old = make('a', { groupInstanceId: 'one' })
      const other = make('b')
      await settled(world, [old, other])
      const successor = make('a', { groupInstanceId: 'one' })
      await settled(world, [successor, other])
      expect(await outcomeOf(old.member.heartbeat())).toBe('fenced')
      const producer = await world.producer(`${groupId}-old`)
      const commit = commitOf(producer, old, world.topic, [], 'one')
      expect(await outcomeOf(world.commits(groupId).commit(commit))).toBe('fenced')
      await world.end(producer, false)
      expect(await outcomeOf(old.member.join(new Uint8Array(0), () => new Map()))).toBe('fenced')
    })

    it('that return under their instance id get their part back, and the others go on', async () => {
      const world = open()
      const make = processesOf(world, world.newGroup())
      const old = make('b', { groupInstanceId: 'two' })
      const a = make('a')
      await settled(world, [a])
      await settled(world, [a, old])
      const { generationId } = a.last!
      await old.member.close()
      const back = make('b', { groupInstanceId: 'two' })
      await settled(world, [back], [a])
      expect(back.partitions).toEqual(old.partitions)
      expect(back.last!.generationId).toBe(generationId)
      expect(back.last!.memberId).not.toBe(old.last!.memberId)
      expect(await a.member.heartbeat()).toBe('stable')
    })

    it('join once at a time, and a round that waits ends with the member', async () => {
      const world = open()
      const make = processesOf(world, world.newGroup())
      const [a, b] = [make('a'), make('b')]
      await settled(world, [a])
      const waiting = outcomeOf(b.member.join(new Uint8Array(0), () => new Map()))
      await world.until('a hears of b', async () => (await a.member.heartbeat()) === 'rebalancing')
      expect(await outcomeOf(b.member.join(new Uint8Array(0), () => new Map()))).toBe(
        'ILLEGAL_STATE',
      )
      await b.member.close()
      expect(await waiting).toBe('ILLEGAL_STATE')
      expect(await outcomeOf(b.member.join(new Uint8Array(0), () => new Map()))).toBe(
        'ILLEGAL_STATE',
      )
    })

    it('whose leader refuses are assigned by its next round', async () => {
      const world = open()
      const make = processesOf(world, world.newGroup())
      const a = make('a')
      const refused = a.member.join(new Uint8Array(0), () => {
        throw new Error('not yet')
      })
      await expect(refused).rejects.toThrow('not yet')
      expect(a.member.generation).toBeUndefined()
      await settled(world, [a])
    })

    it('whose assignments the broker would not store get an error with the sizes', async () => {
      const world = open()
      const a = processesOf(world, world.newGroup())('a', { maxRecordBytes: 20_000 })
      const assign = (bytes: number) => (members: readonly { memberId: string }[]) =>
        new Map(
          members.map(({ memberId }) => [
            memberId,
            { topicPartitions: new Map(), userData: new Uint8Array(bytes) },
          ]),
        )
      await expect(a.member.join(new Uint8Array(100), assign(20_000))).rejects.toMatchObject({
        code: 'FRAME_TOO_LARGE',
        details: { members: 1, maxRecordBytes: 20_000 },
      })
      const { assignment } = await a.member.join(new Uint8Array(100), assign(15_000))
      expect(assignment.userData).toHaveLength(15_000)
    })
  })

  describe(`the commits of a group of ${name}`, () => {
    /** A group of one process, with a producer. */
    async function committing() {
      const world = open()
      const groupId = world.newGroup()
      const make = processesOf(world, groupId)
      const a = make('a')
      await settled(world, [a])
      const id = `${groupId}-a`
      const producer = await world.producer(id)
      const commits = world.commits(groupId)
      const found = async (...partitions: number[]) =>
        Object.fromEntries(
          (await commits.fetch(new Map([[world.topic, partitions]]))).get(world.topic)!,
        )
      return { world, groupId, make, a, id, producer, commits, found }
    }

    it('are true when their transaction is, and unstable until then', async () => {
      const { world, a, producer, commits, found } = await committing()
      expect(await found(0, 1, 2)).toEqual({ 0: 'none', 1: 'none', 2: 'none' })
      const offsets = [at(0, 17, 'pointer of 0'), at(1, 2 ** 40, '')]
      await commits.commit(commitOf(producer, a, world.topic, offsets))
      expect(await found(0, 1, 2)).toEqual({ 0: 'unstable', 1: 'unstable', 2: 'none' })
      await world.end(producer, true)
      await world.until('the commit is there', async () => (await found(0))[0] !== 'unstable')
      expect(await found(0, 1, 2)).toEqual({
        0: { nextOffset: 17, metadata: 'pointer of 0' },
        1: { nextOffset: 2 ** 40, metadata: '' },
        2: 'none',
      })
    })

    it('of an aborted transaction never were, and those before stay', async () => {
      const { world, a, producer, commits, found } = await committing()
      await commits.commit(commitOf(producer, a, world.topic, [at(0, 1, 'one')]))
      await world.end(producer, true)
      await commits.commit(commitOf(producer, a, world.topic, [at(0, 2, 'two'), at(3, 2, '')]))
      await world.end(producer, false)
      await world.until('the end is there', async () => (await found(3))[3] !== 'unstable')
      expect(await found(0, 3)).toEqual({ 0: { nextOffset: 1, metadata: 'one' }, 3: 'none' })
    })

    it('follow each other at once, in one transaction after the other', async () => {
      const { world, a, producer, commits, found } = await committing()
      for (let i = 1; i <= 10; i++) {
        await commits.commit(commitOf(producer, a, world.topic, [at(0, i, `${i}`)]))
        await world.end(producer, true)
      }
      await world.until('the commit is there', async () => (await found(0))[0] !== 'unstable')
      expect(await found(0)).toEqual({ 0: { nextOffset: 10, metadata: '10' } })
    })

    it('are accepted while a round is prepared, and refused under the generation before', async () => {
      const { world, make, a, producer, commits, found } = await committing()
      const old = a.last!
      const b = make('b')
      b.begin()
      await world.until('a hears of b', async () => (await a.member.heartbeat()) === 'rebalancing')
      await commits.commit(commitOf(producer, a, world.topic, [at(0, 5, '')]))
      await world.end(producer, true)
      await settled(world, [a, b])
      const late = { ...commitOf(producer, a, world.topic, [at(0, 6, '')]), member: old }
      expect(await outcomeOf(commits.commit(late))).toBe('illegal-generation')
      await world.end(producer, false)
      await world.until('the end is there', async () => (await found(0))[0] !== 'unstable')
      expect(await found(0)).toEqual({ 0: { nextOffset: 5, metadata: '' } })
    })

    it('of a member that was removed are refused', async () => {
      const { world, make, a, producer, commits, found } = await committing()
      const b = make('b')
      await settled(world, [a, b])
      await b.member.remove(a.last!.memberId)
      const late = commitOf(producer, a, world.topic, [at(0, 6, '')])
      expect(await outcomeOf(commits.commit(late))).toBe('unknown-member')
      await world.end(producer, false)
      await world.until('the end is there', async () => (await found(0))[0] !== 'unstable')
      expect(await found(0)).toEqual({ 0: 'none' })
    })

    it('of a process whose transactional id has a successor are refused, and do not stay unstable', async () => {
      const { world, a, id, producer, commits, found } = await committing()
      await commits.commit(commitOf(producer, a, world.topic, [at(0, 1, 'late')]))
      expect(await found(0)).toEqual({ 0: 'unstable' })
      const successor = await world.producer(id)
      await world.until('the end is there', async () => (await found(0))[0] !== 'unstable')
      expect(await found(0)).toEqual({ 0: 'none' })
      const late = commitOf(producer, a, world.topic, [at(0, 2, 'later')])
      expect(await outcomeOf(commits.commit(late))).toBe('TRANSACTION_FENCED')
      expect(await outcomeOf(world.end(producer, true))).toBe('TRANSACTION_FENCED')
      await commits.commit(commitOf(successor, a, world.topic, [at(0, 3, 'new')]))
      await world.end(successor, true)
      await world.until('the commit is there', async () => (await found(0))[0] !== 'unstable')
      expect(await found(0)).toEqual({ 0: { nextOffset: 3, metadata: 'new' } })
    })

    it('without a membership, or with a text that is too long, are not sent', async () => {
      const { world, a, producer, commits, found } = await committing()
      const commit = commitOf(producer, a, world.topic, [at(0, 1, '')])
      const unnamed = { ...commit, member: { memberId: '', generationId: -1 } }
      expect(await outcomeOf(commits.commit(unnamed))).toBe('INVALID_ARGUMENT')
      const long = commitOf(producer, a, world.topic, [at(0, 1, 'é'.repeat(2_049))])
      await expect(commits.commit(long)).rejects.toMatchObject({
        code: 'FRAME_TOO_LARGE',
        details: { partition: 0, bytes: 4_098, maxMetadataBytes: 4_096 },
      })
      expect(await found(0)).toEqual({ 0: 'none' })
      await commits.commit(commitOf(producer, a, world.topic, [at(0, 1, 'x'.repeat(4_096))]))
      await world.end(producer, true)
      await world.until('the commit is there', async () => (await found(0))[0] !== 'unstable')
      expect(await found(0)).toEqual({ 0: { nextOffset: 1, metadata: 'x'.repeat(4_096) } })
    })
  })
}

/** Contract of members that do nothing, whose tests take as long as the timeouts that end them. */
export function groupSilenceContract(name: string, open: () => GroupWorld): void {
  describe(`a member of a group of ${name}`, () => {
    it('that is silent is removed after its session; those that live go on', async () => {
      const world = open()
      const groupId = world.newGroup()
      const make = processesOf(world, groupId)
      const [a, b] = [make('a'), make('b', { sessionTimeoutMs: 6_000, heartbeatIntervalMs: 2_000 })]
      await settled(world, [a, b])
      const producer = await world.producer(`${groupId}-b`)
      await settled(world, [a])
      expect(a.losses).toEqual([])
      const late = commitOf(producer, b, world.topic, [at(0, 1, '')])
      expect(await outcomeOf(world.commits(groupId).commit(late))).toBe('unknown-member')
      await world.end(producer, false)
      expect(await outcomeOf(b.member.heartbeat())).toBe('unknown-member')
      await settled(world, [a, b])
    })

    it('that does not come to a round is removed when its time is over, whatever its heartbeats', async () => {
      const world = open()
      const make = processesOf(world, world.newGroup())
      const rounds = { rebalanceTimeoutMs: 2_000 }
      const [a, b, c] = [make('a', rounds), make('b', rounds), make('c', rounds)]
      await settled(world, [a, b])
      c.begin()
      await world.until('b hears of c', async () => (await b.member.heartbeat()) === 'rebalancing')
      let last = ''
      await world.until('b is removed', async () => {
        await a.turn()
        last = await outcomeOf(b.member.heartbeat())
        return last !== 'no error'
      })
      expect(last).toBe('unknown-member')
      await settled(world, [a, c])
    })
  })
}

/** An offset with a text. */
function at(partition: number, nextOffset: number, metadata: string): PartitionCommit {
  return { partition, nextOffset, leaderEpoch: 0, metadata }
}

/** A commit under the membership of a process's last round. */
function commitOf(
  transaction: TransactionIdentity,
  { last }: Process,
  topic: string,
  partitions: readonly PartitionCommit[],
  groupInstanceId?: string,
): TransactionalCommit {
  const offsets = new Map([[topic, partitions.length === 0 ? [at(0, 0, '')] : partitions]])
  return { transaction, member: last!, groupInstanceId, offsets }
}
