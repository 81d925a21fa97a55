import { describe, expect, it } from 'vitest'
import type { AssignRules } from '../../../../../src/cluster/scale-out/decisions/planning-board.ts'
import { commitSeed } from '../../../../services/commit-seed.ts'
import { AT_ONCE } from '../rounds.ts'
import type { Decisions } from './decisions.ts'
import { FORGETS_OWNER_BEFORE_LAST, NOT_STICKY } from './mutants.ts'
import type { SimulatedProcess } from './simulated-process.ts'
import { SimulatedWorld, TIMES } from './simulated-world.ts'

const WARM: AssignRules = { standbyReplicas: 1, acceptableLag: 100, maxWarmUps: 2 }
/** Two heartbeats until all have joined, and the messages of a round. */
const ROUND_MS = 2 * TIMES.heartbeatMs + 100

/** Three processes with four of twelve partitions each, settled. */
function threeProcesses(
  options: {
    readonly areStatic?: boolean
    readonly rules?: AssignRules
    readonly decisions?: Decisions
    readonly longestRestoreMs?: number
  } = {},
): { world: SimulatedWorld; first: SimulatedProcess } {
  const { areStatic = false, rules = AT_ONCE, ...rest } = options
  const world = new SimulatedWorld({
    seed: commitSeed(),
    partitions: 12,
    areStatic,
    rules,
    ...rest,
  })
  const [first] = ['a', 'b', 'c'].map((name) => world.add(name))
  world.run(30_000)
  expect(world.alive.map(({ load }) => load)).toEqual([4, 4, 4])
  world.starts.length = 0
  return { world, first: first! }
}

/** Starts of partitions by process name. */
function startsOf(world: SimulatedWorld): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { id } of world.starts) {
    const name = id.split('#')[0]!
    counts[name] = (counts[name] ?? 0) + 1
  }
  return counts
}

/** Silences of the partitions that were silent at all, longest first. */
function silent(silences: readonly number[]): number[] {
  return silences.filter((ms) => ms > 0).sort((a, b) => b - a)
}

describe('one change of a settled group', () => {
  it('a process that joins gets its share; nothing else stops, and each partition moves once', () => {
    const { world } = threeProcesses()
    world.add('d')
    const silences = silent(world.silences(30_000))
    expect(world.alive.map(({ load }) => load)).toEqual([3, 3, 3, 3])
    expect(startsOf(world)).toEqual({ d: 3 })
    expect(silences).toHaveLength(3)
    expect(silences[0]).toBeLessThan(TIMES.commitMs + ROUND_MS + TIMES.longestRestoreMs)
    expect(world.found).toEqual([])
  })

  it('with standbys a partition moves only when its new owner is warm, and is not silent for a restore', () => {
    const { world } = threeProcesses({ rules: WARM })
    world.add('d')
    const silences = silent(world.silences(60_000))
    expect(world.alive.map(({ load }) => load)).toEqual([3, 3, 3, 3])
    expect(startsOf(world)).toEqual({ d: 3 })
    expect(silences[0]).toBeLessThan(TIMES.commitMs + ROUND_MS + 100)
  })

  it('a dead process that its peers remove is replaced after one round; only its partitions move', () => {
    const { world, first } = threeProcesses()
    first.kill()
    world.queue.after(300, () => world.coordinator.leave(first.memberId))
    const silences = silent(world.silences(30_000))
    expect(startsOf(world)).toEqual({ b: 2, c: 2 })
    expect(silences).toHaveLength(4)
    expect(silences[0]).toBeLessThan(300 + ROUND_MS + TIMES.longestRestoreMs)
  })

  it('a dead process that no peer removes is replaced after its session, warm standbys first', () => {
    const { world, first } = threeProcesses({ rules: WARM })
    first.kill()
    const silences = silent(world.silences(60_000))
    expect(silences).toHaveLength(4)
    expect(silences[0]).toBeLessThan(TIMES.sessionMs + ROUND_MS + 100)
    expect(world.found).toEqual([])
  })

  it('a process that ends hands over once, and no process waits for its session', () => {
    const { world, first } = threeProcesses()
    first.terminate(60_000)
    const silences = silent(world.silences(30_000))
    expect(first.hasEnded).toBe(true)
    expect(startsOf(world)).toEqual({ b: 2, c: 2 })
    expect(silences[0]).toBeLessThan(TIMES.commitMs + ROUND_MS + TIMES.longestRestoreMs)
  })

  it('a process that flaps under its group.instance.id moves nothing of the others', () => {
    const { world, first } = threeProcesses({ areStatic: true })
    first.kill()
    world.queue.after(500, () => world.add('a'))
    const silences = silent(world.silences(30_000))
    expect(startsOf(world)).toEqual({ a: 4 })
    expect(silences).toHaveLength(4)
    expect(silences[0]).toBeLessThan(500 + TIMES.longestRestoreMs + 100)
  })

  it('a process that is stopped for longer than its session loses its partitions, and gets as many when it returns', () => {
    const { world, first } = threeProcesses()
    first.pause()
    world.queue.after(9_000, () => first.resume())
    const silences = silent(world.silences(40_000))
    expect(world.alive.map(({ load }) => load)).toEqual([4, 4, 4])
    expect(silences[0]).toBeLessThan(TIMES.sessionMs + ROUND_MS + TIMES.longestRestoreMs)
    expect(startsOf(world)).toEqual({ a: 4, b: 2, c: 2 })
    expect(world.found).toEqual([])
  })

  it('Kafka that is away for longer than a session takes nothing from a process', () => {
    const { world } = threeProcesses()
    for (const name of ['a', 'b', 'c']) world.cut.add(name)
    world.run(4_000)
    world.cut.clear()
    world.run(20_000)
    expect(world.starts).toEqual([])
    expect(world.found).toEqual([])
  })

  it('an assignment that is not sticky is found: more moves than must be', () => {
    const { world } = threeProcesses({ decisions: NOT_STICKY })
    world.add('d')
    world.run(30_000)
    expect(world.starts.length).toBeGreaterThan(3)
  })

  it.each([
    ['waits for the lease of the one that was removed by mistake', undefined, 0],
    ['is found when it forgets that lease', FORGETS_OWNER_BEFORE_LAST, 1],
  ])('the third owner within a session %s', (_, decisions, least) => {
    const { world, first } = threeProcesses({
      longestRestoreMs: 150,
      ...(decisions === undefined ? {} : { decisions }),
    })
    world.cut.add('a')
    world.coordinator.leave(first.memberId)
    world.run(2_000)
    for (const process of world.alive.slice(1)) process.terminate(0)
    world.add('d')
    world.run(8_000)
    const live = world.found.filter((violation) => violation.includes('both answer live'))
    expect(live.length).toBeGreaterThanOrEqual(least)
    if (decisions === undefined) expect(world.found).toEqual([])
  })
})
