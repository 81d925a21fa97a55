import { seededRandom } from '../src/core/random.ts'
import { ATTACKS } from '../test/hostile/attackers.ts'
import {
  type AttackFigures,
  type HostileCampaignReport,
  runHostileCampaign,
} from '../test/hostile/campaign.ts'
import {
  allCases,
  DOOR_NAMES,
  type DoorCampaignReport,
  runDoorCampaign,
  shuffled,
} from '../test/hostile/doors/campaign.ts'
import { DOOR_ATTACKS } from '../test/hostile/doors/kinds/all.ts'
import type { DoorCase } from '../test/hostile/doors/lane.ts'
import { doorName } from '../test/hostile/doors/world.ts'
import type { P99 } from '../test/hostile/verdict.ts'
import { hasOpenssl } from '../test/services/certificates.ts'
import { type DecoderFuzzReport, runDecoderFuzz } from './fuzz/decoders.ts'

/** Names of all attacks: those of the doors, and those of frames on the query port of a job. */
export const HOSTILE_ATTACKS: readonly string[] = [
  ...new Set([...DOOR_ATTACKS, ...Object.keys(ATTACKS)]),
]

/** Names of all doors. */
export const HOSTILE_DOORS: readonly string[] = DOOR_NAMES

/** Options of the campaign. */
export interface HostileOptions {
  readonly seed: number
  /** Time for all of it; undefined for each attack once, as long as that takes. */
  readonly minutes: number | undefined
  /** Rounds of each attack with frames, at most. */
  readonly rounds: number
  /** Only these attacks, without mutated input; undefined for all. */
  readonly attacks: readonly string[] | undefined
  /** Only these doors, without mutated input and without attacks with frames; undefined for all. */
  readonly doors: readonly string[] | undefined
  readonly say: (line: string) => void
}

/** Result of the campaign. */
export interface HostileReport {
  readonly campaign: 'hostile'
  readonly seed: number
  /** `undecided`: no promise is broken, and the machine was too busy to say of each case whether they are kept. */
  readonly verdict: 'passed' | 'failed' | 'undecided'
  /** Attacks that ran, those of them that say something, and how many there are. */
  readonly cases: { readonly run: number; readonly judged: number; readonly all: number }
  /** Answers that good clients did not get. */
  readonly lost: number
  /** The worst figures of all doors. */
  readonly worst: DoorCampaignReport['worst']
  readonly doors: DoorCampaignReport['cases']
  readonly frames: HostileCampaignReport['attacks']
  readonly mutated: DecoderFuzzReport | undefined
  readonly violations: readonly string[]
  /** What could not be judged, and why. */
  readonly unjudged: readonly string[]
}

/** Shares of the time: of mutated input, and until the end of the attacks on doors. */
const MUTATED_SHARE = 0.15
const DOORS_SHARE = 0.8
const MUTATED_MINUTES = 2
/** Minutes of one round of all attacks with frames. */
const FRAMES_MINUTES = 2
/** Rounds after which an attack with frames ends that is far from its limits. */
const LEAST_ROUNDS = 3
/** A case of which a busy machine shows nothing runs once more, alone. */
const RETRIES = 1

/**
 * Hostile clients beside good ones: at every door, with frames on the query port of a job with checkpoints, and
 * mutated input of every decoder.
 */
export async function runHostile(options: HostileOptions): Promise<HostileReport> {
  const { seed, minutes, attacks, say } = options
  const random = seededRandom(seed)
  const startMs = performance.now()
  const elapsed = (): number => (performance.now() - startMs) / 60_000
  const isWhole = attacks === undefined && options.doors === undefined
  const mutated = isWhole
    ? await runDecoderFuzz({
        seed,
        minutes: (minutes ?? MUTATED_MINUTES / MUTATED_SHARE) * MUTATED_SHARE,
        say,
      })
    : undefined
  const cases = allCases(random, await hasOpenssl()).filter(isChosen(options))
  const doors = await runDoorCampaign({
    ...{ seed, say, retries: RETRIES },
    cases: minutes === undefined ? cases : shuffled(cases, random),
    goesOn: () => minutes === undefined || elapsed() < minutes * DOORS_SHARE,
  })
  const names = options.doors === undefined ? Object.keys(ATTACKS) : []
  const chosen = names.filter((name) => attacks?.includes(name) ?? true)
  const frames = await runFrames(options, chosen, elapsed())
  const all = cases.length + chosen.length
  return { campaign: 'hostile', seed, ...hostileResult({ all, doors, frames, mutated }), mutated }
}

/** What the parts of the campaign found. */
export interface HostileParts {
  /** Cases that there are. */
  readonly all: number
  readonly doors: DoorCampaignReport
  readonly frames: HostileCampaignReport | undefined
  readonly mutated: DecoderFuzzReport | undefined
}

/** What the parts say together: a broken promise or a lost answer of any of them is one of the campaign. */
export function hostileResult({ all, doors, frames, mutated }: HostileParts) {
  const ofFrames = frames?.attacks ?? []
  const [run, judged] = [doors.cases.length, doors.judged].map((count) => count + ofFrames.length)
  const violations = [mutated, doors, frames].flatMap((part) => part?.violations ?? [])
  const unbroken = judged === run ? 'passed' : 'undecided'
  return {
    verdict: violations.length === 0 ? unbroken : 'failed',
    cases: { run: run!, judged: judged!, all },
    lost: doors.lost,
    worst: doors.worst,
    doors: doors.cases,
    frames: ofFrames,
    violations,
    unjudged: doors.unjudged,
  } as const
}

/** Which cases of doors run. */
function isChosen({ attacks, doors }: HostileOptions): (one: DoorCase) => boolean {
  return ({ attack, server, isTls }) =>
    (attacks?.includes(attack) ?? true) && (doors?.includes(doorName(server, isTls)) ?? true)
}

/** Attacks with frames in the rest of the time; at least one. */
async function runFrames(
  { seed, minutes, rounds, say }: HostileOptions,
  names: readonly string[],
  elapsed: number,
): Promise<HostileCampaignReport | undefined> {
  if (names.length === 0) return undefined
  const possible = minutes === undefined ? rounds * names.length : attacksIn(minutes - elapsed)
  const attacks = shuffled(names, seededRandom(seed)).slice(0, Math.max(1, possible))
  const most = Math.min(rounds, Math.max(1, Math.floor(possible / attacks.length)))
  return await runHostileCampaign({
    ...{ seed, attacks, attackMs: 1_500, noiseMs: 2, elsewhere: true },
    ...{ rounds: most, leastRounds: Math.min(most, LEAST_ROUNDS) },
    onAttack: (figures) => say(lineOf(figures)),
  })
}

/** Rounds of attacks with frames that fit into some minutes. */
const attacksIn = (minutes: number): number =>
  Math.floor((minutes / FRAMES_MINUTES) * Object.keys(ATTACKS).length)

function lineOf({ attack, prediction, value, verdict, problems, ...ran }: AttackFigures): string {
  const p99 = (what: string, { soloMs, controlMs, attackMs, mostMs, elsewhereMs }: P99): string => {
    const elsewhere = elsewhereMs === undefined ? '' : `, elsewhere ${elsewhereMs.toFixed(1)}`
    return `${what} ${attackMs.toFixed(1)} ms of ${mostMs.toFixed(1)} (solo ${soloMs.toFixed(1)}, control ${controlMs.toFixed(1)}${elsewhere})`
  }
  const figures = `p99 of ${p99('a prediction', prediction)}, of ${p99('a value', value)}`
  const rounds = `${ran.rounds} rounds of ${ran.samples} requests at least`
  return [`${attack}: ${verdict}; ${figures}; ${rounds}`, ...problems].join('\n  ')
}
