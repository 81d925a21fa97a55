import { randomBytes } from 'node:crypto'
import { type Random, seededRandom } from '../src/core/random.ts'
import { freePorts } from '../test/services/free-port.ts'
import { COUNT_ROWS, COUNTS } from './counts-job.ts'
import { ITEM_ROWS } from './deltas-job.ts'
import { FAULTS, type Fault, rotation } from './faults.ts'
import { judge } from './judge.ts'
import { createTopics, openProducer } from './kafkajs.ts'
import { Load } from './load.ts'
import type { Observation, Violation } from './observation.ts'
import { QueryLine } from './query-line.ts'
import { QuerySession, type QueryTarget } from './query-session.ts'
import { SupervisedJob } from './supervised-job.ts'
import type { FaultReport, VerifyReport } from './verify-report.ts'
import {
  countKeys,
  countMessages,
  DIMENSION,
  deltaMessages,
  itemKeys,
  PARTITIONS,
  rowMessages,
} from './workloads.ts'
import type { World } from './world.ts'

/** Ways to make Weir wrong on purpose: a verdict that stays `passed` shows a blind verifier. */
export type Mutation = 'none' | 'at-least-once' | 'repeated-deltas'

/** What a verification does. */
export interface VerifyOptions {
  readonly seed: number
  /** Faults go on for so long, but each comes `rounds` times at least. */
  readonly minutes: number
  /** @default 1 */
  readonly rounds?: number
  /** Names of faults; all when missing. */
  readonly faults?: readonly string[]
  readonly mutation?: Mutation
  /** Logs of the job processes. */
  readonly folder: string
  readonly say: (line: string) => void
  /** Ends the faults early; the verdict still comes. */
  readonly signal?: AbortSignal
  /** A fault whose recovery takes longer is a violation. */
  readonly deadlineMs?: number
}

const SLOTS = 2
const SESSIONS_PER_JOB = 2
const DEADLINE_MS = 60_000
/** The first start compiles and loads everything. */
const START_LIMIT_MS = 180_000
/** Faults come this long after the recovery from the last one, at random. */
const PAUSE_MS = 400

/** Everything of one verification that is under way. */
export class Verification {
  readonly name = `v${randomBytes(4).toString('hex')}`
  readonly options: VerifyOptions
  readonly world: World
  readonly counts: SupervisedJob
  readonly deltas: SupervisedJob
  readonly countLoad: Load
  readonly deltaLoad: Load
  readonly history: Observation[] = []
  readonly violations: Violation[] = []
  readonly faults = new Map<string, FaultReport>()
  readonly sessions: readonly QuerySession[]
  readonly ports: readonly number[]
  kills = 0
  readonly startedMs = performance.now()
  private readonly random: Random
  private readonly queryLine = new QueryLine()
  /** By kind of fault: which job is next, so that all have their turn. */
  private readonly turns = new Map<string, number>()

  private constructor(world: World, options: VerifyOptions, ports: readonly number[]) {
    this.world = world
    this.options = options
    this.ports = ports
    this.random = seededRandom(options.seed)
    const seedOf = (n: number): Random => seededRandom(options.seed * 31 + n)
    const brokers = world.directBrokers
    const load = { brokers, batch: 20, everyMs: 50 }
    this.countLoad = new Load({ ...load, topic: this.topic('in'), next: countMessages(seedOf(1)) })
    this.deltaLoad = new Load({
      ...load,
      topic: this.topic('deltas'),
      next: deltaMessages(seedOf(2)),
    })
    this.counts = this.countsJob(ports[0]!)
    this.deltas = this.deltasJob(ports[1]!)
    this.sessions = this.newSessions(seedOf)
  }

  /** Runs loads, faults and queries against the world, and judges. Leaves nothing running. */
  static async run(world: World, options: VerifyOptions): Promise<VerifyReport> {
    const verification = new Verification(world, options, await freePorts(2))
    try {
      await verification.begin()
      await verification.breakThings()
      return await judge(verification)
    } finally {
      await verification.close()
    }
  }

  topic(kind: 'in' | 'out' | 'rows' | 'deltas'): string {
    return `${this.name}-${kind}`
  }

  get jobs(): readonly SupervisedJob[] {
    return [this.counts, this.deltas]
  }

  private get checkpointFolder(): string {
    return `/${this.name}`
  }

  private job(name: 'counts' | 'deltas', port: number, jobOptions: object): SupervisedJob {
    const settings = {
      module: `./${name}-job.ts`,
      jobId: randomBytes(16).toString('hex'),
      jobOptions: { brokers: this.world.weirBrokers, requestTimeoutMs: 4000, ...jobOptions },
      configuration: {
        'parallelism.default': String(SLOTS),
        'pipeline.max-parallelism': '32',
        'state.backend.directory': `${this.options.folder}/${name}-state`,
        'execution.checkpointing.interval': '600 ms',
        'execution.checkpointing.timeout': '8 s',
        'execution.checkpointing.num-retained': '2',
        'execution.checkpointing.tolerable-failed-checkpoints': '100000',
        'execution.checkpointing.dir': this.world.checkpoints(`${this.checkpointFolder}/${name}`),
        'restart-strategy.type': 'fixed-delay',
        'restart-strategy.fixed-delay.attempts': '1000000',
        'restart-strategy.fixed-delay.delay': '200 ms',
      },
      port,
    }
    return new SupervisedJob(name, SLOTS, settings, this.queryLine, this.options.folder)
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
        { ...countTarget, state: COUNT_ROWS, kind: 'rows', levels: all },
      ],
      [
        {
          ...{ state: ITEM_ROWS, kind: 'rows', levels: all, keys: itemKeys() },
          ...{ recordSuffix: '@1', load: this.deltaLoad },
        },
      ],
    ]
    const { history, violations, ports } = this
    return targets.flatMap((ofJob, job) =>
      Array.from({ length: SESSIONS_PER_JOB }, (_, i) => {
        const session = job * SESSIONS_PER_JOB + i
        const where = { session, port: ports[job]!, job: `verified-${this.jobs[job]!.name}` }
        const random = seedOf(10 + session)
        return new QuerySession({ ...where, targets: ofJob, random, history, violations })
      }),
    )
  }

  private async begin(): Promise<void> {
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
    this.countLoad.start()
    this.deltaLoad.start()
    for (const session of this.sessions) session.start()
    await this.recover(Date.now(), 'start')
    options.say(`the jobs run; faults begin (seed ${options.seed})`)
  }

  private async breakThings(): Promise<void> {
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
      const { outageMs, recoveryMs } = await this.breakOne(fault)
      say(`${number} ${fault.name}: broken for ${outageMs} ms, recovered ${recoveryMs} ms later`)
    }
  }

  private async breakOne(fault: Fault): Promise<{ outageMs: number; recoveryMs: number }> {
    const { world, queryLine, checkpointFolder, random } = this
    const turn = this.turns.get(fault.name) ?? this.faults.size
    this.turns.set(fault.name, turn + 1)
    const job = this.jobs[turn % this.jobs.length]!
    const brokenMs = Date.now()
    await fault.inject({ world, job, queryLine, checkpointFolder, random })
    if (fault.kills) this.kills += 1
    const healedMs = Date.now()
    const recoveryMs = await this.recover(healedMs, fault.name)
    const report = this.faults.get(fault.name) ?? { count: 0, outageMs: [], recoveryMs: [] }
    report.count += 1
    report.outageMs.push(healedMs - brokenMs)
    report.recoveryMs.push(recoveryMs)
    this.faults.set(fault.name, report)
    return { outageMs: healedMs - brokenMs, recoveryMs }
  }

  /**
   * Waits until everything has progressed since a time: each job has completed a checkpoint that was
   * triggered later (with it the results are committed), each session was answered, and of each job a
   * record that was stored later was read. Returns the ms it took; longer than the deadline is a
   * violation.
   */
  async recover(sinceMs: number, what: string): Promise<number> {
    const limitMs = this.options.deadlineMs ?? DEADLINE_MS
    try {
      await this.until(`${what}: everything goes on`, limitMs, () => this.missing(sinceMs) === '')
    } catch {
      const detail = `${what}: ${this.missing(sinceMs)} after ${limitMs} ms`
      this.violations.push({ kind: 'hangs', detail })
      this.options.say(`VIOLATION: ${detail}`)
    }
    return Date.now() - sinceMs
  }

  /** What has not progressed since a time, in words. */
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
        missing.push(`no new record of ${job.name} could be read`)
      }
    }
    return missing.join(', ')
  }

  async until(what: string, limitMs: number, check: () => boolean): Promise<void> {
    const giveUpAt = performance.now() + limitMs
    while (!check()) {
      if (performance.now() > giveUpAt) throw new Error(`not in ${limitMs} ms: ${what}`)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }

  private async close(): Promise<void> {
    await Promise.all(this.jobs.map((job) => job.stop('SIGKILL')))
    await Promise.all([this.countLoad.stop(), this.deltaLoad.stop()])
    await Promise.all(this.sessions.map((session) => session.stop()))
    await this.queryLine.stop()
  }
}
