import { seededRandom } from '../src/core/random.ts'
import { ATTACKS } from '../test/hostile/attackers.ts'
import {
  type AttackFigures,
  type HostileCampaignReport,
  runHostileCampaign,
} from '../test/hostile/campaign.ts'
import {
  allCases,
  type DoorCampaignReport,
  runDoorCampaign,
  shuffled,
} from '../test/hostile/doors/campaign.ts'
import { DOOR_ATTACKS } from '../test/hostile/doors/kinds/all.ts'
import type { P99 } from '../test/hostile/verdict.ts'
import { hasOpenssl } from '../test/services/certificates.ts'
import { type DecoderFuzzReport, runDecoderFuzz } from './fuzz/decoders.ts'

/** Names of all attacks: those of the doors, and those of frames on the query port of a job. */
export const HOSTILE_ATTACKS: readonly string[] = [
  ...new Set([...DOOR_ATTACKS, ...Object.keys(ATTACKS)]),
]

/** Options of the campaign. */
export interface HostileOptions {
  readonly seed: number
  /** Time for all of it; undefined for each attack once, as long as that takes. */
  readonly minutes: number | undefined
  /** Rounds of each attack with frames. */
  readonly rounds: number
  /** Only these attacks, without mutated input; undefined for all. */
  readonly attacks: readonly string[] | undefined
  readonly say: (line: string) => void
}

/** Result of the campaign. */
export interface HostileReport {
  readonly campaign: 'hostile'
  readonly seed: number
  readonly verdict: 'passed' | 'failed'
  /** Attacks that ran, and how many there are. */
  readonly cases: { readonly run: number; readonly all: number }
  /** Answers that good clients did not get. */
  readonly lost: number
  /** The worst figures of all doors. */
  readonly worst: DoorCampaignReport['worst']
  readonly doors: DoorCampaignReport['cases']
  readonly frames: HostileCampaignReport['attacks']
  readonly mutated: DecoderFuzzReport | undefined
  readonly violations: readonly string[]
}

/** Shares of the time: of mutated input, and until the end of the attacks on doors. */
const MUTATED_SHARE = 0.15
const DOORS_SHARE = 0.8
const MUTATED_MINUTES = 2
/** Minutes of one round of all attacks with frames. */
const FRAMES_MINUTES = 2

/**
 * Hostile clients beside good ones: at every door, with frames on the query port of a job with checkpoints, and
 * mutated input of every decoder.
 */
export async function runHostile(options: HostileOptions): Promise<HostileReport> {
  const { seed, minutes, attacks, say } = options
  const random = seededRandom(seed)
  const startMs = performance.now()
  const elapsed = (): number => (performance.now() - startMs) / 60_000
  const isChosen = (attack: string): boolean => attacks?.includes(attack) ?? true
  const mutated =
    attacks === undefined
      ? await runDecoderFuzz({
          seed,
          minutes: (minutes ?? MUTATED_MINUTES / MUTATED_SHARE) * MUTATED_SHARE,
          say,
        })
      : undefined
  const cases = allCases(random, await hasOpenssl()).filter(({ attack }) => isChosen(attack))
  const doors = await runDoorCampaign({
    ...{ seed, say },
    cases: minutes === undefined ? cases : shuffled(cases, random),
    goesOn: () => minutes === undefined || elapsed() < minutes * DOORS_SHARE,
  })
  const frames = await runFrames(options, Object.keys(ATTACKS).filter(isChosen), elapsed())
  const violations = [
    ...(mutated?.violations ?? []),
    ...doors.violations,
    ...(frames?.violations ?? []),
  ]
  const ofFrames = frames?.attacks ?? []
  return {
    campaign: 'hostile',
    seed,
    verdict: violations.length === 0 ? 'passed' : 'failed',
    cases: {
      run: doors.cases.length + ofFrames.length,
      all: cases.length + Object.keys(ATTACKS).filter(isChosen).length,
    },
    lost: doors.lost,
    worst: doors.worst,
    doors: doors.cases,
    frames: ofFrames,
    mutated,
    violations,
  }
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
  return await runHostileCampaign({
    ...{ seed, attacks, attackMs: 1_500, noiseMs: 2, elsewhere: true },
    rounds: Math.min(rounds, Math.max(1, Math.floor(possible / attacks.length))),
    onAttack: (figures) => say(lineOf(figures)),
  })
}

/** Rounds of attacks with frames that fit into some minutes. */
const attacksIn = (minutes: number): number =>
  Math.floor((minutes / FRAMES_MINUTES) * Object.keys(ATTACKS).length)

function lineOf({ attack, prediction, value, verdict, problems }: AttackFigures): string {
  const p99 = (what: string, { soloMs, controlMs, attackMs, mostMs, elsewhereMs }: P99): string => {
    const elsewhere = elsewhereMs === undefined ? '' : `, elsewhere ${elsewhereMs.toFixed(1)}`
    return `${what} ${attackMs.toFixed(1)} ms of ${mostMs.toFixed(1)} (solo ${soloMs.toFixed(1)}, control ${controlMs.toFixed(1)}${elsewhere})`
  }
  const figures = `p99 of ${p99('a prediction', prediction)}, of ${p99('a value', value)}`
  return [`${attack}: ${verdict}; ${figures}`, ...problems].join('\n  ')
}
