import type { Clock } from '../../../core/clock.ts'
import { asWeirError, WeirError } from '../../../core/errors.ts'
import type { MetricSnapshot } from '../../../core/metrics.ts'
import type { CpuProfile, JobControl, StopRequest } from '../../rest/port/job-control.ts'
import type { JobSnapshot, MemberSnapshot } from '../../rest/port/job-snapshot.ts'
import type {
  AssignmentView,
  ProcessAction,
  ProcessReport,
  ProcessRow,
  ScaledJob,
} from '../../rest/port/scaled-job.ts'
import { restUrlOf } from '../peers/peer-address.ts'
import type { AskPeers } from './ask-peers.ts'
import { assignmentView, type PeerAnswer } from './assignment-view.ts'
import { mergedJob } from './merged-job.ts'
import type { OperatedProcess } from './operated-process.ts'
import { emptyJob, type ReportedJob, reportOf } from './process-report.ts'
import { ScaledJobData } from './scaled-job-data.ts'
import {
  type StopKind,
  type StopRecord,
  type StopRecords,
  stoppedSentence,
} from './stop-records.ts'

/** Age up to which answers of all processes answer again: one page of a dashboard sends many requests at once. */
const FRESH_MS = 250
/** Time in which the answer to a command leaves before the port closes, ms. */
const ANSWER_MS = 200

/** Options of `ScaledJobControl`. */
export interface ScaledJobOptions extends ReportedJob {
  readonly peers: AskPeers
  readonly records: StopRecords
  /** An id of a stop record: 16 hex digits. */
  readonly newId: () => string
  readonly clock: Clock
}

/** A process, and the URL of its REST interface. */
interface Attached {
  readonly process: OperatedProcess
  readonly rest: string
}

/** A job in many processes as the REST interface of one of them sees it: it asks the others, and shows all. */
export class ScaledJobControl implements JobControl, ScaledJob {
  readonly data = new ScaledJobData()
  private readonly options: ScaledJobOptions
  private attached: Attached | undefined
  private found: StopRecord | undefined
  private last:
    | { readonly atMs: number; readonly answers: Promise<readonly PeerAnswer[]> }
    | undefined
  private commandMs = Number.NEGATIVE_INFINITY

  constructor(options: ScaledJobOptions) {
    this.options = options
  }

  get id(): string {
    return this.options.jobId
  }

  get scaled(): ScaledJob {
    return this
  }

  /** The record for which this process has ended or ends; undefined for a job that runs. */
  get stopRecord(): StopRecord | undefined {
    return this.found
  }

  /** Begins to report on a process, whose REST interface has this URL. */
  attach(process: OperatedProcess, rest: string): void {
    this.attached = { process, rest }
  }

  /** Resolves when answers to commands have had time to leave. */
  async answered(): Promise<void> {
    const { clock } = this.options
    const restMs = this.commandMs + ANSWER_MS - clock.monotonicMs()
    if (restMs > 0) await new Promise<void>((resolve) => clock.after(restMs, resolve))
  }

  /**
   * Throws ILLEGAL_STATE if the job was ended by a command, of which this process has not heard: it then ends, too. For
   * each partition that it is about to start.
   */
  async requireGoesOn(): Promise<void> {
    const { records, name } = this.options
    this.found ??= await records.newest()
    if (this.found === undefined) return
    void this.attached?.process.end(true).catch(() => undefined)
    throw new WeirError('ILLEGAL_STATE', stoppedSentence(name, this.found))
  }

  async report(): Promise<ProcessReport> {
    const { process, rest } = this.requireStarted()
    return await reportOf(process, this.options, { rest, clock: this.options.clock })
  }

  async assignment(): Promise<AssignmentView> {
    const { process } = this.requireStarted()
    const { name, partitions } = this.options
    const { map } = process.membership
    return assignmentView(await this.answers(), { applicationId: name, partitions, map })
  }

  async snapshot(): Promise<JobSnapshot> {
    return await this.merged(await this.answers())
  }

  /** The part of the job that runs in this process. */
  async ownSnapshot(): Promise<JobSnapshot> {
    const { attached, options } = this
    return attached === undefined
      ? emptyJob(options, options.clock.nowMs())
      : (await this.report()).job
  }

  async act(action: ProcessAction): Promise<void> {
    const { process } = this.requireStarted()
    this.last = undefined
    if (action === 'drain' || action === 'balance') {
      process.rebalance(action === 'drain')
      return
    }
    this.found ??= await this.options.records.newest()
    await process.end(action === 'stop')
    this.commandMs = this.options.clock.monotonicMs()
  }

  async rebalance(drain: string | undefined): Promise<readonly string[]> {
    this.last = undefined
    const { processes } = await this.assignment()
    this.last = undefined
    const there = processes.filter(({ status }) => status === 'answers')
    if (drain === undefined) {
      await Promise.all(there.map((row) => this.actAt(row, 'balance')))
      return there.map(({ member }) => member)
    }
    const row = memberNamed(drain, processes)
    const others = there.filter((other) => other !== row && !other.isDraining)
    if (others.length === 0) {
      throw new WeirError(
        'ILLEGAL_STATE',
        `${row.member} is the only process that takes job partitions: start another one first, or end the job with "weir stop"`,
      )
    }
    await this.actAt(row, 'drain')
    return [row.member]
  }

  async cancel(): Promise<void> {
    await this.note('cancelled')
    this.options.clock.after(ANSWER_MS, () => void this.endAll('cancel').catch(() => undefined))
  }

  async stop({ folder, drain }: StopRequest): Promise<string> {
    if (folder !== undefined || drain) {
      throw new WeirError(
        'UNSUPPORTED',
        'a job in many processes stops with the last checkpoints of its partitions: leave out the folder of a savepoint, and --drain',
      )
    }
    const { place } = await this.note('stopped')
    await this.endAll('stop')
    return place
  }

  checkpoint(): Promise<never> {
    return refuse('takes checkpoints of each job partition by itself, and none of all together')
  }

  savepoint(): Promise<never> {
    return refuse(
      'has no savepoint of all job partitions: "weir stop" ends it, and --restore-from goes on where it was',
    )
  }

  keyGroupRecords(): Promise<MetricSnapshot> {
    return refuse('does not count records by key group')
  }

  profile(): Promise<CpuProfile> {
    return refuse('records no profiles of slots, which its partitions share')
  }

  /** Writes the record first: a process that hears of no command finds it when it takes a partition over. */
  private async note(how: StopKind): Promise<StopRecord> {
    const { records, newId, clock } = this.options
    this.requireStarted()
    this.found = await records.write(how, { id: newId(), nowMs: clock.nowMs() })
    return this.found
  }

  private async endAll(action: 'stop' | 'cancel'): Promise<void> {
    const { peers } = this.options
    // Those that do not hear of it find the record.
    await Promise.allSettled(this.others().map(({ url }) => peers.act(url, action)))
    await this.act(action)
  }

  private async actAt({ member, rest }: ProcessRow, action: ProcessAction): Promise<void> {
    const { process } = this.requireStarted()
    if (member === process.membership.memberId) return await this.act(action)
    if (rest === null) {
      throw new WeirError(
        'UNAVAILABLE',
        `${member} has no REST interface that this process reaches`,
      )
    }
    await this.options.peers.act(rest, action)
  }

  private async merged(answers: readonly PeerAnswer[]): Promise<JobSnapshot> {
    const { clock } = this.options
    const base = emptyJob(this.options, clock.nowMs())
    const jobs = answers.flatMap((answer) => (answer.kind === 'report' ? answer.report.job : []))
    const running = jobs.filter(({ slots }) => slots.length > 0)
    return { ...mergedJob(base, running), processes: this.membersOf(answers) }
  }

  private membersOf(answers: readonly PeerAnswer[]): readonly MemberSnapshot[] {
    const { map } = this.attached?.process.membership ?? { map: undefined }
    return answers.map((answer) => {
      if (answer.kind === 'report') {
        const { rest, slots, partitions, job } = answer.report
        const owned = partitions.map(({ partition }) => partition)
        return { address: rest, slots, owned, process: job.process }
      }
      const { place, rest, reason } = answer
      const owned = map?.owners.flatMap((owner, p) => (owner === place ? [p] : [])) ?? []
      const address = `${rest ?? `process ${place}`} (silent: ${reason})`
      return { address, slots: 0, owned, process: undefined }
    })
  }

  /** What all processes say, this one first. */
  private async answers(): Promise<readonly PeerAnswer[]> {
    if (this.attached === undefined) return []
    const atMs = this.options.clock.monotonicMs()
    if (this.last === undefined || atMs - this.last.atMs >= FRESH_MS) {
      this.last = { atMs, answers: this.askAll() }
    }
    return await this.last.answers
  }

  private async askAll(): Promise<readonly PeerAnswer[]> {
    const { peers } = this.options
    const { map, self } = this.requireStarted().process.membership
    const asked = map.addresses.map(async (address, place): Promise<PeerAnswer | undefined> => {
      if (place === self) return undefined
      const rest = restUrlOf(address)
      const silent = (reason: string): PeerAnswer => {
        return { kind: 'silent', place, rest: rest?.url, reason }
      }
      if (rest === undefined) return silent('it has no REST interface')
      if (!rest.isReachable) return silent(OTHER_MACHINE)
      try {
        return { kind: 'report', report: await peers.report(rest.url) }
      } catch (error) {
        return silent(asWeirError(error, 'UNAVAILABLE').message)
      }
    })
    const [own, ...others] = await Promise.all([this.report(), ...asked])
    const answers = others.filter((answer) => answer !== undefined)
    return [{ kind: 'report', report: own! as ProcessReport }, ...answers]
  }

  /** The REST interfaces of the other processes. */
  private others(): readonly { readonly url: string }[] {
    const { map, self } = this.requireStarted().process.membership
    return map.addresses.flatMap((address, place) => {
      const rest = place === self ? undefined : restUrlOf(address)
      return rest?.isReachable === true ? [{ url: rest.url }] : []
    })
  }

  private requireStarted(): Attached {
    if (this.attached !== undefined) return this.attached
    throw new WeirError('ILLEGAL_STATE', 'this process of the job starts; ask again in a moment')
  }
}

const OTHER_MACHINE =
  'its REST interface is for its own machine only: start it with -D rest.bind-address=ADDRESS, TLS and tokens'

/** The process that a user names by its member id, the beginning of one, or its REST address. Throws NOT_FOUND. */
function memberNamed(named: string, processes: readonly ProcessRow[]): ProcessRow {
  const found = processes.filter(
    ({ member, rest }) =>
      member.startsWith(named) || rest === named || rest?.replace(/^https?:\/\//, '') === named,
  )
  const [row, ...more] = found
  if (row !== undefined && more.length === 0) return row
  const known = processes.map(({ member }) => member).join(', ')
  throw new WeirError(
    'NOT_FOUND',
    row === undefined
      ? `no process of the job is "${named}"; there are ${known}`
      : `"${named}" means ${found.length} processes; there are ${known}`,
  )
}

function refuse(what: string): Promise<never> {
  return Promise.reject(new WeirError('UNSUPPORTED', `a job in many processes ${what}`))
}
