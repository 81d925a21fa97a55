import { planMoves } from './moves.ts'
import { NO_OWNER, PlanningBoard, type RoundFacts } from './planning-board.ts'
import { planStandbys } from './standbys.ts'

/** Tasks of one member, each list ascending. No partition is in two lists of a member. */
export interface MemberTasks {
  /** Partitions that it owns. */
  readonly active: readonly number[]
  /** Partitions that it owns until it has written a last checkpoint of them. */
  readonly release: readonly number[]
  /** Partitions that it follows. */
  readonly standby: readonly number[]
  /** Partitions that it follows to own them later. */
  readonly warmUp: readonly number[]
}

/** Result of a round: tasks of each member, in the order of the members, and who owns what. */
export interface RoundPlan {
  readonly tasks: readonly MemberTasks[]
  /** Place of the owner of each partition, of one that releases it too; -1 for none. */
  readonly owners: readonly number[]
  /** Places of the members that follow each partition, warmest first. */
  readonly standbys: readonly (readonly number[])[]
}

/**
 * The assignment of a round, a pure function of what the members say: sticky, balanced by capacity, warm
 * first. A partition that a living member runs is never given to another one in the same round, as two members of
 * one generation are not fenced from each other: its owner releases it with a last checkpoint, and it is
 * given when no member claims it any more. A partition without owner goes to the warmest follower, even above
 * its share, else to the member that lacks most; one that every member refused stays without owner.
 * (Kafka Streams' HighAvailabilityTaskAssignor, KIP-441; the two rounds as in its cooperative protocol,
 * KIP-429.)
 */
export function assignPartitions(facts: RoundFacts): RoundPlan {
  const board = new PlanningBoard(facts)
  giveFree(board)
  planMoves(board)
  const standbys = planStandbys(board)
  return { tasks: tasksOf(board, standbys), owners: board.owners, standbys }
}

function giveFree(board: PlanningBoard): void {
  for (let partition = 0; partition < board.partitions; partition++) {
    if (board.claimed[partition]) continue
    const taker = takerOf(board, partition)
    if (taker !== undefined) board.give(partition, taker)
  }
}

function takerOf(board: PlanningBoard, partition: number): number | undefined {
  let best: number | undefined
  for (let place = 0; place < board.members.length; place++) {
    if (!board.mayTake(place, partition)) continue
    if (best === undefined || isBetter(board, partition, place, best)) best = place
  }
  return best
}

/** Whether `a` takes a free partition rather than `b`: warm, lacking one, less to read, less loaded. */
function isBetter(board: PlanningBoard, partition: number, a: number, b: number): boolean {
  const [warmA, warmB] = [board.isWarm(a, partition), board.isWarm(b, partition)]
  if (warmA !== warmB) return warmA
  const [lacksA, lacksB] = [board.deficit(a) > 0, board.deficit(b) > 0]
  if (lacksA !== lacksB) return lacksA
  const [lagA, lagB] = [board.lag(a, partition), board.lag(b, partition)]
  if (lagA !== lagB) return lagA < lagB
  return board.share(a) < board.share(b)
}

function noTasks(): Record<keyof MemberTasks, number[]> {
  return { active: [], release: [], standby: [], warmUp: [] }
}

function tasksOf(board: PlanningBoard, standbys: readonly (readonly number[])[]): MemberTasks[] {
  const tasks = board.members.map(noTasks)
  for (let partition = 0; partition < board.partitions; partition++) {
    const owner = board.owners[partition]!
    const list = board.released.has(partition) ? 'release' : 'active'
    if (owner !== NO_OWNER) tasks[owner]![list].push(partition)
    const target = board.warming.get(partition)
    if (target !== undefined) tasks[target]!.warmUp.push(partition)
    for (const place of standbys[partition]!) {
      if (place !== target) tasks[place]!.standby.push(partition)
    }
  }
  return tasks
}
