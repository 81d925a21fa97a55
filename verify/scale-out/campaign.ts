import { messageOf } from '../../src/core/errors.ts'
import { type Random, seededRandom } from '../../src/core/random.ts'
import { SCALE_OUT_FAULTS, type ScaleOutFault } from './faults.ts'
import type { Findings } from './oracle.ts'
import { ScaleOutRun } from './run.ts'
import { Site, type SiteStorage } from './site.ts'

/** Longest time of a recovery by default, ms: a session, a partition that was given back, and a restore on a busy machine. */
const LIMIT_MS = 120_000

/** Options of the campaign. */
export interface ScaleOutOptions {
  readonly seed: number
  /** Least duration of the faults; each comes once in any case. */
  readonly minutes: number
  /** Names of faults; undefined for all. */
  readonly faults?: readonly string[] | undefined
  /** @default S3 by a server with its protocol where Python has one, in every second seed; else a folder */
  readonly storage?: SiteStorage
  /** Longest time of a recovery, ms. @default 120,000 */
  readonly limitMs?: number
  readonly say: (line: string) => void
}

/** Result of the campaign. */
export interface ScaleOutReport extends Omit<Findings, 'details'> {
  readonly campaign: 'scale-out'
  readonly seed: number
  readonly verdict: 'passed' | 'failed'
  readonly storage: SiteStorage
  readonly records: number
  /** How often each fault came, and its recoveries, ms. */
  readonly faults: Readonly<Record<string, readonly number[]>>
  readonly processes: number
  /** Starts of job partitions. */
  readonly moves: number
  /** Memberships that the group has taken from a process that was there. */
  readonly lostMemberships: number
  /** Killed processes that their peers have removed from the group. */
  readonly removed: number
  readonly generations: number
  /** Why processes gave job partitions back: each is away for 30 s. */
  readonly givenBack: readonly string[]
  readonly violations: readonly string[]
}

/**
 * Faults of processes, lines, Kafka and storage of a job in three processes: nothing may be lost or doubled, and each
 * job partition must run again in time.
 */
export async function runScaleOut(options: ScaleOutOptions): Promise<ScaleOutReport> {
  const { seed, say, limitMs = LIMIT_MS } = options
  const wanted = options.storage ?? (seed % 2 === 0 ? 's3' : 'folder')
  await using site = await Site.start(wanted)
  const storage = site.storageLine === undefined ? 'folder' : 's3'
  say(`seed ${seed}, checkpoints in ${storage === 's3' ? 'S3' : 'a folder'}`)
  await using run = new ScaleOutRun(site, { seed, limitMs, say })
  const found: Findings & { records: number } = await runFaults(run, options, storage).catch(
    (error: unknown) => {
      run.violations.push(messageOf(error))
      return { records: 0, lost: 0, doubled: 0, wrong: 0, details: [] }
    },
  )
  run.crew.countAll()
  const { tally } = run.crew
  const violations = [...run.violations, ...found.details]
  return {
    campaign: 'scale-out',
    seed,
    verdict: violations.length === 0 ? 'passed' : 'failed',
    storage,
    records: found.records,
    lost: found.lost,
    doubled: found.doubled,
    wrong: found.wrong,
    faults: Object.fromEntries(run.recoveryMs),
    processes: tally.processes,
    moves: tally.starts,
    lostMemberships: tally.lost,
    removed: tally.removed,
    generations: tally.generations,
    givenBack: tally.givenBack,
    violations,
  }
}

async function runFaults(run: ScaleOutRun, options: ScaleOutOptions, storage: SiteStorage) {
  const { seed, minutes } = options
  const chosen = SCALE_OUT_FAULTS.filter(
    ({ name, ofStorage }) =>
      (options.faults?.includes(name) ?? true) && (ofStorage !== true || storage === 's3'),
  )
  const random = seededRandom(seed + 2)
  await run.begin()
  const endMs = performance.now() + minutes * 60_000
  for (let round = 0; ; round++) {
    for (const fault of shuffled(chosen, random)) {
      if (round > 0 && performance.now() >= endMs) return await run.judge()
      if (!(await run.inject(fault))) return await run.judge()
    }
    if (performance.now() >= endMs) return await run.judge()
  }
}

function shuffled(faults: readonly ScaleOutFault[], random: Random): readonly ScaleOutFault[] {
  return faults
    .map((fault) => ({ fault, place: random.next() }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ fault }) => fault)
}
