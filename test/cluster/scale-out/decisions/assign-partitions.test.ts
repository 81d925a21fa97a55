import { describe, expect, it } from 'vitest'
import type { MemberData } from '../../../../src/cluster/scale-out/decisions/member-data.ts'
import { type Random, seededRandom } from '../../../../src/core/random.ts'
import { commitSeed } from '../../../services/commit-seed.ts'
import { memberWith } from './members.ts'
import { planOf, settle } from './rounds.ts'

const CASES = 300

/** Members with random capacities, claims (each partition by one or none), drains and refusals. */
function randomMembers(random: Random, partitions: number): MemberData[] {
  const count = 1 + random.below(5)
  const owned: number[][] = Array.from({ length: count }, () => [])
  for (let partition = 0; partition < partitions; partition++) {
    const owner = random.below(count + 1)
    owned[owner]?.push(partition)
  }
  return owned.map((owned) =>
    memberWith({ owned, capacity: 1 + random.below(3), isDraining: random.below(6) === 0 }),
  )
}

/** Every way to give numbers of partitions to members, each less than one from its share. */
function balancedSplits(capacities: readonly number[], partitions: number): number[][] {
  const total = capacities.reduce((sum, capacity) => sum + capacity, 0)
  const splits = capacities.reduce<number[][]>(
    (begun, capacity) => {
      const share = (partitions * capacity) / total
      const numbers = Array.from({ length: partitions + 1 }, (_, n) => n)
      const fitting = numbers.filter((n) => Math.abs(n - share) < 1 - 1e-9)
      return begun.flatMap((split) => fitting.map((n) => [...split, n]))
    },
    [[]],
  )
  return splits.filter((split) => split.reduce((sum, n) => sum + n, 0) === partitions)
}

/** Fewest partitions that leave their owners in any balanced split, by trying each. */
function fewestMoves(members: readonly MemberData[], partitions: number): number {
  const capacities = members.map(({ capacity, isDraining }) => (isDraining ? 0 : capacity))
  const moves = balancedSplits(capacities, partitions).map((split) =>
    split.reduce((sum, n, place) => sum + Math.max(0, members[place]!.owned.length - n), 0),
  )
  return Math.min(...moves)
}

describe('assignPartitions', () => {
  it('gives each partition of a first start to one member, evenly by capacity', () => {
    const plan = planOf([memberWith(), memberWith({ capacity: 2 }), memberWith()])
    expect(plan.tasks.map(({ active }) => active.length)).toEqual([2, 4, 2])
    expect(plan.tasks.flatMap(({ active }) => active).sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
    expect(plan.owners).not.toContain(-1)
  })

  it('takes nothing from living members for a dead one, and gives only what that one had', () => {
    const plan = planOf([memberWith({ owned: [0, 1, 2] }), memberWith({ owned: [3, 4] })])
    expect(plan.tasks[0]!.active).toEqual(expect.arrayContaining([0, 1, 2]))
    expect(plan.tasks[1]!.active).toEqual(expect.arrayContaining([3, 4]))
    expect(plan.tasks.map(({ active }) => active.length)).toEqual([4, 4])
    expect(plan.tasks.flatMap(({ release }) => release)).toEqual([])
  })

  it('lets the owner release first and gives in the next round', () => {
    const running = memberWith({ owned: [0, 1, 2, 3, 4, 5, 6, 7] })
    const first = planOf([running, memberWith()])
    expect(first.tasks[0]).toMatchObject({ active: [0, 1, 2, 3], release: [4, 5, 6, 7] })
    expect(first.tasks[1]).toMatchObject({ active: [], release: [] })
    expect(first.owners).toEqual([0, 0, 0, 0, 0, 0, 0, 0])
    const second = planOf([memberWith({ owned: [0, 1, 2, 3] }), memberWith()])
    expect(second.tasks[1]!.active).toEqual([4, 5, 6, 7])
  })

  it('gives a leaving member nothing, and takes all it has', () => {
    const leaving = memberWith({ owned: [0, 1, 2, 3], isDraining: true })
    const plan = planOf([leaving, memberWith({ owned: [4, 5, 6, 7] })])
    expect(plan.tasks[0]).toMatchObject({ active: [], release: [0, 1, 2, 3] })
    const alone = planOf([memberWith({ owned: [0, 1], isDraining: true })])
    expect(alone.tasks[0]).toMatchObject({ active: [], release: [0, 1] })
    expect(alone.owners.slice(2)).toEqual([-1, -1, -1, -1, -1, -1])
  })

  it('lets the newer generation keep a partition that two claim; the other has it in no list', () => {
    const zombie = memberWith({ owned: [0, 1, 2, 3], generation: 4 })
    const owner = memberWith({ owned: [3, 4, 5, 6, 7], generation: 6 })
    const plan = planOf([zombie, owner])
    expect(plan.owners[3]).toBe(1)
    expect([...plan.tasks[0]!.active, ...plan.tasks[0]!.release]).toEqual([0, 1, 2])
  })

  it('leaves a partition that two claim in one generation to neither, and to no other one in this round', () => {
    const plan = planOf([
      memberWith({ owned: [0, 1, 2, 3], generation: 4 }),
      memberWith({ owned: [3, 4, 5, 6, 7], generation: 4 }),
      memberWith(),
    ])
    expect(plan.owners[3]).toBe(-1)
    expect(plan.tasks.flatMap((t) => [...t.active, ...t.release])).not.toContain(3)
  })

  it('does not give away what a member that takes no part may still run', () => {
    const plan = planOf([memberWith()], { outsiders: [memberWith({ owned: [2] })] })
    expect(plan.tasks[0]!.active).toEqual([0, 1, 3, 4, 5, 6, 7])
  })

  it('gives a partition to no member that could not restore it until the time has come', () => {
    const refused = [{ partition: 0, retryAfterMs: 5_000 }]
    const both = [memberWith({ refused }), memberWith({ owned: [1, 2, 3, 4, 5, 6, 7] })]
    expect(planOf(both).owners[0]).toBe(1)
    expect(planOf([memberWith({ refused }), memberWith({ refused })]).owners[0]).toBe(-1)
    const later = memberWith({ refused: [{ partition: 0, retryAfterMs: 0 }] })
    expect(planOf([later]).owners[0]).toBe(0)
  })

  it('is balanced, sticky, and moves no more partitions than the best of all balanced splits', () => {
    const random = seededRandom(commitSeed())
    let moved = 0
    for (let n = 0; n < CASES; n++) {
      const partitions = 1 + random.below(9)
      const members = randomMembers(random, partitions)
      if (members.every(({ isDraining }) => isDraining)) continue
      const plan = planOf(members, { partitions })
      const released = plan.tasks.flatMap(({ release }) => release)
      expect(released).toHaveLength(fewestMoves(members, partitions))
      moved += released.length
      for (const [place, { owned }] of members.entries()) {
        const { active, release } = plan.tasks[place]!
        expect([...active, ...release]).toEqual(expect.arrayContaining([...owned]))
      }
    }
    expect(moved).toBeGreaterThan(CASES / 2)
  })

  it('settles within three rounds of any state, balanced, and then changes nothing', () => {
    const random = seededRandom(commitSeed() + 1)
    for (let n = 0; n < CASES; n++) {
      const partitions = 1 + random.below(24)
      const begun = randomMembers(random, partitions)
      if (begun.every(({ isDraining }) => isDraining)) continue
      const { rounds, members } = settle(begun, { partitions })
      expect(rounds).toBeLessThanOrEqual(3)
      const capacities = members.map((m) => (m.isDraining ? 0 : m.capacity))
      const numbers = members.map(({ owned }) => owned.length)
      const total = capacities.reduce((sum, capacity) => sum + capacity, 0)
      for (const [place, capacity] of capacities.entries()) {
        expect(Math.abs(numbers[place]! - (partitions * capacity) / total)).toBeLessThan(1)
      }
      expect(planOf(members, { partitions }).tasks.map(({ active }) => active)).toEqual(
        members.map(({ owned }) => owned),
      )
    }
  })

  it('never gives a partition that one member claims to another one', () => {
    const random = seededRandom(commitSeed() + 2)
    for (let n = 0; n < CASES; n++) {
      const members = Array.from({ length: 1 + random.below(4) }, () =>
        memberWith({
          owned: [0, 1, 2, 3, 4, 5, 6, 7].filter(() => random.below(3) === 0),
          generation: random.below(3),
          isDraining: random.below(5) === 0,
        }),
      )
      for (const [place, { active }] of planOf(members).tasks.entries()) {
        const others = members.filter((_, other) => other !== place).map(({ owned }) => owned)
        for (const partition of active) {
          if (others.flat().includes(partition)) {
            expect(members[place]!.owned).toContain(partition)
          }
        }
      }
    }
  })
})

describe('warm-up', () => {
  const rules = { acceptableLag: 100, maxWarmUps: 2 }
  const all = [0, 1, 2, 3, 4, 5, 6, 7]

  it('moves a partition of a living owner only when the target is warm, few at once', () => {
    const running = memberWith({ owned: all })
    const cold = planOf([running, memberWith()], { rules })
    expect(cold.tasks[0]).toMatchObject({ active: all, release: [] })
    expect(cold.tasks[1]!.warmUp).toEqual([4, 5])
    const standbys = [
      { partition: 4, lag: 100 },
      { partition: 5, lag: 101 },
    ]
    const next = planOf([running, memberWith({ standbys })], { rules })
    expect(next.tasks[0]!.release).toEqual([4])
    expect(next.tasks[1]!.warmUp).toEqual([4, 5, 6])
  })

  it('goes on with the warm-up that has read most when there is a choice', () => {
    const standbys = [
      { partition: 0, lag: 900 },
      { partition: 7, lag: 5_000 },
    ]
    const plan = planOf([memberWith({ owned: all }), memberWith({ standbys })], { rules })
    expect(plan.tasks[1]!.warmUp).toEqual([0, 7])
    const small = memberWith({
      standbys: [
        { partition: 0, lag: 900 },
        { partition: 3, lag: 200 },
      ],
    })
    const one = planOf([memberWith({ owned: all, capacity: 7 }), small], { rules })
    expect(one.tasks[1]!.warmUp).toEqual([3])
  })

  it('gives what a dead member had to the warmest follower first, above its share too', () => {
    const follower = (owned: number[], lag: number): MemberData =>
      memberWith({ owned, standbys: [5, 6, 7].map((partition) => ({ partition, lag })) })
    const cold = memberWith({ owned: [0, 1, 4] })
    const one = planOf([cold, follower([2, 3, 4], 90)], { rules })
    expect(one.owners.slice(5)).toEqual([1, 1, 1])
    const two = planOf([cold, follower([2], 90), follower([3], 10)], { rules })
    expect(two.owners.slice(5)).toEqual([2, 1, 1])
    const none = planOf([cold, follower([2], 900), follower([3], 500)], { rules })
    expect(none.owners.slice(5)).toEqual([2, 1, 1])
  })

  it('keeps a leaving member until those who follow it are warm', () => {
    const leaving = memberWith({ owned: [4, 5, 6, 7], isDraining: true })
    const standbys = [
      { partition: 5, lag: 0 },
      { partition: 6, lag: 500 },
    ]
    const plan = planOf([leaving, memberWith({ owned: [0, 1, 2, 3], standbys })], { rules })
    expect(plan.tasks[0]).toMatchObject({ active: [4, 6, 7], release: [5] })
  })

  it('comes to the same balance in as many rounds as warm-ups need', () => {
    const { rounds, members, moves } = settle([memberWith({ owned: all }), memberWith()], { rules })
    expect(members.map(({ owned }) => owned.length)).toEqual([4, 4])
    expect(moves).toBe(4)
    expect(rounds).toBeLessThanOrEqual(5)
  })
})

describe('standbys', () => {
  const rules = { standbyReplicas: 1, acceptableLag: 100, maxWarmUps: 2 }

  it('follow each partition in as many members as asked for, never in the owner, and evenly', () => {
    const members = [
      [0, 1, 2],
      [3, 4, 5],
      [6, 7],
    ].map((owned) => memberWith({ owned }))
    const plan = planOf(members, { rules })
    for (const [partition, places] of plan.standbys.entries()) {
      expect(places).toHaveLength(1)
      expect(places).not.toContain(plan.owners[partition])
    }
    expect(plan.tasks.map(({ standby }) => standby.length).sort()).toEqual([2, 3, 3])
    const two = planOf(members, { rules: { ...rules, standbyReplicas: 3 } })
    expect(two.standbys.map((places) => places.length)).toEqual(Array(8).fill(2))
  })

  it('stay where they are, and the old one of a partition stays until the new one is warm', () => {
    const a = memberWith({ owned: [0, 1, 2, 3] })
    const b = memberWith({
      owned: [4, 5, 6, 7],
      standbys: [0, 1, 2, 3].map((partition) => ({ partition, lag: 0 })),
    })
    const plan = planOf([a, b, memberWith()], { rules })
    expect(plan.tasks[1]!.standby).toEqual([0, 1, 2, 3])
    const settled = settle([a, b, memberWith()], { rules })
    for (const { standbys } of settled.members) expect(standbys.length).toBeLessThanOrEqual(3)
    expect(planOf(settled.members, { rules }).tasks.map(({ standby }) => standby)).toEqual(
      settled.members.map(({ standbys }) => standbys.map(({ partition }) => partition)),
    )
  })
})
