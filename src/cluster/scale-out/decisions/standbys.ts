import { NO_OWNER, type PlanningBoard } from './planning-board.ts'

/**
 * Places of the members that follow each partition, warmest first: `standbyReplicas` of them if there are
 * so many members besides the owner, spread by capacity. Who follows a partition goes on as long as it has
 * no more than its share. A follower above its share leaves only when those who replace it are warm.
 */
export function planStandbys(board: PlanningBoard): number[][] {
  const { standbyReplicas } = board.rules
  const chosen: number[][] = Array.from({ length: board.partitions }, () => [])
  if (standbyReplicas === 0) return chosen
  const followers = followersOf(board)
  const loads = board.members.map(() => 0)
  const plan = { chosen, loads, limits: shares(board) }
  keepFollowers(board, plan, followers)
  fillUp(board, plan)
  level(board, plan)
  for (const [partition, places] of chosen.entries()) {
    if (places.every((place) => board.isWarm(place, partition))) continue
    const warm = followers[partition]!.filter(
      (place) => board.isWarm(place, partition) && !places.includes(place),
    )
    places.push(...warm.slice(0, standbyReplicas))
  }
  for (const [partition, places] of chosen.entries()) {
    places.sort((a, b) => compareLags(board.lag(a, partition), board.lag(b, partition)) || a - b)
  }
  return chosen
}

/** Members that follow each partition now and may own it, warmest first. */
function followersOf(board: PlanningBoard): number[][] {
  const followers: number[][] = Array.from({ length: board.partitions }, () => [])
  for (const [place, { standbys }] of board.members.entries()) {
    for (const { partition } of standbys) {
      if (mayFollow(board, place, partition)) followers[partition]!.push(place)
    }
  }
  for (const [partition, places] of followers.entries()) {
    places.sort((a, b) => compareLags(board.lag(a, partition), board.lag(b, partition)) || a - b)
  }
  return followers
}

/** Followers chosen so far for each partition; their number and the most of each member. */
interface StandbyPlan {
  readonly chosen: number[][]
  readonly loads: number[]
  readonly limits: readonly number[]
}

function keepFollowers(
  board: PlanningBoard,
  { chosen, loads, limits }: StandbyPlan,
  followers: readonly (readonly number[])[],
): void {
  for (const [partition, places] of followers.entries()) {
    for (const place of places) {
      if (chosen[partition]!.length === board.rules.standbyReplicas) break
      if (loads[place]! >= limits[place]!) continue
      chosen[partition]!.push(place)
      loads[place]! += 1
    }
  }
}

function fillUp(board: PlanningBoard, { chosen, loads }: StandbyPlan): void {
  const share = (place: number): number => loads[place]! / board.members[place]!.capacity
  for (const [partition, places] of chosen.entries()) {
    while (places.length < board.rules.standbyReplicas) {
      let best: number | undefined
      for (let place = 0; place < board.members.length; place++) {
        if (!mayFollow(board, place, partition) || places.includes(place)) continue
        if (best === undefined || share(place) < share(best)) best = place
      }
      if (best === undefined) break
      places.push(best)
      loads[best]! += 1
    }
  }
}

/** Replaces members above their limit, which were the only ones left for a partition, where others have room. */
function level(board: PlanningBoard, { chosen, loads, limits }: StandbyPlan): void {
  for (const [partition, places] of chosen.entries()) {
    const over = places.findIndex((place) => loads[place]! > limits[place]!)
    if (over < 0) continue
    const other = limits.findIndex(
      (limit, place) =>
        loads[place]! < limit && mayFollow(board, place, partition) && !places.includes(place),
    )
    if (other < 0) continue
    loads[places[over]!]! -= 1
    loads[other]! += 1
    places[over] = other
  }
}

function shares(board: PlanningBoard): number[] {
  const capacities = board.members.map(({ capacity, isDraining }) => (isDraining ? 0 : capacity))
  const total = capacities.reduce((sum, capacity) => sum + capacity, 0)
  const tasks = board.partitions * board.rules.standbyReplicas
  return capacities.map((capacity) => (total === 0 ? 0 : Math.ceil((tasks * capacity) / total)))
}

function mayFollow(board: PlanningBoard, place: number, partition: number): boolean {
  const owner = board.owners[partition]!
  return owner !== NO_OWNER && owner !== place && board.mayTake(place, partition)
}

/** Order of lags, of which several may be infinite. */
function compareLags(a: number, b: number): number {
  return a === b ? 0 : a - b
}
