import type { Clock } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import type { MetricSnapshot } from '../../core/metrics.ts'
import type { AccumulatorPart } from '../../operators/port/accumulator.ts'
import type {
  Barrier,
  CheckpointAck,
  CheckpointDecline,
} from '../checkpoint/protocol/checkpoint-types.ts'
import { type DroppedState, droppedWarnings } from '../checkpoint/protocol/dropped-state.ts'
import { SlotActivity } from '../protocol/slot-activity.ts'
import { failureOf, type SlotHost } from '../protocol/slot-host.ts'
import type { SlotCommand, SlotReport } from '../protocol/slot-messages.ts'
import { type AttemptDeployment, deploySlots } from './deployment.ts'
import { PeerTables } from './peer-tables.ts'

/** Longest wait for a slot to close its part of the attempt; after it the slot is ended by force. */
const CLOSE_TIMEOUT_MS = 10_000

/** Options of an attempt. */
export interface AttemptOptions {
  readonly slots: readonly SlotHost[]
  readonly clock: Clock
  /** Fingerprint of the main thread's graph; every slot must build the same graph. */
  readonly fingerprint: string
  /** State of the checkpoint that no slot gets. */
  readonly dropped: readonly DroppedState[]
  readonly deployment: AttemptDeployment
  readonly receivers: ReportReceivers
}

/** Receivers of what the slots of an attempt report, each of the reports that it handles. */
export interface ReportReceivers {
  readonly job: AttemptListener
  /** Undefined for a job that takes no checkpoints. */
  readonly checkpoints: CheckpointReceiver | undefined
  readonly serving: ServingReceiver
  readonly coordinators: CoordinatorReceiver
}

/** Listener for the states of an attempt: the job. */
export interface AttemptListener {
  /** The attempt failed; called once. */
  failed(error: WeirError): void
  /** Every slot processes. */
  running(): void
  /** Every input has ended. */
  ended(): void
  /** A slot reports a problem that does not stop it. */
  warned(warning: WeirError): void
}

/** Receiver of acknowledgements and refusals: the coordinator of checkpoints. */
export interface CheckpointReceiver {
  onAck(ack: CheckpointAck): void
  onDecline(decline: CheckpointDecline): void
}

/** Receiver of what readers must know: running slots, row tables and queryable states. */
export interface ServingReceiver {
  onReport(slot: number, report: SlotReport): void
}

/** Receiver of the events that subtasks send to their operator's coordinator. */
export interface CoordinatorReceiver {
  onEvent(report: Extract<SlotReport, { kind: 'operator-event' }>): void
}

interface CommitWaiter {
  readonly checkpointId: number
  resolve(): void
  reject(error: WeirError): void
}

/** Count of the slots that have sent the same report. */
class SlotTally {
  private readonly slots: number
  private readonly seen = new Set<number>()

  constructor(slots: number) {
    this.slots = slots
  }

  /** True when this slot was the last one missing. */
  add(slot: number): boolean {
    if (this.seen.has(slot)) return false
    this.seen.add(slot)
    return this.seen.size === this.slots
  }
}

/** One attempt of a job over its slots: deploys, starts, commits and closes them. */
export class AttemptExecution {
  readonly attempt: number
  private readonly options: AttemptOptions
  private readonly restored: SlotTally
  /** What the slots that have restored their state left out. */
  private readonly dropped: DroppedState[]
  private readonly runningSlots: SlotTally
  private readonly endedSlots: SlotTally
  private readonly committedUpTo: number[]
  private readonly lostSlots = new Set<number>()
  private readonly closedSlots = new Set<number>()
  private commitWaiters: CommitWaiter[] = []
  private closing: Promise<readonly number[]> | undefined
  private closeWaiter: (() => void) | undefined
  private firstCloseFailure: WeirError | undefined
  private metricRequests = 0
  private readonly metricWaiters = new Map<number, (slot: number, m: MetricSnapshot) => void>()
  /** By slot, what its accumulators held at its last report. */
  readonly accumulators = new Map<number, readonly AccumulatorPart[]>()
  /** Slots read each other's row tables in place. */
  readonly peerTables: PeerTables
  /** What has ended the attempt; undefined for one that runs, or that was closed. */
  failure: WeirError | undefined
  private over = false

  constructor(options: AttemptOptions) {
    this.options = options
    this.attempt = options.deployment.attempt
    const count = options.slots.length
    this.restored = new SlotTally(count)
    this.dropped = [...options.dropped]
    this.runningSlots = new SlotTally(count)
    this.endedSlots = new SlotTally(count)
    this.committedUpTo = new Array<number>(count).fill(0)
    this.peerTables = new PeerTables(options.slots)
  }

  /** Sends every slot its part of the job. */
  deploy(): void {
    deploySlots(this.options.slots, this.options.deployment)
  }

  /** A report of a slot; one of another attempt is ignored. */
  onReport(slot: number, report: SlotReport): void {
    if (report.attempt !== this.attempt) return
    const { job, checkpoints, serving, coordinators } = this.options.receivers
    switch (report.kind) {
      case 'restored':
        this.onRestored(slot, report)
        return
      case 'running':
        serving.onReport(slot, report)
        // One slot may fail before another one runs: the job must not become RUNNING after that.
        if (this.runningSlots.add(slot) && !this.over) job.running()
        return
      case 'ended':
        if (this.endedSlots.add(slot) && !this.over) job.ended()
        return
      case 'committed':
        this.committedUpTo[slot] = Math.max(this.committedUpTo[slot]!, report.checkpointId)
        this.settleCommits()
        return
      case 'closed':
        this.accumulators.set(slot, report.accumulators)
        if (report.failure !== undefined) this.firstCloseFailure ??= failureOf(report.failure)
        this.closedSlots.add(slot)
        this.slotGone(slot)
        return
      case 'failed':
        this.fail(failureOf(report))
        return
      case 'warning':
        job.warned(new WeirError(report.code, report.message, { details: report.details }))
        return
      case 'ack':
        checkpoints?.onAck(report.ack)
        return
      case 'decline':
        checkpoints?.onDecline(report.decline)
        return
      case 'metrics':
        if (report.accumulators !== undefined) this.accumulators.set(slot, report.accumulators)
        this.metricWaiters.get(report.request)?.(slot, report.metrics)
        return
      case 'operator-event':
        coordinators.onEvent(report)
        return
      default:
        this.peerTables.onReport(slot, report)
        serving.onReport(slot, report)
    }
  }

  /** A slot is lost. */
  onLost(slot: number, error: WeirError): void {
    this.lostSlots.add(slot)
    this.slotGone(slot)
    this.fail(error)
  }

  /** Fails the attempt. */
  fail(error: WeirError): void {
    if (this.over) return
    this.over = true
    this.failure = error
    this.rejectCommits(error)
    this.options.receivers.job.failed(error)
  }

  /** Injects a barrier at every source. */
  trigger(barrier: Barrier, stopAfter: boolean): void {
    const { attempt } = this
    this.sendAll({ kind: 'trigger-checkpoint', attempt, barrier, stopAfter })
  }

  /** Sends a command to every slot. */
  sendAll(command: SlotCommand): void {
    for (const host of this.options.slots) host.send(command)
  }

  /** Resolves when every slot has committed its part of the checkpoint; rejects when one fails. */
  committed(checkpointId: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.commitWaiters.push({ checkpointId, resolve, reject })
      this.settleCommits()
    })
  }

  /**
   * Metrics of every slot that answers within a second; a slot that closes or is lost is not waited for. With the
   * uid of an operator, its records by number of the key group.
   */
  metrics(keyGroupsOf?: string): Promise<MetricSnapshot> {
    const request = ++this.metricRequests
    const missing = new Set([...this.options.slots.keys()].filter((slot) => !this.isGone(slot)))
    const all: Record<string, number> = {}
    if (missing.size === 0) return Promise.resolve(all)
    return new Promise((resolve) => {
      const done = (): void => {
        this.metricWaiters.delete(request)
        cancel()
        resolve(all)
      }
      const cancel = this.options.clock.after(1000, done)
      this.metricWaiters.set(request, (slot, metrics) => {
        Object.assign(all, metrics)
        missing.delete(slot)
        if (missing.size === 0) done()
      })
      this.sendAll({ kind: 'metrics', attempt: this.attempt, request, keyGroupsOf })
    })
  }

  /** Closes the attempt in every slot; slots that do not answer in time are in the result. */
  close(): Promise<readonly number[]> {
    this.closing ??= this.closeSlots()
    return this.closing
  }

  /** What the first operator threw that could not be closed. */
  get closeFailure(): WeirError | undefined {
    return this.firstCloseFailure
  }

  private async closeSlots(): Promise<readonly number[]> {
    this.over = true
    this.rejectCommits(new WeirError('ILLEGAL_STATE', 'the job has ended before it committed'))
    const { attempt } = this
    const activity = new SlotActivity(this.options.deployment.activity)
    for (const slot of this.options.slots.keys()) activity.end({ slot, attempt })
    this.sendAll({ kind: 'close', attempt })
    await new Promise<void>((resolve) => {
      const cancel = this.options.clock.after(CLOSE_TIMEOUT_MS, resolve)
      this.closeWaiter = () => {
        cancel()
        resolve()
      }
      this.settleClose()
    })
    return [...this.options.slots.keys()].filter(
      (slot) => !this.closedSlots.has(slot) || this.lostSlots.has(slot),
    )
  }

  private onRestored(
    slot: number,
    { fingerprint, dropped }: Extract<SlotReport, { kind: 'restored' }>,
  ): void {
    if (fingerprint !== this.options.fingerprint) {
      this.fail(
        new WeirError(
          'INVALID_GRAPH',
          `slot ${slot} built another graph than the main thread; make the job's build() deterministic`,
        ),
      )
      return
    }
    this.dropped.push(...dropped)
    if (!this.restored.add(slot)) return
    for (const warning of droppedWarnings(this.dropped)) this.options.receivers.job.warned(warning)
    this.sendAll({ kind: 'start', attempt: this.attempt })
  }

  private rejectCommits(error: WeirError): void {
    for (const waiter of this.commitWaiters.splice(0)) waiter.reject(error)
  }

  private settleCommits(): void {
    const least = Math.min(...this.committedUpTo)
    const due = this.commitWaiters.filter(({ checkpointId }) => checkpointId <= least)
    this.commitWaiters = this.commitWaiters.filter(({ checkpointId }) => checkpointId > least)
    for (const { resolve } of due) resolve()
  }

  private isGone(slot: number): boolean {
    return this.closedSlots.has(slot) || this.lostSlots.has(slot)
  }

  /** A slot answers nothing more. */
  private slotGone(slot: number): void {
    for (const answered of [...this.metricWaiters.values()]) answered(slot, {})
    this.settleClose()
  }

  private settleClose(): void {
    const gone = this.options.slots.filter((_, slot) => this.isGone(slot))
    if (gone.length === this.options.slots.length) this.closeWaiter?.()
  }
}
