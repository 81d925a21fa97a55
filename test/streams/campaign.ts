import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '../../src/core/errors.ts'
import { type Random, seededRandom } from '../../src/core/random.ts'
import { fastFolder } from '../files/temporary-folder.ts'
import { changedCase } from './changed-cases.ts'
import type { Difference } from './difference.ts'
import { jobCase } from './job-cases.ts'
import { joinCase } from './join-cases.ts'
import { outerCase } from './outer-cases.ts'
import { patternCase } from './pattern-cases.ts'
import { temporalCase } from './temporal-cases.ts'
import { timerCase } from './timer-cases.ts'
import { windowCase } from './window-cases.ts'

/** Options of the campaign of streams. */
export interface StreamsOptions {
  readonly seed: number
  /** Number of cases. */
  readonly cases: number
  /** Kinds of cases. @default all */
  readonly kinds?: readonly CaseKind[]
  readonly say?: (line: string) => void
}

/** Result of the campaign. */
export interface StreamsReport {
  readonly campaign: 'streams'
  readonly seed: number
  readonly verdict: 'passed' | 'failed'
  readonly cases: number
  /** Results that are not to be, and state that is left. */
  readonly wrong: number
  /** Results that are missing. */
  readonly lost: number
  /** The first violations, each with the seed of its case. */
  readonly violations: readonly string[]
}

type Case = (random: Random, folder: string) => Promise<Difference>

const CASES = {
  windows: windowCase,
  joins: joinCase,
  'outer joins': outerCase,
  'temporal joins': temporalCase,
  timers: timerCase,
  patterns: patternCase,
  /** Whole jobs cost ten times as much. */
  jobs: jobCase,
  'changed jobs': changedCase,
} satisfies Record<string, Case>

/** A kind of cases. */
export type CaseKind = keyof typeof CASES

/** Cases of each kind among 200 of all. */
const SHARES: Readonly<Record<CaseKind, number>> = {
  windows: 120,
  joins: 15,
  'outer joins': 7,
  'temporal joins': 8,
  timers: 27,
  patterns: 20,
  jobs: 2,
  'changed jobs': 1,
}

const MOST_VIOLATIONS = 20

/** Compares operators and jobs at random with plain computations; each case has a seed of its own. */
export async function runStreams({
  seed,
  cases,
  kinds = Object.keys(CASES) as CaseKind[],
  say = () => {},
}: StreamsOptions): Promise<StreamsReport> {
  const turns = kinds.flatMap((kind) => Array.from({ length: SHARES[kind] }, () => kind))
  const found = { wrong: 0, lost: 0 }
  const violations: string[] = []
  const folder = mkdtempSync(join(fastFolder(), 'weir-streams-'))
  try {
    for (let i = 0; i < cases; i++) {
      const kind = turns[i % turns.length]!
      const caseSeed = seed * 1_000_003 + i
      const { wrong, lost } = await tried(CASES[kind], caseSeed, folder)
      found.wrong += wrong.length
      found.lost += lost.length
      const first = [
        ...wrong.map((text) => `wrong: ${text}`),
        ...lost.map((text) => `lost: ${text}`),
      ]
      if (first.length > 0 && violations.length < MOST_VIOLATIONS) {
        violations.push(`${kind}, case ${i} (seed ${caseSeed}): ${first.slice(0, 4).join('; ')}`)
        say(violations.at(-1)!)
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  const verdict = violations.length === 0 ? 'passed' : 'failed'
  return { campaign: 'streams', seed, verdict, cases, ...found, violations }
}

async function tried(run: Case, seed: number, folder: string): Promise<Difference> {
  try {
    return await run(seededRandom(seed), folder)
  } catch (error) {
    return { wrong: [messageOf(error)], lost: [] }
  }
}
