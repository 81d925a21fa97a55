import { expect } from 'vitest'
import type { Random } from '../../../../src/core/random.ts'
import type { Fault } from './faulty-storage.ts'
import { SimulatedWorld, type WorldOptions, type WorldReport } from './simulated-world.ts'

/** Everything that can happen to a call. */
export const FAULTS: readonly Fault[] = [
  'fail-before',
  'fail-after',
  'crash-before',
  'crash-after',
  'pause-before',
  'pause-after',
]

function oneIn(chance: number, random: Random): Fault {
  return random.below(chance) === 0 ? FAULTS[random.below(FAULTS.length)]! : 'none'
}

/** A world in which messages are lost, late or doubled, and calls and processes fail, pause or die. */
export const rough = (seed: number): WorldOptions => ({
  seed,
  steps: 250,
  messageLoss: 0.05,
  crashRate: 0.01,
  fault: (_call, _name, random) => oneIn(25, random),
  subtaskFault: (random) => (random.below(60) === 0 ? 'fail-before' : 'none'),
})

/** A world with a single fault, at one of the coordinators' storage calls. */
const oneFault = (seed: number, call: number, fault: Fault): WorldOptions => ({
  seed,
  steps: 100,
  messageLoss: 0,
  crashRate: 0,
  fault: (at) => (at === call ? fault : 'none'),
  subtaskFault: () => 'none',
})

async function runWithoutViolation(options: WorldOptions, name: string): Promise<WorldReport> {
  const report = await new SimulatedWorld(options).run()
  expect(report.violations, name).toEqual([])
  return report
}

/** Runs the rough worlds of these seeds and expects that no invariant is broken and that they get on. */
export async function expectRoughWorldsKeepInvariants(
  firstSeed: number,
  lastSeed: number,
): Promise<void> {
  let announced = 0
  let generations = 0
  for (let seed = firstSeed; seed <= lastSeed; seed++) {
    const report = await runWithoutViolation(rough(seed), `WEIR_SEED=${seed}`)
    announced += report.announced
    generations += report.generations
  }
  const worlds = lastSeed - firstSeed + 1
  // The mean is above 4 and 3; of 12 worlds with any seeds it is less.
  expect(announced, `WEIR_SEED=${firstSeed}`).toBeGreaterThanOrEqual(2 * worlds)
  expect(generations, `WEIR_SEED=${firstSeed}`).toBeGreaterThanOrEqual(1.5 * worlds)
}

/** The storage calls of the coordinators of a world at which a fault comes. */
export interface FaultedCalls {
  /** Of the world. */
  readonly seed: number
  /** Every call (1), every second one (2) and so on, from one that the seed and the fault say. */
  readonly stride: number
}

/** Runs a world for each of these calls, each with the fault at that call. */
export async function expectFaultIsSurvived(
  fault: Fault,
  { seed, stride }: FaultedCalls,
): Promise<void> {
  const name = `WEIR_SEED=${seed}`
  const { coordinatorCalls } = await runWithoutViolation(oneFault(seed, -1, 'none'), name)
  expect(coordinatorCalls, name).toBeGreaterThan(20)
  const first = (seed + FAULTS.indexOf(fault)) % stride
  for (let call = first; call < coordinatorCalls; call += stride) {
    await runWithoutViolation(oneFault(seed, call, fault), `${fault} at call ${call}, ${name}`)
  }
}
