import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MutatedSource } from './mutants/mutated-source.ts'
import { MUTANTS, type Mutant } from './mutants/seeded.ts'
import { TESTED_MUTANTS } from './mutants/tested.ts'
import type { VerifyReport } from './report.ts'
import { runVerification } from './run.ts'
import { missedMutants } from './tested-mutants.ts'
import { World } from './world/world.ts'

/** Options of the mutants campaign. */
export interface MutantOptions {
  readonly seed: number
  /** Names of mutants. @default all */
  readonly names: readonly string[] | undefined
  readonly say: (line: string) => void
}

/** What the verifier found out about one mutant. */
export interface MutantResult {
  readonly name: string
  readonly found: boolean
  /** Faults of each kind in the run that decided. */
  readonly rounds: number
  readonly seconds: number
  readonly lost: number
  readonly duplicated: number
  readonly kinds: Readonly<Record<string, number>>
}

/** Result of the mutants campaign. */
export interface MutantsReport {
  readonly campaign: string
  readonly seed: number
  readonly mutants: number
  readonly found: number
  readonly results: readonly MutantResult[]
  readonly violations: readonly string[]
}

/** Kinds of violations that do not say that an answer or a result is wrong. */
const NOT_WRONG = new Set(['hangs', 'unexpected-error'])
/** A mutant may not recover at all; the verdict does not wait for that. */
const DEADLINE_MS = 45_000
/** Weir as it is must recover, also on a busy machine. */
const SOUND_DEADLINE_MS = 150_000

/**
 * Runs the verifier on Weir as it is, which must pass, and on each mutant, which must fail because of a
 * wrong answer, row or result. Each run has the faults that the mutant names. Of the mutants that a test finds it runs that
 * test.
 */
export async function runMutants({ seed, names, say }: MutantOptions): Promise<MutantsReport> {
  const isChosen = ({ name }: { readonly name: string }): boolean => names?.includes(name) ?? true
  const tested = TESTED_MUTANTS.filter(isChosen)
  const missed = await missedMutants(tested, say)
  const mutants = MUTANTS.filter(isChosen)
  const verified = mutants.length === 0 ? NONE : await verifyMutants(mutants, { seed, say })
  const { results, violations } = verified
  return {
    campaign: 'mutants',
    seed,
    mutants: tested.length + results.length,
    found: tested.length - missed.length + results.filter((result) => result.found).length,
    results,
    violations: [...missed.map((mutant) => `${mutant} is not found`), ...violations],
  }
}

type Verified = Pick<MutantsReport, 'results' | 'violations'>

const NONE: Verified = { results: [], violations: [] }

/** Runs the verifier on Weir as it is, and on each mutant. */
async function verifyMutants(
  mutants: readonly Mutant[],
  { seed, say }: Pick<MutantOptions, 'seed' | 'say'>,
): Promise<Verified> {
  await using world = await World.start()
  const violations: string[] = []
  const all = [...new Set(mutants.flatMap(({ faults }) => faults))]
  const sound = await verifyMutant(world, undefined, { seed, faults: all, say })
  if (sound.verdict !== 'passed') violations.push(`without a mutant: ${sound.details.join('; ')}`)
  const results: MutantResult[] = []
  for (const mutant of mutants) {
    const result = await findMutant(world, mutant, { seed, faults: mutant.faults, say })
    say(`${mutant.name}: ${result.found ? 'found' : 'NOT FOUND'} in ${result.seconds} s`)
    if (!result.found) violations.push(`${mutant.name} is not found`)
    results.push(result)
  }
  return { results, violations }
}

/** Runs the verifier on a mutant; when it is not found, once more with three times as many faults. */
async function findMutant(world: World, mutant: Mutant, run: MutantRun): Promise<MutantResult> {
  const { rounds = 1 } = mutant
  const first = resultOf(mutant, rounds, await verifyMutant(world, mutant, { ...run, rounds }))
  if (first.found) return first
  run.say(`${mutant.name}: not found by ${rounds} faults of each kind; again with ${3 * rounds}`)
  const again = { ...run, seed: run.seed + 1, rounds: 3 * rounds }
  const second = resultOf(mutant, again.rounds, await verifyMutant(world, mutant, again))
  return { ...second, seconds: first.seconds + second.seconds }
}

/** Options of one run of the verifier on a mutant. */
export interface MutantRun {
  readonly seed: number
  readonly faults: readonly string[]
  readonly rounds?: number
  readonly say: (line: string) => void
}

/** Runs the verifier on a mutant, or on an unchanged copy. */
export async function verifyMutant(
  world: World,
  mutant: Mutant | undefined,
  run: MutantRun,
): Promise<VerifyReport> {
  using source = new MutatedSource(mutant)
  const deadlineMs = mutant === undefined ? SOUND_DEADLINE_MS : DEADLINE_MS
  const folder = mkdtempSync(join(tmpdir(), 'weir-verify-'))
  try {
    const options = { ...run, minutes: 0, folder, deadlineMs }
    return await runVerification(world, { ...options, sourceFolder: source.folder })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Whether the verifier found the error of a mutant: a job that does not run proves nothing. */
export function isFound(report: VerifyReport): boolean {
  if (report.lost + report.duplicated > 0) return true
  return Object.keys(report.kinds).some((kind) => !NOT_WRONG.has(kind))
}

function resultOf({ name }: Mutant, rounds: number, report: VerifyReport): MutantResult {
  const { seconds, lost, duplicated, kinds } = report
  return { name, found: isFound(report), rounds, seconds, lost, duplicated, kinds }
}
