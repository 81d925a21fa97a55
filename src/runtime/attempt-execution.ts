import { MessageChannel } from 'node:worker_threads'
import type {
  Barrier,
  CheckpointAck,
  CheckpointDecline,
} from '../checkpoint/protocol/checkpoint-types.ts'
import type { RestorePlan, SubtaskRestore } from '../checkpoint/protocol/restore-plan.ts'
import type { Clock } from '../core/clock.ts'
import { WeirError } from '../core/errors.ts'
import type { MetricSnapshot } from '../core/metrics.ts'
import type { SourceSplit } from '../operators/source.ts'
import type { ProgressBoardShare } from '../state/progress-board.ts'
import type { JobConfiguration } from './configuration.ts'
import { failureOf, type SlotHost } from './slot-host.ts'
import type { MessagePortLike, SlotCommand, SlotReport } from './slot-protocol.ts'

/** Longest wait for a slot to close what it runs, after which it is ended by force. */
const CLOSE_TIMEOUT_MS = 10_000

/** What an attempt is made of. */
export interface AttemptOptions {
  readonly jobId: string
  readonly jobName: string
  readonly attempt: number
  readonly slots: readonly SlotHost[]
  readonly configuration: JobConfiguration
  readonly board: ProgressBoardShare
  readonly clock: Clock
  readonly fingerprint: string
  readonly generation: number
  readonly storageUrl: string | undefined
  readonly restoredCheckpoint: number
  readonly restoredSplits: readonly SourceSplit[]
  readonly plan: RestorePlan
  /** Hears what an attempt does not handle itself. */
  readonly listener: AttemptListener
}

/** What an attempt tells the job. */
export interface AttemptListener {
  /** The attempt cannot go on; told once. */
  failed(error: WeirError): void
  /** Every slot processes. */
  running(): void
  /** Every input has ended. */
  ended(): void
  acknowledged(ack: CheckpointAck): void
  declined(decline: CheckpointDecline): void
  /** A report that concerns serving, coordinators or one slot's life. */
  other(slot: number, report: SlotReport): void
}

interface CommitWaiter {
  readonly checkpointId: number
  resolve(): void
  reject(error: WeirError): void
}

/** Waits for the same report of every slot. */
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

  has(slot: number): boolean {
    return this.seen.has(slot)
  }
}

/** One attempt of a job over its slots: deploys, starts, commits and closes them. */
export class AttemptExecution {
  readonly attempt: number
  private readonly options: AttemptOptions
  private readonly restored: SlotTally
  private readonly runningSlots: SlotTally
  private readonly endedSlots: SlotTally
  private readonly committedUpTo: number[]
  private readonly lostSlots = new Set<number>()
  private readonly closedSlots = new Set<number>()
  private commitWaiters: CommitWaiter[] = []
  private closing: Promise<readonly number[]> | undefined
  private closeWaiter: (() => void) | undefined
  private metricRequests = 0
  private readonly metricWaiters = new Map<number, (slot: number, m: MetricSnapshot) => void>()
  private over = false
  allEnded = false

  constructor(options: AttemptOptions) {
    this.options = options
    this.attempt = options.attempt
    const count = options.slots.length
    this.restored = new SlotTally(count)
    this.runningSlots = new SlotTally(count)
    this.endedSlots = new SlotTally(count)
    this.committedUpTo = new Array<number>(count).fill(0)
  }

  /** Hands every slot its part of the job. */
  deploy(): void {
    const { options } = this
    const peers = connectSlots(options.slots.length)
    options.slots.forEach((host, slot) => {
      const own = peers[slot]!
      const ports = own.filter((port) => port !== undefined)
      const { jobId, jobName, attempt, configuration, generation, storageUrl, board } = options
      const deployment = {
        jobId,
        jobName,
        attempt,
        slot,
        slots: options.slots.length,
        configuration,
        generation,
        storageUrl,
        restoredCheckpoint: options.restoredCheckpoint,
        restoredSplits: options.restoredSplits,
        restore: restoreOf(options.plan, slot),
        board,
        peers: own,
      }
      host.send({ kind: 'deploy', attempt, deployment }, ports)
    })
  }

  /** A slot's report of this attempt. */
  onReport(slot: number, report: SlotReport): void {
    const { listener } = this.options
    switch (report.kind) {
      case 'restored':
        this.onRestored(slot, report.fingerprint)
        return
      case 'running':
        listener.other(slot, report)
        // One slot may fail before another one runs: the job must not become RUNNING after that.
        if (this.runningSlots.add(slot) && !this.over) listener.running()
        return
      case 'ended':
        if (!this.endedSlots.add(slot) || this.over) return
        this.allEnded = true
        listener.ended()
        return
      case 'committed':
        this.committedUpTo[slot] = Math.max(this.committedUpTo[slot]!, report.checkpointId)
        this.settleCommits()
        return
      case 'closed':
        this.closedSlots.add(slot)
        this.settleClose()
        return
      case 'failed':
        this.fail(failureOf(report))
        return
      case 'ack':
        listener.acknowledged(report.ack)
        return
      case 'decline':
        listener.declined(report.decline)
        return
      case 'metrics':
        this.metricWaiters.get(report.request)?.(slot, report.metrics)
        return
      default:
        this.tellPeers(slot, report)
        listener.other(slot, report)
    }
  }

  /** Slots read each other's row tables in place. */
  private tellPeers(slot: number, report: SlotReport): void {
    const command = peerCommand(slot, report)
    if (command === undefined) return
    this.options.slots.forEach((host, other) => {
      if (other !== slot) host.send(command)
    })
  }

  /** A slot is gone. */
  onLost(slot: number, error: WeirError): void {
    this.lostSlots.add(slot)
    this.settleClose()
    this.fail(error)
  }

  /** The attempt cannot go on. */
  fail(error: WeirError): void {
    if (this.over) return
    this.over = true
    this.rejectCommits(error)
    this.options.listener.failed(error)
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

  /** Resolves when every slot has committed what belongs to the checkpoint; rejects when one fails. */
  committed(checkpointId: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.commitWaiters.push({ checkpointId, resolve, reject })
      this.settleCommits()
    })
  }

  /** Metrics of every slot that answers within a second. */
  metrics(): Promise<MetricSnapshot> {
    const request = ++this.metricRequests
    const missing = new Set(this.options.slots.keys())
    const all: Record<string, number> = {}
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
      this.sendAll({ kind: 'metrics', attempt: this.attempt, request })
    })
  }

  /** Closes the attempt in every slot; slots that do not answer in time are in the result. */
  close(): Promise<readonly number[]> {
    this.closing ??= this.closeSlots()
    return this.closing
  }

  private async closeSlots(): Promise<readonly number[]> {
    this.over = true
    this.rejectCommits(new WeirError('ILLEGAL_STATE', 'the job has ended before it committed'))
    this.sendAll({ kind: 'close', attempt: this.attempt })
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

  private onRestored(slot: number, fingerprint: string): void {
    if (fingerprint !== this.options.fingerprint) {
      this.fail(
        new WeirError(
          'INVALID_GRAPH',
          `slot ${slot} built another graph than the main thread; make the job's build() deterministic`,
        ),
      )
      return
    }
    if (this.restored.add(slot)) this.sendAll({ kind: 'start', attempt: this.attempt })
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

  private settleClose(): void {
    const gone = this.options.slots.filter(
      (_, slot) => this.closedSlots.has(slot) || this.lostSlots.has(slot),
    )
    if (gone.length === this.options.slots.length) this.closeWaiter?.()
  }
}

/** A port for every pair of slots: `result[i][j]` is slot i's end to slot j. */
function connectSlots(slots: number): (MessagePortLike | undefined)[][] {
  const ports: (MessagePortLike | undefined)[][] = Array.from({ length: slots }, () =>
    new Array<MessagePortLike | undefined>(slots).fill(undefined),
  )
  for (let i = 0; i < slots; i++) {
    for (let j = i + 1; j < slots; j++) {
      const { port1, port2 } = new MessageChannel()
      ports[i]![j] = port1
      ports[j]![i] = port2
    }
  }
  return ports
}

/** What the subtasks of one slot restore: subtask i of every operator lives in slot i. */
function restoreOf(plan: RestorePlan, slot: number): SubtaskRestore[] {
  return [...plan.values()].flatMap((subtasks) =>
    subtasks.filter(({ subtask }) => subtask === slot),
  )
}

/** What the other slots are told of a slot's row tables. */
function peerCommand(slot: number, report: SlotReport): SlotCommand | undefined {
  const { attempt } = report
  if (report.kind === 'table-opened') {
    return { kind: 'peer-table-opened', attempt, share: report.share }
  }
  if (report.kind !== 'table-dropped') return undefined
  const { operatorUid, state, version } = report
  return { kind: 'peer-table-dropped', attempt, operatorUid, state, version, slot }
}
