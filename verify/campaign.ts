import { setup as buildModules } from '../test/built-package.ts'
import { runCombinations } from '../test/combinations/campaign.ts'
import { runCrashCampaign } from '../test/disk/crash-campaign.ts'
import { runDamageCampaign } from '../test/disk/damage-campaign.ts'
import { ATTACKS } from '../test/hostile/attackers.ts'
import { setup as startServices } from '../test/services/lending/host.ts'
import { runStreams } from '../test/streams/campaign.ts'
import { runFuzz } from './fuzz/campaign.ts'
import { runHostile } from './hostile-campaign.ts'
import { runKills } from './models/kills.ts'
import { runLoads } from './models/loads.ts'
import { runMixtures } from './models/mixtures.ts'
import { runMutants } from './mutant-campaign.ts'
import { pythonWithSchemathesis, runOpenApi } from './openapi/campaign.ts'
import { runScaleOut } from './scale-out/campaign.ts'
import { runSoak } from './soak/campaign.ts'
import { runSwitches } from './switches.ts'

/**
 * Rounds of each attack. A p99 of 1.5 s is the seventh largest of some 700 times: with three rounds other limits
 * failed in each run.
 */
const ROUNDS = 7
const FRAME_ATTACKS = Object.keys(ATTACKS).length
/** Requests of one graph at once. */
const IN_FLIGHT = 300

/** Options of a campaign. */
export interface CampaignOptions {
  readonly seed: number
  /** Least number of schedules or cases; undefined for the campaign's default. */
  readonly schedules: number | undefined
  /** Names of mutants; undefined for all. */
  readonly mutants: readonly string[] | undefined
  /** Names of attacks; undefined for all. */
  readonly attacks: readonly string[] | undefined
  /** Names of faults; undefined for all. */
  readonly faults: readonly string[] | undefined
  /** Names of doors; undefined for all. */
  readonly doors: readonly string[] | undefined
  /** Duration of a campaign that has one; undefined for its default. */
  readonly minutes: number | undefined
  /** Number of switches, of loads or of trials; undefined for the default. */
  readonly count: number | undefined
  readonly say: (line: string) => void
}

/** Result of a campaign, printed as JSON. */
export interface CampaignReport {
  readonly campaign: string
  readonly seed: number
  readonly violations: readonly string[]
}

/** The campaigns by name. */
export const CAMPAIGNS: Readonly<
  Record<string, (options: CampaignOptions) => Promise<CampaignReport>>
> = {
  /** Crashes on a simulated disk; a quarter of the schedules are of checkpoints. */
  disk: ({ seed, schedules = 40_000, say }) =>
    runCrashCampaign({
      seed,
      schedules: {
        checkpoints: Math.ceil(schedules / 4),
        log: Math.ceil(schedules * 0.6),
        registry: Math.ceil(schedules * 0.15),
      },
      onViolation: say,
    }),
  /** Damage of every byte of every file. */
  damage: ({ seed, schedules, say }) =>
    runDamageCampaign({ seed, cases: schedules, onViolation: say }),
  /** Hostile clients at every door, with frames, and mutated input; a schedule is one round of an attack with frames. */
  hostile: ({ seed, minutes, attacks, doors, schedules, say }) =>
    runHostile({
      ...{ seed, minutes, attacks, doors, say },
      rounds: schedules === undefined ? ROUNDS : Math.ceil(schedules / FRAME_ATTACKS),
    }),
  /** The verifier on mutants of Weir, with Kafka and HDFS. */
  mutants: ({ seed, mutants, say }) => runMutants({ seed, names: mutants, say }),
  /** Mutated requests to every port. */
  fuzz: ({ seed, minutes = 10, say }) => runFuzz({ seed, minutes, say }),
  /** Schemathesis on the gateway and on the JobManager; a schedule is a random case of an operation. */
  openapi: async ({ seed, schedules: cases = 300, say }) => {
    const python = await pythonWithSchemathesis()
    if (python === undefined) throw new Error('the campaign needs Python 3 and PyPI')
    const gateway = await runOpenApi(python, { seed, cases, say })
    const jobManager = await runOpenApi(python, { seed, cases, say, port: 'jobmanager' })
    return {
      ...gateway,
      violations: [...gateway.violations, ...jobManager.violations],
      summary: `${gateway.summary}\n${jobManager.summary}`,
    }
  },
  /** Kills of the workers of models, then graphs of many kinds that are asked many times at once. */
  models: async ({ seed, minutes = 15, say }) => {
    const kills = await runKills({ seed, minutes: minutes / 3, kills: 10, say })
    const left = (minutes * 2) / 3
    const mixtures = await runMixtures({ seed, minutes: left, requests: IN_FLIGHT, say })
    const violations = [...kills.violations, ...mixtures.violations]
    const verdict = violations.length === 0 ? 'passed' : 'failed'
    const [wrong, lost] = [kills.wrong + mixtures.wrong, kills.lost + mixtures.lost]
    return { ...kills, mixtures, verdict, wrong, lost, violations }
  },
  /** Faults of a job in many processes: none of its results may be lost or doubled. */
  'scale-out': ({ seed, minutes = 5, faults, say }) =>
    withBuiltModules(() => runScaleOut({ seed, minutes, faults, say })),
  /** Models that are loaded and unloaded: nothing may grow. */
  loads: ({ seed, count = 500, say }) => runLoads({ seed, count, say }),
  /** Small versions that go live under predictions. */
  switches: ({ seed, count = 10_000, say }) => runSwitches({ seed, count, say }),
  /** Kinds, publishers, rules, faces, storage and steps of a model's life, two by two; the count is one of trials. */
  combinations: ({ seed, count, say }) => withServices(() => runCombinations({ seed, count, say })),
  /** Windows, joins, timers, patterns, whole jobs and changed ones at random beside plain computations; a schedule is a case. */
  streams: ({ seed, schedules: cases = 100_000, say }) => runStreams({ seed, cases, say }),
  /** A learning job for a long time: nothing that it holds may grow. */
  soak: ({ seed, minutes = 120, say }) => runSoak({ seed, minutes, say }),
}

/** Runs work that borrows services. */
const withServices = <T>(work: () => Promise<T>): Promise<T> => prepared(startServices, work)

/** Runs work whose processes start from joined modules, for half of the processor time. */
const withBuiltModules = <T>(work: () => Promise<T>): Promise<T> => prepared(buildModules, work)

async function prepared<T>(
  prepare: () => Promise<(() => Promise<void> | void) | undefined>,
  work: () => Promise<T>,
): Promise<T> {
  const end = await prepare()
  try {
    return await work()
  } finally {
    await end?.()
  }
}
