import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { messageOf } from '../../src/core/errors.ts'
import { seededRandom } from '../../src/core/random.ts'
import { fastFolder } from '../files/temporary-folder.ts'
import { sharedKafka } from '../services/lending/kafka.ts'
import { Encryption } from './encryption.ts'
import { securedKafka } from './storage.ts'
import { type Share, type Trial, trials } from './table.ts'
import { type Problem, TrialRun } from './trial-run.ts'

/** Options of the campaign of combinations. */
export interface CombinationsOptions {
  readonly seed: number
  /** Number of trials, those with the most pairs first. @default all of the table */
  readonly count?: number | undefined
  /** The pairs that the table has, beside others. @default all pairs */
  readonly share?: Share | undefined
  readonly say?: (line: string) => void
}

/** Result of the campaign. */
export interface CombinationsReport {
  readonly campaign: 'combinations'
  readonly seed: number
  readonly verdict: 'passed' | 'failed'
  /** Trials that ran, of those of the table. */
  readonly trials: number
  readonly table: number
  /** Rows, answers and measures that are not what they should be. */
  readonly wrong: number
  /** Observations that are lost or known twice. */
  readonly lost: number
  readonly violations: readonly string[]
}

/** Trials at a time: each waits for processes half of its time. */
const LANES = Math.min(2, availableParallelism())

/**
 * Tries the parts of the product with each other, two by two, each trial in a folder of its own, and those on Kafka with
 * topics of their own. Needs the host of shared services.
 */
export async function runCombinations({
  seed,
  count,
  share,
  say = () => {},
}: CombinationsOptions): Promise<CombinationsReport> {
  const certificates = mkdtempSync(join(tmpdir(), 'weir-certificates-'))
  const encryption = await Encryption.in(certificates)
  const table = trials(seededRandom(seed), { hasCertificates: encryption !== undefined, share })
  const chosen = table.slice(0, count)
  const violations: string[] = []
  const found = { wrong: 0, lost: 0 }
  const next = chosen.values()
  // The lanes take their trials from one iterator.
  const lane = async (): Promise<void> => {
    for (const trial of next) {
      const startMs = performance.now()
      const problems = await problemsOf(trial, encryption)
      for (const { kind, what } of problems) {
        found[kind]++
        violations.push(`${nameOf(trial)}: ${what}`)
      }
      const seconds = ((performance.now() - startMs) / 1000).toFixed(1)
      say([`${nameOf(trial)}: ${seconds} s`, ...problems.map(({ what }) => what)].join('\n  '))
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane))
  rmSync(certificates, { recursive: true, force: true })
  return {
    campaign: 'combinations',
    seed,
    verdict: violations.length === 0 ? 'passed' : 'failed',
    trials: chosen.length,
    table: table.length,
    ...found,
    violations,
  }
}

/** The parts of a trial in the order of a story. */
export function nameOf(trial: Trial): string {
  const { kind, publisher, job, rule, face, ports, storage, slots, step } = trial
  const parts = [kind, publisher, job, rule, face, `${ports} ports`, storage]
  return [...parts, `slots ${slots}`, step].join(', ')
}

/** What is wrong in a trial; one that cannot go on is wrong, too. */
async function problemsOf(
  trial: Trial,
  encryption: Encryption | undefined,
): Promise<readonly Problem[]> {
  const folder = mkdtempSync(join(fastFolder(), 'weir-trial-'))
  await using kafka = trial.storage === 'Kafka' ? await sharedKafka() : undefined
  const run = new TrialRun(trial, folder, {
    storage: kafka && securedKafka(kafka, folder),
    encryption: trial.ports === 'encrypted' ? encryption : undefined,
  })
  try {
    return await run.run()
  } catch (error) {
    return [{ kind: 'wrong', what: `it ended: ${messageOf(error)}` }]
  } finally {
    await run.end()
    rmSync(folder, { recursive: true, force: true })
  }
}
