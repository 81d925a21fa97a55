import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Random, seededRandom } from '../../../src/core/random.ts'
import { Child } from '../child.ts'
import { attacksOf } from './kinds/all.ts'
import { type DoorCase, type DoorFigures, DoorLane } from './lane.ts'
import { Turns } from './turns.ts'
import { samplesOf, type WorstFigures, worstOf } from './verdict.ts'
import { DoorWorld, doorName, protocolOf, SERVERS } from './world.ts'

/** Time in which memory must be given back. */
const GIVEN_BACK_MS = 30_000

/** Options of the campaign. */
export interface DoorCampaignOptions {
  readonly seed: number
  /** The cases, those of each lane in the order in which they run. */
  readonly cases: readonly DoorCase[]
  /** Whether there is time for one more case. */
  readonly goesOn: () => boolean
  readonly say: (line: string) => void
  /** As in `LaneSettings`. @default 0 */
  readonly retries?: number
  /** As `judge`. @default 0 */
  readonly noiseMs?: number
  /** Time in which memory must be given back, ms. @default 30 s */
  readonly givenBackMs?: number
}

/** Result of the campaign. */
export interface DoorCampaignReport {
  readonly cases: readonly DoorFigures[]
  /** Cases that say whether the promises are kept. */
  readonly judged: number
  /** What the others could not say. */
  readonly unjudged: readonly string[]
  /** Answers that the good clients did not get. */
  readonly lost: number
  readonly worst: WorstFigures
  readonly violations: readonly string[]
}

/** Every door of the campaign, by name. */
export const DOOR_NAMES: readonly string[] = SERVERS.flatMap((server) => [
  doorName(server, false),
  doorName(server, true),
])

/**
 * Every attack on every door, in a random order; those of a door follow each other, and of them those that hold
 * connections, which run beside those of the same port with TLS.
 */
export function allCases(random: Random, canTls: boolean): readonly DoorCase[] {
  return SERVERS.flatMap((server) => {
    const kinds = attacksOf(protocolOf(server))
    const isHolding = (attack: string): boolean => kinds[attack]!.isHolding
    const attacks = shuffled(Object.keys(kinds), random)
    const ordered = [...attacks.filter((one) => !isHolding(one)), ...attacks.filter(isHolding)]
    return ordered.flatMap((attack) =>
      [false, ...(canTls ? [true] : [])].map((isTls) => ({ server, isTls, attack })),
    )
  })
}

/** A copy in a random order. */
export function shuffled<T>(values: readonly T[], random: Random): T[] {
  const left = [...values]
  return values.map(() => left.splice(random.below(left.length), 1)[0]!)
}

/**
 * Runs hostile clients against the ports of real servers, beside a good client of the same port, which must be
 * answered in time, while memory stays within its budget and comes back. Ports with TLS are a lane of their own.
 */
export async function runDoorCampaign(options: DoorCampaignOptions): Promise<DoorCampaignReport> {
  const folder = mkdtempSync(join(tmpdir(), 'weir-doors-'))
  try {
    await using witness = new Child(new URL('witness-process.ts', import.meta.url))
    const { port } = await witness.ask<{ port: number }>('port')
    await using world = new DoorWorld(folder)
    const turns = new Turns()
    const failure = new AbortController()
    const goesOn = (): boolean => !failure.signal.aborted && options.goesOn()
    const lanes = [false, true].map((isTls) =>
      runLane({ ...options, goesOn }, { world, turns, port, isTls }).catch((error: unknown) => {
        failure.abort(error)
        return []
      }),
    )
    const cases = (await Promise.all(lanes)).flat()
    failure.signal.throwIfAborted()
    return reportOf(cases, await world.ended())
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** What the lanes share, and which one it is. */
interface LanePlace {
  readonly world: DoorWorld
  readonly turns: Turns
  /** Of the witness. */
  readonly port: number
  readonly isTls: boolean
}

async function runLane(
  options: DoorCampaignOptions,
  { world, turns, port, isTls }: LanePlace,
): Promise<readonly DoorFigures[]> {
  const own = options.cases.filter((one) => one.isTls === isTls)
  if (own.length === 0) return []
  const { retries = 0, noiseMs = 0, givenBackMs = GIVEN_BACK_MS } = options
  const random = seededRandom(isTls ? options.seed + 1 : options.seed)
  await using lane = new DoorLane({
    ...{ world, turns, witnessPort: port, random, retries, noiseMs, givenBackMs },
  })
  const cases: DoorFigures[] = []
  for (const one of own) {
    if (!options.goesOn()) break
    const figures = await lane.run(one)
    cases.push(figures)
    options.say(lineOf(figures))
  }
  return cases
}

function reportOf(cases: readonly DoorFigures[], ended: readonly string[]): DoorCampaignReport {
  const texts = (of: (figures: DoorFigures) => readonly string[]): readonly string[] =>
    cases.flatMap((one) => of(one).map((text) => `${one.door}: ${one.attack}: ${text}`))
  return {
    cases,
    judged: cases.filter((one) => outcomeOf(one) !== 'not judged').length,
    unjudged: texts(({ unjudged }) => unjudged),
    lost: cases.reduce((sum, { measured }) => sum + measured.attack.lost.length, 0),
    worst: worstOf(cases.map(({ measured }) => measured)),
    violations: [...texts(({ harms, late }) => [...harms, ...late]), ...ended],
  }
}

/** What a case says of its door. */
function outcomeOf({ harms, late, unjudged }: DoorFigures): 'passed' | 'FAILED' | 'not judged' {
  if (harms.length + late.length > 0) return 'FAILED'
  return unjudged.length > 0 ? 'not judged' : 'passed'
}

function lineOf(figures: DoorFigures): string {
  const { door, attack: name, origin, measured } = figures
  const { solo, attack, turnMs, waited, peakBytes, keptBytes, longestMs } = measured
  const machine = `witness ${attack.witness.worstMs.toFixed(0)}, no processor ${waited.worstMs.toFixed(0)}`
  const waits = `worst ${attack.good.worstMs.toFixed(0)} ms (${machine})`
  const alone = `alone ${solo.good.p99Ms.toFixed(1)} of ${samplesOf(solo)}`
  const p99 = `p99 ${attack.good.p99Ms.toFixed(1)} of ${samplesOf(attack)} (${alone})`
  const memory = `peak ${mib(peakBytes)}, kept ${mib(keptBytes)}`
  const life = longestMs === undefined ? '' : `, longest request ${(longestMs / 1000).toFixed(1)} s`
  const why = [...figures.harms, ...figures.late, ...figures.unjudged].join('; ')
  const turn = `longest turn ${turnMs.toFixed(0)} ms`
  const said = `${waits}, ${p99}, ${turn}, ${memory}${life}`
  return `${door}: ${name} from ${origin}: ${said}: ${outcomeOf(figures)} ${why}`.trimEnd()
}

const mib = (bytes: number): string => `${Math.round(bytes / 2 ** 20)} MiB`
