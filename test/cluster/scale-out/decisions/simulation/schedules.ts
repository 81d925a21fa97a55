import type { Random } from '../../../../../src/core/random.ts'
import { seededRandom } from '../../../../../src/core/random.ts'
import { AT_ONCE } from '../rounds.ts'
import type { Decisions } from './decisions.ts'
import type { SimulatedProcess } from './simulated-process.ts'
import { SimulatedWorld, TIMES, type WorldFacts } from './simulated-world.ts'

/** Time for which faults come, in virtual ms. */
const FAULTS_MS = 60_000
/**
 * Time in which all partitions must be served again after the last fault: a session for the dead that no peer
 * removed, a round that waits for its slowest member, a failed restore that is tried again, and two restores.
 */
const SETTLE_MS = 2 * TIMES.sessionMs + 2 * TIMES.rebalanceMs + 4_000 + 2 * TIMES.longestRestoreMs
/** Time in which warm-ups and moves end. */
const BALANCE_MS = 30_000
/** Time in which nothing may change any more. */
const QUIET_MS = 15_000

/** What happened in a schedule. */
export interface ScheduleReport {
  readonly seed: number
  readonly violations: readonly string[]
  readonly faults: number
  readonly rounds: number
  readonly commits: number
  readonly starts: number
}

/** Runs random faults against the decisions, then waits for calm. A seed gives the same run each time. */
export function runSchedule(seed: number, decisions?: Decisions): ScheduleReport {
  const random = seededRandom(seed)
  const facts: WorldFacts = {
    seed: seed + 1_000_003,
    partitions: 3 + random.below(10),
    areStatic: random.below(2) === 0,
    failingRestores: random.below(2) === 0 ? 0 : 0.05,
    rules: {
      ...AT_ONCE,
      standbyReplicas: random.below(3) === 0 ? 1 : 0,
      acceptableLag: random.below(2) === 0 ? Number.POSITIVE_INFINITY : 100,
    },
    ...(decisions === undefined ? {} : { decisions }),
  }
  const schedule = new Schedule(new SimulatedWorld(facts), random)
  return { seed, ...schedule.run() }
}

class Schedule {
  private readonly world: SimulatedWorld
  private readonly random: Random
  private readonly violations: string[] = []
  private names = 0
  private faults = 0

  constructor(world: SimulatedWorld, random: Random) {
    this.world = world
    this.random = random
  }

  run(): Omit<ScheduleReport, 'seed'> {
    const { world, random } = this
    const processes = 1 + random.below(5)
    for (let n = 0; n < processes; n++) this.add()
    world.run(2_000)
    while (world.queue.nowMs < FAULTS_MS) {
      this.fault()
      world.run(random.next() * 8_000)
    }
    world.calm()
    if (world.alive.every(({ isLeaving }) => isLeaving)) this.add()
    this.settle()
    const violations = [...world.found, ...this.violations]
    const { rounds } = world.coordinator
    const { commits } = world.pointers
    return { violations, faults: this.faults, rounds, commits, starts: world.starts.length }
  }

  /** All is served in time, balanced, and then stays as it is. */
  private settle(): void {
    const { world } = this
    if (!Number.isFinite(world.untilServed(SETTLE_MS))) {
      this.violations.push(`partitions ${world.unserved.join()} have no owner after the last fault`)
    }
    world.run(BALANCE_MS)
    const { rounds } = world.coordinator
    const starts = world.starts.length
    world.run(QUIET_MS)
    if (world.coordinator.rounds !== rounds) this.violations.push('rounds go on without a change')
    if (world.starts.length !== starts) this.violations.push('moves go on without a change')
    const total = world.alive.reduce((sum, { facts }) => sum + facts.capacity, 0)
    for (const { facts, load } of world.alive) {
      const share = (world.partitions * facts.capacity) / total
      if (Math.abs(load - share) >= 1) {
        this.violations.push(`${facts.id} has ${load} partitions, its share is ${share}`)
      }
    }
    if (world.unserved.length > 0) this.violations.push('a partition has no owner at the end')
  }

  private add(name = `p${this.names++}`): void {
    this.world.add(name, 1 + this.random.below(2))
  }

  private fault(): void {
    const { world, random } = this
    const { alive } = world
    const kind = random.below(8)
    if (alive.length === 0 || (kind === 0 && alive.length < 6)) {
      this.add()
      return
    }
    const victim = alive[random.below(alive.length)]!
    this.faults++
    if (kind <= 2) this.kill(victim)
    else if (kind === 3) this.terminate(victim)
    else if (kind === 4) this.pause(victim)
    else if (kind === 5) world.coordinator.leave(victim.memberId)
    else if (kind === 6) this.cut(victim)
    else this.badNetwork()
  }

  /** Some are removed by their peers, some return under their name, soon or late. */
  private kill(victim: SimulatedProcess): void {
    const { world, random } = this
    const { memberId, facts } = victim
    victim.kill()
    if (random.below(2) === 0) world.queue.after(200, () => world.coordinator.leave(memberId))
    if (random.below(4) > 0) this.laterInFaults(random.next() * 12_000, () => this.add(facts.name))
  }

  private terminate(victim: SimulatedProcess): void {
    victim.terminate(this.random.next() * 15_000)
    this.laterInFaults(this.random.next() * 20_000, () => this.add(victim.facts.name))
  }

  /** A paused process may be removed, and replaced under its name. */
  private pause(victim: SimulatedProcess): void {
    const { world, random } = this
    victim.pause()
    world.queue.after(random.next() * 20_000, () => victim.resume())
    const { memberId } = victim
    if (random.below(3) === 0) world.queue.after(300, () => world.coordinator.leave(memberId))
    if (random.below(4) === 0) this.laterInFaults(500, () => this.add(victim.facts.name))
  }

  private cut(victim: SimulatedProcess): void {
    const { world, random } = this
    world.cut.add(victim.facts.name)
    world.queue.after(random.next() * 15_000, () => world.cut.delete(victim.facts.name))
  }

  private badNetwork(): void {
    const { world, random } = this
    world.loss = random.next() * 0.3
    world.longestDelayMs = random.next() * 2_500
    this.laterInFaults(random.next() * 8_000, () => {
      world.loss = 0
      world.longestDelayMs = 5
    })
  }

  private laterInFaults(delayMs: number, act: () => void): void {
    const { queue } = this.world
    queue.after(delayMs, () => {
      if (queue.nowMs < FAULTS_MS) act()
    })
  }
}
