import { randomBytes } from 'node:crypto'
import { type Random, seededRandom } from '../src/core/random.ts'
import { freePorts } from '../test/services/free-port.ts'
import { AbortedLoad } from './aborted-load.ts'
import type { Observation, Violation } from './checks/observation.ts'
import { resultOf } from './checks/stage.ts'
import type { Fault, FaultSite } from './fault.ts'
import { FAULTS, rotation } from './faults.ts'
import { type CheckpointPace, jobConfiguration, USUAL_PACE } from './jobs/configuration.ts'
import { COUNT_ROWS, COUNT_VERSIONS, COUNTS } from './jobs/counts.ts'
import { ITEM_ROWS } from './jobs/deltas.ts'
import { SupervisedJob } from './jobs/supervised-job.ts'
import { createTopics, growTopic, openProducer } from './kafka/client.ts'
import { Load } from './kafka/load.ts'
import { QuerySession, type QueryTarget } from './query-session.ts'
import type { FaultReport } from './report.ts'
import {
  countKeys,
  countMessages,
  DIMENSION,
  deltaMessages,
  itemKeys,
  PARTITIONS,
  rowMessages,
} from './workloads.ts'
import { CheckpointFiles } from './world/checkpoint-files.ts'
import { rowsAreInCheckpoint } from './world/published-rows.ts'
import { QueryLine } from './world/query-line.ts'
import type { World } from './world/world.ts'

/** A deliberate error in a job. If the verdict is still `passed`, the verifier does not work. */
export type Mutation = 'none' | 'at-least-once' | 'repeated-deltas'

/** Options of a verification. */
export interface VerifyOptions {
  readonly seed: number
  /** Minimum duration of the faults; each comes at least `rounds` times. */
  readonly minutes: number
  /** @default 1 */
  readonly rounds?: number
  /** Names of faults. @default all */
  readonly faults?: readonly string[]
  readonly mutation?: Mutation
  /** Folder of the source from which the jobs run. @default this one */
  readonly sourceFolder?: string
  /** Folder of the logs of the job processes. */
  readonly folder: string
  readonly say: (line: string) => void
  /** Ends the faults early; there still is a verdict. */
  readonly signal?: AbortSignal
  /** A longer recovery from a fault is a violation. @default 60,000 */
  readonly deadlineMs?: number
}

/** What the two jobs run with. */
interface JobPlaces {
  /** The program of their processes. */
  readonly program: string
  /** Their query ports. */
  readonly ports: readonly number[]
}

const SLOTS = 2
const SESSIONS_PER_JOB = 2
const DEADLINE_MS = 240_000
/** A fault has several waits of the deadline, and what has none. What takes longer hangs. */
const FAULT_DEADLINES = 6
const FAULT_LIMIT_MS = 300_000
/** Limit of the first start, which compiles and loads everything. */
const START_LIMIT_MS = 400_000
/** Maximum time between the recovery from a fault and the next fault, ms. */
const PAUSE_MS = 400

/** A running verification: jobs, loads, query sessions, and what they observed. */
export class Verification {
  readonly name = `v${randomBytes(4).toString('hex')}`
  readonly options: VerifyOptions
  readonly world: World
  readonly counts: SupervisedJob
  readonly deltas: SupervisedJob
  readonly countLoad: Load
  readonly deltaLoad: Load
  readonly abortedLoad: AbortedLoad
  readonly history: Observation[] = []
  readonly violations: Violation[] = []
  readonly faults = new Map<string, FaultReport>()
  readonly sessions: readonly QuerySession[]
  kills = 0
  /** Partitions of the input topic of the counts. */
  private inputPartitions = PARTITIONS
  /** Partitions of the output topic of the counts. */
  outputPartitions = PARTITIONS
  /** Number of names that faults have asked for. */
  private names = 0
  readonly startedMs = performance.now()
  private readonly random: Random
  private readonly program: string
  private readonly queryLine = new QueryLine()
  /** How often each kind of fault has come, so that every job gets every fault. */
  private readonly turns = new Map<string, number>()

  constructor(world: World, options: VerifyOptions, { program, ports }: JobPlaces) {
    this.world = world
    this.options = options
    this.program = program
    this.random = seededRandom(options.seed)
    const seedOf = (n: number): Random => seededRandom(options.seed * 31 + n)
    const brokers = world.directBrokers
    const load = { brokers, batch: 40, everyMs: 100 }
    this.countLoad = new Load({
      ...load,
      topic: this.topic('in'),
      next: countMessages(seedOf(1), () => this.inputPartitions),
    })
    const deltas = deltaMessages(seedOf(2))
    this.deltaLoad = new Load({
      ...load,
      topic: this.topic('deltas'),
      next: deltas.next,
      onUnknown: deltas.forget,
    })
    this.abortedLoad = new AbortedLoad(brokers, this.topic('in'), PARTITIONS)
    this.counts = this.countsJob(ports[0]!)
    this.deltas = this.deltasJob(ports[1]!)
    this.sessions = this.newSessions(seedOf)
  }

  /** Name of a topic. */
  topic(kind: 'in' | 'out' | 'rows' | 'deltas'): string {
    return `${this.name}-${kind}`
  }

  /** Both jobs. */
  get jobs(): readonly SupervisedJob[] {
    return [this.counts, this.deltas]
  }

  /** A longer recovery is a violation, ms. */
  get limitMs(): number {
    return this.options.deadlineMs ?? DEADLINE_MS
  }

  private get checkpointFolder(): string {
    return `/${this.name}`
  }

  private job(
    name: string,
    port: number,
    jobOptions: object,
    pace: CheckpointPace = USUAL_PACE,
  ): SupervisedJob {
    const folder = `${this.checkpointFolder}/${name}`
    const settings = {
      module: `./${name.replace(/-.*/, '')}`,
      jobId: randomBytes(16).toString('hex'),
      jobOptions: { brokers: this.world.weirBrokers, requestTimeoutMs: 4000, ...jobOptions },
      configuration: jobConfiguration({
        slots: SLOTS,
        stateFolder: `${this.options.folder}/${name}-state`,
        checkpoints: this.world.checkpoints(folder, pace.requestMs),
        pace,
      }),
      port,
    }
    const { queryLine: line, program } = this
    const logs = this.options.folder
    return new SupervisedJob({ name, slots: SLOTS, settings, line, folder: logs, program })
  }

  private countsJob(port: number): SupervisedJob {
    return this.job('counts', port, {
      input: this.topic('in'),
      output: this.topic('out'),
      guarantee: this.options.mutation === 'at-least-once' ? 'at-least-once' : 'exactly-once',
    })
  }

  private deltasJob(port: number): SupervisedJob {
    return this.job('deltas', port, {
      rows: this.topic('rows'),
      deltas: this.topic('deltas'),
      dimension: DIMENSION,
      dropRepeated: this.options.mutation !== 'repeated-deltas',
    })
  }

  private newSessions(seedOf: (n: number) => Random): QuerySession[] {
    const countTarget = { keys: countKeys(), recordSuffix: '', load: this.countLoad }
    const most = ['live', 'at-least', 'bounded'] as const
    const all = [...most, 'checkpoint'] as const
    const targets: QueryTarget[][] = [
      [
        { ...countTarget, state: COUNTS, kind: 'values', levels: most },
        { ...countTarget, state: COUNT_ROWS, kind: 'rows', levels: all, versions: COUNT_VERSIONS },
      ],
      [
        {
          ...{ state: ITEM_ROWS, kind: 'rows', levels: all, keys: itemKeys() },
          ...{ recordSuffix: '@1', load: this.deltaLoad },
        },
      ],
    ]
    const { history, violations } = this
    return targets.flatMap((ofJob, job) =>
      Array.from({ length: SESSIONS_PER_JOB }, (_, i) => {
        const session = job * SESSIONS_PER_JOB + i
        const where = {
          session,
          port: () => this.jobs[job]!.port,
          job: `verified-${this.jobs[job]!.name}`,
        }
        const random = seedOf(10 + session)
        return new QuerySession({ ...where, targets: ofJob, random, history, violations })
      }),
    )
  }

  /** Starts jobs, loads and query sessions. Resolves when all make progress. */
  async begin(): Promise<void> {
    const { world, options } = this
    await createTopics(world.directBrokers, {
      [this.topic('in')]: PARTITIONS,
      [this.topic('out')]: PARTITIONS,
      [this.topic('rows')]: PARTITIONS,
      [this.topic('deltas')]: PARTITIONS,
    })
    const producer = await openProducer(world.directBrokers)
    await producer.send({ topic: this.topic('rows'), messages: rowMessages() })
    await producer.disconnect()
    const startedMs = Date.now()
    for (const job of this.jobs) job.start()
    await this.until('the jobs run and have a checkpoint', START_LIMIT_MS, () =>
      this.jobs.every((job) => job.running && job.checkpointMs >= startedMs),
    )
    await rowsAreInCheckpoint({
      ...{ port: this.deltas.port, limitMs: START_LIMIT_MS },
      ...{ state: ITEM_ROWS, keys: itemKeys() },
    })
    this.countLoad.start()
    this.deltaLoad.start()
    this.abortedLoad.start()
    for (const session of this.sessions) session.start()
    await this.recover(Date.now(), 'start')
    options.say(`the jobs run; faults begin (seed ${options.seed})`)
  }

  /** Injects faults one after the other; stops at the first violation. */
  async injectFaults(): Promise<void> {
    const { options, random } = this
    const { minutes, rounds = 1, signal, say, faults: names } = options
    const kinds = FAULTS.filter(({ name }) => names?.includes(name) ?? true)
    const least = kinds.length * rounds
    if (least === 0) return
    const endMs = Date.now() + minutes * 60_000
    let number = 0
    for (const fault of rotation(kinds, random)) {
      if (number >= least && Date.now() >= endMs) break
      if (signal?.aborted === true || this.violations.length > 0) break
      number += 1
      await new Promise((resolve) => setTimeout(resolve, random.below(PAUSE_MS)))
      const { name } = fault
      const limitMs = FAULT_LIMIT_MS + FAULT_DEADLINES * this.limitMs
      const work = () => this.injectOne(fault)
      const times = await resultOf({ what: name, limitMs, work }, this.violations)
      if (times === undefined) say(`VIOLATION: ${this.violations.at(-1)?.detail}`)
      else say(`${number} ${name}: outage ${times.outageMs} ms, recovery ${times.recoveryMs} ms`)
    }
  }

  private async injectOne(fault: Fault): Promise<{ outageMs: number; recoveryMs: number }> {
    const beganMs = Date.now()
    const kills = await fault.inject(this.siteOf(fault))
    this.kills += kills ?? 0
    const endedMs = Date.now()
    const recoveryMs = await this.recover(endedMs, fault.name)
    const report = this.faults.get(fault.name) ?? { count: 0, outageMs: [], recoveryMs: [] }
    report.count += 1
    report.outageMs.push(endedMs - beganMs)
    report.recoveryMs.push(recoveryMs)
    this.faults.set(fault.name, report)
    return { outageMs: endedMs - beganMs, recoveryMs }
  }

  private siteOf(fault: Fault): FaultSite {
    const { world, queryLine, checkpointFolder, random, violations } = this
    const jobs = this.nextJobs(fault.name)
    return {
      ...{ world, jobs, queryLine, checkpointFolder, random },
      inputTopic: this.topic('in'),
      inputPartitions: PARTITIONS,
      limitMs: this.limitMs,
      filesOf: ({ name, jobId }) =>
        new CheckpointFiles(world, `${checkpointFolder}/${name}/${jobId}`),
      countLoad: this.countLoad,
      outputTopic: this.topic('out'),
      growInput: () => this.growInput(),
      growOutput: () => this.growOutput(),
      newName: (kind) => `${this.name}-${kind}-${++this.names}`,
      createTopics: (topics) =>
        createTopics(world.directBrokers, Object.fromEntries(topics.map((topic) => [topic, 1]))),
      copiesJob: async (jobOptions, pace = USUAL_PACE) => {
        const [port] = await freePorts(1)
        return this.job(`copies-${++this.names}`, port!, jobOptions, pace)
      },
      violate: (kind, detail) => violations.push({ kind, detail }),
    }
  }

  /** The jobs that a fault hits: both at once in every second turn, and each alone in between. */
  private nextJobs(fault: string): readonly SupervisedJob[] {
    const turn = this.turns.get(fault) ?? 0
    this.turns.set(fault, turn + 1)
    const both = this.jobs
    return [both, both.slice(0, 1), both, both.slice(1)][turn % 4]!
  }

  private async growInput(): Promise<void> {
    await growTopic(this.world.directBrokers, this.topic('in'), this.inputPartitions + 1)
    this.inputPartitions += 1
    this.countLoad.reconnect()
  }

  private async growOutput(): Promise<void> {
    await growTopic(this.world.directBrokers, this.topic('out'), this.outputPartitions + 1)
    this.outputPartitions += 1
  }

  /**
   * Waits for progress since a time: each job has completed a checkpoint that was triggered later (which
   * commits its results), each session has an answer, and a query has read a later record of each job. Returns
   * the duration in ms. A duration above the deadline is a violation.
   */
  async recover(sinceMs: number, what: string): Promise<number> {
    const { limitMs } = this
    try {
      await this.until(
        `${what}: everything makes progress`,
        limitMs,
        () => this.missing(sinceMs) === '',
      )
    } catch {
      const detail = `${what}: ${this.missing(sinceMs)} after ${limitMs} ms`
      this.violations.push({ kind: 'hangs', detail })
      this.options.say(`VIOLATION: ${detail}`)
    }
    return Date.now() - sinceMs
  }

  /** What has made no progress since a time, in words. */
  private missing(sinceMs: number): string {
    const missing: string[] = []
    for (const job of this.jobs) {
      if (!job.running) missing.push(`${job.name} does not run`)
      else if (job.checkpointMs < sinceMs) missing.push(`${job.name} has no new checkpoint`)
      const sessions = this.sessions.filter((session) => session.job === `verified-${job.name}`)
      if (sessions.some(({ answeredMs }) => answeredMs < sinceMs)) {
        missing.push(`a query session of ${job.name} has no answer`)
      }
      if (sessions.every(({ freshMs }) => freshMs < sinceMs)) {
        missing.push(`no query has read a new record of ${job.name}`)
      }
    }
    return missing.join(', ')
  }

  /** Waits until `check` holds. Throws after `limitMs`. */
  async until(what: string, limitMs: number, check: () => boolean): Promise<void> {
    const giveUpAt = performance.now() + limitMs
    while (!check()) {
      if (performance.now() > giveUpAt) throw new Error(`not in ${limitMs} ms: ${what}`)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }

  /** Ends the loads after their current batches. */
  async stopLoads(): Promise<void> {
    await this.world.untilBrokersRun()
    const { countLoad, deltaLoad, abortedLoad } = this
    await Promise.all([countLoad.stop(), deltaLoad.stop(), abortedLoad.stop()])
  }

  /** Stops jobs, loads, sessions and proxies. */
  async close(): Promise<void> {
    await Promise.all(this.jobs.map((job) => job.stop('SIGKILL')))
    await this.stopLoads()
    await Promise.all(this.sessions.map((session) => session.stop()))
    await this.queryLine.stop()
  }
}
