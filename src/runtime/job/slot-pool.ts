import type { Cancel, Clock } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import type { JobConfiguration } from '../configuration/configuration.ts'
import type { LongCall, SlotActivity } from '../protocol/slot-activity.ts'
import type { SlotHost, StartSlot } from '../protocol/slot-host.ts'
import type { SlotReport } from '../protocol/slot-messages.ts'

/** Listener of the job for its slots. */
export interface SlotPoolListener {
  report(slot: number, report: SlotReport): void
  lost(slot: number, error: WeirError): void
  /** A slot goes on in a long call, and has not answered for longer than `heartbeat.timeout`; once a call. */
  busy(slot: number, call: LongCall): void
  /** A slot was started, for the first time or again. */
  started(slot: number, host: SlotHost): void
}

/** Options of a pool. */
export interface SlotPoolOptions {
  /** Number of slots. */
  readonly count: number
  readonly startSlot: StartSlot
  readonly configuration: JobConfiguration
  readonly clock: Clock
  readonly activity: SlotActivity
  readonly listener: SlotPoolListener
}

/** The slots of one job: starts them, replaces lost ones, and detects those that do not answer. */
export class SlotPool {
  /** By slot number; complete after `ensureStarted`. */
  readonly hosts: SlotHost[] = []
  private readonly count: number
  private readonly startSlot: StartSlot
  private readonly configuration: JobConfiguration
  private readonly clock: Clock
  private readonly activity: SlotActivity
  private readonly listener: SlotPoolListener
  private readonly dead = new Set<number>()
  /** By slot: monotonic time of its last report. */
  private readonly lastReportMs: number[] = []
  /** By slot: its number of steps at the last beat, when that had changed, and whether its call was reported. */
  private readonly seen: { steps: number; changedMs: number; isReported: boolean }[] = []
  private cancelHeartbeat: Cancel | undefined

  constructor({ count, startSlot, configuration, clock, activity, listener }: SlotPoolOptions) {
    this.count = count
    this.startSlot = startSlot
    this.configuration = configuration
    this.clock = clock
    this.activity = activity
    this.listener = listener
  }

  /** Starts every slot that does not run. */
  ensureStarted(): void {
    for (let slot = 0; slot < this.count; slot++) {
      if (this.hosts[slot] !== undefined && !this.dead.has(slot)) continue
      this.dead.delete(slot)
      this.lastReportMs[slot] = this.clock.monotonicMs()
      const host = this.start(slot)
      this.hosts[slot] = host
      this.listener.started(slot, host)
    }
    if (this.cancelHeartbeat === undefined && this.hosts.some((host) => host.remote)) {
      this.scheduleHeartbeat()
    }
  }

  /** Ends slots; `ensureStarted` replaces them. */
  async discard(slots: readonly number[]): Promise<void> {
    for (const slot of slots) {
      this.dead.add(slot)
      await this.hosts[slot]?.terminate()
    }
  }

  /** Ends every slot. */
  async close(): Promise<void> {
    this.cancelHeartbeat?.()
    await Promise.all(this.hosts.map((host) => host.terminate()))
  }

  private start(slot: number): SlotHost {
    const host: SlotHost = this.startSlot(slot, {
      report: (report) => {
        this.lastReportMs[slot] = this.clock.monotonicMs()
        if (report.kind !== 'pong') this.listener.report(slot, report)
      },
      lost: (error) => {
        if (this.hosts[slot] !== host || this.dead.has(slot)) return
        this.dead.add(slot)
        this.listener.lost(slot, error)
      },
    })
    return host
  }

  private scheduleHeartbeat(): void {
    const { heartbeatIntervalMs } = this.configuration
    const dueMs = this.clock.monotonicMs() + heartbeatIntervalMs
    this.cancelHeartbeat = this.clock.after(heartbeatIntervalMs, () => {
      this.beat(this.clock.monotonicMs() - dueMs)
      this.scheduleHeartbeat()
    })
  }

  /**
   * A late beat means that this thread was blocked and could not receive answers: slots get another
   * interval.
   */
  private beat(lateMs: number): void {
    const { heartbeatIntervalMs, heartbeatTimeoutMs } = this.configuration
    const nowMs = this.clock.monotonicMs()
    for (const [slot, host] of this.hosts.entries()) {
      if (!host.remote || this.dead.has(slot)) continue
      if (lateMs > heartbeatIntervalMs) this.lastReportMs[slot] = nowMs
      const isSilent = nowMs - this.lastReportMs[slot]! > heartbeatTimeoutMs
      const isBusy = nowMs - this.lastStepMs(slot, nowMs) <= heartbeatTimeoutMs
      this.reportBusy(slot, isSilent)
      if (isSilent && !isBusy) this.declareLost(slot, host)
      else host.send({ kind: 'ping', attempt: 0 })
    }
  }

  /** When a slot was seen to go on in a long call; in the distant past if it was not. */
  private lastStepMs(slot: number, nowMs: number): number {
    const steps = this.activity.steps(slot)
    this.seen[slot] ??= { steps, changedMs: Number.NEGATIVE_INFINITY, isReported: false }
    const seen = this.seen[slot]
    if (steps !== seen.steps) seen.changedMs = nowMs
    seen.steps = steps
    return seen.changedMs
  }

  private reportBusy(slot: number, isSilent: boolean): void {
    const seen = this.seen[slot]!
    const call = this.activity.call(slot)
    if (call === undefined) seen.isReported = false
    else if (isSilent && !seen.isReported) {
      seen.isReported = true
      this.listener.busy(slot, call)
    }
  }

  private declareLost(slot: number, host: SlotHost): void {
    this.dead.add(slot)
    host.kill()
    const sentence = `slot ${slot} has not answered for ${this.configuration.heartbeatTimeoutMs} ms`
    this.listener.lost(
      slot,
      new WeirError('SLOT_LOST', sentence, { details: { slot, lostBy: 'silence' } }),
    )
  }
}
