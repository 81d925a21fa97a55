import type { Cancel, Clock } from '../../../core/clock.ts'
import type { WeirError } from '../../../core/errors.ts'
import type { CheckpointManifest } from '../protocol/checkpoint-types.ts'
import {
  decideTrigger,
  type TriggerDecision,
  type TriggerPolicy,
} from '../protocol/trigger-decision.ts'

/** A request of a caller that waits for a checkpoint or savepoint. */
export interface CheckpointRequest {
  /** Where to copy the savepoint to; undefined for a checkpoint. */
  readonly folder: string | undefined
  /** Whether no checkpoint is triggered after it. */
  readonly isLast: boolean
  /** Whether its barriers overtake records at once, in a job whose checkpoints may be unaligned. @default false */
  readonly overtakes?: boolean
  completed(manifest: CheckpointManifest): void
  failed(error: WeirError): void
}

/** Options of a trigger schedule. */
export interface TriggerScheduleOptions {
  readonly clock: Clock
  readonly policy: TriggerPolicy
  /** Whether checkpoints can be taken now. */
  readonly running: () => boolean
  /** Number of checkpoints that were triggered and are not settled. */
  readonly pending: () => number
  /** Triggers a checkpoint for a request; a periodic one when it is undefined. */
  readonly trigger: (request: CheckpointRequest | undefined) => void
}

/**
 * The requests for checkpoints that wait, and the time of the next periodic one; decides by
 * `decideTrigger`.
 */
export class TriggerSchedule {
  private readonly options: TriggerScheduleOptions
  private readonly queue: CheckpointRequest[] = []
  private lastTriggeredAtMs = 0
  private lastSettledAtMs: number | undefined
  private cancelTimer: Cancel = () => {}

  constructor(options: TriggerScheduleOptions) {
    this.options = options
  }

  /** An attempt runs: the first interval begins. */
  begin(): void {
    this.lastTriggeredAtMs = this.options.clock.monotonicMs()
    this.lastSettledAtMs = undefined
    this.consider()
  }

  /** Queues a request and triggers it as soon as the policy allows. */
  request(request: CheckpointRequest): void {
    this.queue.push(request)
    this.consider()
  }

  /** A checkpoint completed or failed: the pause until the next one begins. */
  settled(): void {
    this.lastSettledAtMs = this.options.clock.monotonicMs()
  }

  /** Triggers every checkpoint that is due, then waits for the next one. */
  consider(): void {
    this.cancelTimer()
    const decision = this.decide()
    switch (decision.kind) {
      case 'savepoint':
        this.options.trigger(this.take(isFirst))
        break
      case 'requested':
        this.options.trigger(this.take(() => true))
        break
      case 'periodic':
        this.lastTriggeredAtMs = this.options.clock.monotonicMs()
        this.options.trigger(undefined)
        break
      case 'wait': {
        const delayMs = Math.max(1, decision.untilMs - this.options.clock.monotonicMs())
        this.cancelTimer = this.options.clock.after(delayMs, () => this.consider())
        return
      }
      default:
        return
    }
    this.consider()
  }

  /** Triggers no more and fails every request that waits. */
  stop(error: WeirError): void {
    this.cancelTimer()
    for (const request of this.queue.splice(0)) request.failed(error)
  }

  private decide(): TriggerDecision {
    const { clock, policy, running, pending } = this.options
    const savepoints = this.queue.filter(isFirst).length
    return decideTrigger(
      {
        nowMs: clock.monotonicMs(),
        running: running(),
        pending: pending(),
        queuedSavepoints: savepoints,
        queuedRequests: this.queue.length - savepoints,
        lastTriggeredAtMs: this.lastTriggeredAtMs,
        lastSettledAtMs: this.lastSettledAtMs,
      },
      policy,
    )
  }

  private take(wanted: (request: CheckpointRequest) => boolean): CheckpointRequest {
    return this.queue.splice(this.queue.findIndex(wanted), 1)[0]!
  }
}

/** Whether a request goes before plain checkpoints: a savepoint, or the last checkpoint of a job. */
function isFirst({ folder, isLast }: CheckpointRequest): boolean {
  return folder !== undefined || isLast
}
