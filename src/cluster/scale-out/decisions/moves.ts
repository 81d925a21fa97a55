import { ascending } from './partition-list.ts'
import { NO_OWNER, type PlanningBoard } from './planning-board.ts'

/**
 * Plans which partitions leave members that have too many, and to whom: those of which a member that lacks
 * some has read most go first, so a warm-up in progress is not given up for another one. A move whose target
 * is warm is released in this round; otherwise the target warms up, at most `maxWarmUps` at once, and the
 * owner keeps it. What a leaving member owns and no other may take is released at once.
 */
export function planMoves(board: PlanningBoard): void {
  for (const [partition, target] of followedMoves(board)) {
    const isWanted = board.deficit(target) > 0 && board.mayTake(target, partition)
    if (isWanted && isSurplus(board, partition)) board.plan(partition, target)
  }
  for (const partition of surplusPartitions(board)) {
    if (!isSurplus(board, partition)) continue
    const target = emptiest(board, partition)
    if (target !== undefined) board.plan(partition, target)
    else if (isLeaving(board, partition)) board.released.add(partition)
  }
  settleMoves(board)
}

/** Moves to members that follow the partition already, those with the smallest lag first. */
function followedMoves(board: PlanningBoard): [partition: number, target: number][] {
  const moves: { partition: number; target: number; lag: number }[] = []
  for (const [target, { standbys }] of board.members.entries()) {
    if (board.deficit(target) <= 0) continue
    for (const { partition, lag } of standbys) moves.push({ partition, target, lag })
  }
  moves.sort((a, b) => a.lag - b.lag || a.partition - b.partition || a.target - b.target)
  return moves.map(({ partition, target }) => [partition, target])
}

/** Partitions of members with a surplus, those with the highest number first: that number alone decides among equals. */
function surplusPartitions(board: PlanningBoard): number[] {
  return board.owners
    .map((owner, partition) => ({ owner, partition }))
    .filter(({ owner }) => owner !== NO_OWNER && board.deficit(owner) < 0)
    .map(({ partition }) => partition)
    .reverse()
}

function isSurplus(board: PlanningBoard, partition: number): boolean {
  const owner = board.owners[partition]!
  return owner !== NO_OWNER && board.deficit(owner) < 0 && !board.targets.has(partition)
}

/**
 * The member that lacks most and may take the partition; for one of a leaving member also one that has its
 * share already. Undefined when there is none.
 */
function emptiest(board: PlanningBoard, partition: number): number | undefined {
  const owner = board.owners[partition]!
  const hasToGo = board.members[owner]!.isDraining
  let best: number | undefined
  for (let place = 0; place < board.members.length; place++) {
    const isWanted = board.deficit(place) > 0 || hasToGo
    if (place === owner || !isWanted || !board.mayTake(place, partition)) continue
    if (best === undefined || isEmptier(board, place, best)) best = place
  }
  return best
}

function isEmptier(board: PlanningBoard, a: number, b: number): boolean {
  const [lacksA, lacksB] = [board.deficit(a) > 0, board.deficit(b) > 0]
  return lacksA === lacksB ? board.share(a) < board.share(b) : lacksA
}

function isLeaving(board: PlanningBoard, partition: number): boolean {
  return board.members[board.owners[partition]!]!.isDraining && board.isRunning(partition)
}

function settleMoves(board: PlanningBoard): void {
  const started = (partition: number): boolean =>
    Number.isFinite(board.lag(board.targets.get(partition)!, partition))
  const order = [...board.targets.keys()].sort(ascending)
  let warmUps = 0
  for (const partition of [...order.filter(started), ...order.filter((p) => !started(p))]) {
    const target = board.targets.get(partition)!
    if (board.isWarm(target, partition)) {
      // What was given in this round runs nowhere yet.
      if (!board.isRunning(partition)) board.owners[partition] = target
      else {
        board.released.add(partition)
        if (started(partition)) board.warming.set(partition, target)
      }
    } else if (warmUps < board.rules.maxWarmUps) {
      warmUps++
      board.warming.set(partition, target)
    }
  }
}
