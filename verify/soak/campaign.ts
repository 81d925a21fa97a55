import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EmbeddedLog } from '../../src/connectors/log/embedded-log.ts'
import { LogTopics } from '../../src/connectors/topics/log-topics.ts'
import { sleep, systemClock } from '../../src/core/clock.ts'
import { messageOf } from '../../src/core/errors.ts'
import { seededRandom } from '../../src/core/random.ts'
import { generateRatings } from '../../src/models/ratings/generator.ts'
import { deltasTopic } from '../../src/models/topic/topics.ts'
import { trainAls } from '../../src/training/als/train.ts'
import { ratingsTable } from '../../src/training/data/ratings-table.ts'
import { LearningJob } from './learning-job.ts'
import { MixedQueries } from './mixed-queries.ts'
import { RatingLoad } from './rating-load.ts'
import type { Bound, Measure, Sample, TimedValue, Trend } from './samples.ts'
import { judgedPart, trendOf } from './samples.ts'
import { SWITCHES_UNTIL_FULL, VersionSwitches } from './version-switches.ts'

/** Options of a soak. */
export interface SoakOptions {
  readonly seed: number
  readonly minutes: number
  /** Time between two switches of the live version. @default 30,000 */
  readonly switchMs?: number
  /** The run goes on after its time until so much has happened, up to ten times as long. @default nothing */
  readonly least?: LeastWork
  readonly say: (line: string) => void
}

/** What must have happened before a soak can judge. */
export interface LeastWork {
  readonly switches: number
  /** Answered queries. */
  readonly queries: number
}

/** Result of a soak. */
export interface SoakReport {
  readonly campaign: string
  readonly seed: number
  readonly verdict: 'passed' | 'failed'
  readonly minutes: number
  readonly queries: number
  readonly ratings: number
  readonly switches: number
  readonly errors: Readonly<Record<string, number>>
  readonly samples: number
  /** Growth of each measure over the judged part. */
  readonly trends: Readonly<Record<string, Trend>>
  readonly violations: readonly string[]
}

const MODEL = 'als-model'
const OBSERVATIONS = 'observations'
const USERS = 500
const ITEMS = 200
const FACTORS = 16
const RATINGS_PER_SECOND = 200
const PARTITIONS = 2
const MIB = 1024 * 1024
const SAMPLES = 240
const SHORTEST_SAMPLE_MS = 500
/** How many times its time a soak takes at most to reach the least work. */
const LONGEST_TIMES = 10
const NOTHING: LeastWork = { switches: 0, queries: 0 }
/** Retention of observations and deltas, as a share of the run; a run has many of them. */
const RETENTION_SHARE = 12
const LONGEST_RETENTION_MS = 60_000

/** What each measure may grow: heaps and files move up and down by their `noise` at any time. */
const BOUNDS: Readonly<Record<Measure, Bound>> = {
  resident: { noise: 12 * MIB, perMinute: 0.25 * MIB },
  heapUsed: { noise: 10 * MIB, perMinute: 0.1 * MIB },
  external: { noise: 4 * MIB, perMinute: 0.1 * MIB },
  arrayBuffers: { noise: 4 * MIB, perMinute: 0.1 * MIB },
  threads: { noise: 0, perMinute: 0 },
  descriptors: { noise: 6, perMinute: 0 },
  logBytes: { noise: 3 * MIB, perMinute: 0 },
  logFiles: { noise: 24, perMinute: 0 },
  // Segments of 1 MiB of transaction states, and of 64 KiB of versions, end before they are compacted.
  registryBytes: { noise: 2.25 * MIB, perMinute: 0 },
  registryFiles: { noise: 4, perMinute: 0 },
  checkpointBytes: { noise: 3 * MIB, perMinute: 0 },
  checkpointFiles: { noise: 20, perMinute: 0 },
}

/**
 * Runs `weir learn als` under ratings, queries of every kind and switches of versions, and measures what
 * the job holds. Every measure must be flat over the second half (the registry: once it has all versions that it
 * keeps), within its bound, and no query may fail.
 */
export async function runSoak(options: SoakOptions): Promise<SoakReport> {
  const folder = mkdtempSync(join(tmpdir(), 'weir-soak-'))
  let passed = false
  try {
    const report = await soak(folder, options)
    passed = report.verdict === 'passed'
    return report
  } finally {
    if (passed) rmSync(folder, { recursive: true, force: true })
    else options.say(`logs are in ${folder}`)
  }
}

async function soak(folder: string, options: SoakOptions): Promise<SoakReport> {
  const { seed, minutes, switchMs = 30_000, least = NOTHING, say } = options
  const data = join(folder, 'data')
  const durationMs = minutes * 60_000
  await createTopics(
    join(data, 'log'),
    Math.min(LONGEST_RETENTION_MS, durationMs / RETENTION_SHARE),
  )
  const ratings = generateRatings({ users: USERS, items: ITEMS, ratings: 20_000, seed })
  const model = await trainAls(ratingsTable([...ratings]), {
    factors: FACTORS,
    iterations: 1,
    threads: 0,
  })
  const versions = new VersionSwitches(data, MODEL, model)
  await versions.next()
  await using job = await LearningJob.start({
    ...{ data, topic: MODEL, observations: OBSERVATIONS, logFile: join(folder, 'learn-als.log') },
  })
  const sizes = { users: USERS, items: ITEMS }
  const random = (n: number) => seededRandom(seed * 31 + n)
  await using load = await RatingLoad.start({
    ...{ ...sizes, log: join(data, 'log'), topic: OBSERVATIONS },
    ...{ perSecond: RATINGS_PER_SECOND, random: random(1) },
  })
  await using queries = await MixedQueries.start({ ...sizes, port: job.port, random: random(2) })
  const run = new Soak(job, versions, { durationMs, switchMs, say })
  await run.untilEnd(() => versions.switches >= least.switches && queries.answered >= least.queries)
  const violations = [...run.violations, ...(await unboundedTopics(join(data, 'log')))]
  for (const [code, times] of queries.errors) violations.push(`${times} queries failed: ${code}`)
  const trends = run.trends()
  for (const [measure, { growth, allowed, perMinute }] of Object.entries(trends)) {
    if (growth <= allowed) continue
    violations.push(`${measure} grows by ${growth} (${perMinute} a minute); allowed is ${allowed}`)
  }
  return {
    campaign: 'soak',
    seed,
    verdict: violations.length === 0 ? 'passed' : 'failed',
    minutes,
    queries: queries.answered,
    ratings: load.sent,
    switches: versions.switches,
    errors: Object.fromEntries(queries.errors),
    samples: run.samples.length,
    trends,
    violations,
  }
}

/** Topics whose retention is a small part of the run, in segments that end within it. */
async function createTopics(directory: string, retentionMs: number): Promise<void> {
  const log = await EmbeddedLog.open(directory)
  try {
    const kept = { partitions: PARTITIONS, retentionMs: Math.round(retentionMs) }
    await log.createTopic(OBSERVATIONS, { ...kept, cleanupPolicy: 'delete' })
    await log.createTopic(deltasTopic(MODEL), { ...kept, cleanupPolicy: 'delete' })
    await log.createTopic(MODEL, {
      ...{ partitions: PARTITIONS, cleanupPolicy: 'compact', segmentBytes: MIB / 4 },
      deleteRetentionMs: Math.round(retentionMs),
    })
  } finally {
    await log.close()
  }
}

/** Topics of which retention has removed nothing. */
async function unboundedTopics(directory: string): Promise<string[]> {
  await using topics = new LogTopics(directory)
  const unbounded: string[] = []
  for (const topic of [OBSERVATIONS, deltasTopic(MODEL)]) {
    const bounds = await topics.bounds(topic)
    if (bounds.every(({ start }) => start > 0)) continue
    unbounded.push(`retention has removed no record of ${topic}`)
  }
  return unbounded
}

interface SoakTimes {
  readonly durationMs: number
  readonly switchMs: number
  readonly say: (line: string) => void
}

/** A sample, its time, and how many switches came before it. */
interface TakenSample {
  readonly atMs: number
  readonly switches: number
  readonly sample: Sample
}

/** The samples of a run, and its switches of versions. */
class Soak {
  readonly samples: TakenSample[] = []
  readonly violations: string[] = []
  private readonly job: LearningJob
  private readonly versions: VersionSwitches
  private readonly times: SoakTimes

  constructor(job: LearningJob, versions: VersionSwitches, times: SoakTimes) {
    this.job = job
    this.versions = versions
    this.times = times
  }

  /** Samples and switches until the time is over and enough has happened, or the job has ended. */
  async untilEnd(hasEnough: () => boolean): Promise<void> {
    const { durationMs, switchMs } = this.times
    const startMs = performance.now()
    const everyMs = Math.max(SHORTEST_SAMPLE_MS, durationMs / SAMPLES)
    let switchAtMs = startMs + switchMs
    const elapsedMs = (): number => performance.now() - startMs
    const isShort = (): boolean => !hasEnough() && elapsedMs() < LONGEST_TIMES * durationMs
    while (elapsedMs() < durationMs || isShort()) {
      await sleep(systemClock, everyMs)
      if (!this.job.isRunning) {
        this.violations.push('learn als has ended')
        return
      }
      this.take(elapsedMs())
      if (performance.now() < switchAtMs) continue
      switchAtMs += switchMs
      await this.switchVersion()
    }
  }

  private take(atMs: number): void {
    const sample = this.job.sample()
    if (sample === undefined) return
    this.samples.push({ atMs, switches: this.versions.switches, sample })
    if (this.samples.length % 10 !== 0) return
    const mib = (bytes: number): string => `${(bytes / MIB).toFixed(1)} MiB`
    const { resident, heapUsed, logBytes, registryBytes, descriptors } = sample
    this.times.say(
      `${(atMs / 60_000).toFixed(1)} min: resident ${mib(resident)}, heap ${mib(heapUsed)}, log ${mib(logBytes)}, registry ${mib(registryBytes)}, ${descriptors} descriptors`,
    )
  }

  private async switchVersion(): Promise<void> {
    try {
      await this.versions.next()
    } catch (error) {
      this.violations.push(`a switch failed: ${messageOf(error)}`)
    }
  }

  /** The trend of each measure over the judged part of the samples. */
  trends(): Record<string, Trend> {
    const half = judgedPart(this.samples)
    const isFull = ({ switches }: TakenSample): boolean => switches >= SWITCHES_UNTIL_FULL
    const whileFull = judgedPart(this.samples, isFull)
    const measures = Object.entries(BOUNDS) as [Measure, Bound][]
    return Object.fromEntries(
      measures.map(([measure, bound]) => {
        const part = measure.startsWith('registry') ? whileFull : half
        const values = part.map(
          ({ atMs, sample }): TimedValue => ({ atMs, value: sample[measure] }),
        )
        return [measure, trendOf(values, bound)]
      }),
    )
  }
}
