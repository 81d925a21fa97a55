import {
  assignPartitions,
  type MemberTasks,
  type RoundPlan,
} from '../../../../src/cluster/scale-out/decisions/assign-partitions.ts'
import type {
  MemberData,
  StandbyLag,
} from '../../../../src/cluster/scale-out/decisions/member-data.ts'
import type { AssignRules } from '../../../../src/cluster/scale-out/decisions/planning-board.ts'

/** Rules under which partitions move at once. */
export const AT_ONCE: AssignRules = {
  standbyReplicas: 0,
  acceptableLag: Number.POSITIVE_INFINITY,
  maxWarmUps: 2,
}

/** The plan of a round of these members. */
export function planOf(
  members: readonly MemberData[],
  options: {
    readonly partitions?: number
    readonly rules?: Partial<AssignRules>
    readonly outsiders?: readonly MemberData[]
  } = {},
): RoundPlan {
  const { partitions = 8, outsiders = [] } = options
  return assignPartitions({
    members,
    outsiders,
    partitions,
    rules: { ...AT_ONCE, ...options.rules },
  })
}

/** Members as they say of themselves after they have done what a plan gave them: released, restored, caught up. */
export function afterRound(
  members: readonly MemberData[],
  { tasks }: RoundPlan,
  generation: number,
): MemberData[] {
  return members.map((member, place) => ({
    ...member,
    generation,
    owned: tasks[place]!.active,
    standbys: followed(tasks[place]!).map((partition) => ({ partition, lag: 0 })),
  }))
}

function followed({ standby, warmUp }: MemberTasks): number[] {
  return [...standby, ...warmUp]
}

/** Rounds until nothing is released or warmed any more, and the members then; at most 100. */
export function settle(
  members: readonly MemberData[],
  options: Parameters<typeof planOf>[1] = {},
): { readonly rounds: number; readonly members: readonly MemberData[]; readonly moves: number } {
  let now = members
  let moves = 0
  for (let rounds = 1; rounds <= 100; rounds++) {
    const plan = planOf(now, options)
    moves += plan.tasks.reduce((sum, { release }) => sum + release.length, 0)
    const before = now
    now = afterRound(now, plan, rounds + 1)
    const isQuiet =
      plan.tasks.every(({ release, warmUp }) => release.length + warmUp.length === 0) &&
      now.every(({ standbys }, place) => isSame(standbys, before[place]!.standbys))
    if (isQuiet) return { rounds, members: now, moves }
  }
  return { rounds: Number.POSITIVE_INFINITY, members: now, moves }
}

function isSame(a: readonly StandbyLag[], b: readonly StandbyLag[]): boolean {
  const partitions = new Set(b.map(({ partition }) => partition))
  return a.length === b.length && a.every(({ partition }) => partitions.has(partition))
}
