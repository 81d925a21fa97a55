import type { Cancel } from '../../core/clock.ts'
import type { ForwardMessage } from '../channel/message.ts'
import { type OvertakenChannel, OvertakenRecords } from '../channel/overtaken-records.ts'
import type { Barrier } from '../checkpoint/protocol/checkpoint-types.ts'
import { channelsRead, onQueuedBarrier, overtakesAfter } from '../checkpoint/protocol/overtaking.ts'
import type { Subtask } from './subtask.ts'

/** Options of the overtaking of a subtask. */
export interface OvertakingOptions {
  readonly subtask: Subtask
  readonly channels: readonly OvertakenChannel[]
  /** Ends the alignment and takes the snapshot. */
  readonly overtake: (barrier: Barrier, alignmentMs: number) => void
}

/**
 * Unaligned checkpoints at one subtask: sees barriers as they come into the queues, lets the first one of a
 * checkpoint overtake when it is time, and collects the records that are overtaken.
 */
export class Overtaking {
  private readonly subtask: Subtask
  private readonly overtake: OvertakingOptions['overtake']
  /** Newest checkpoint whose barrier has come. */
  private newest = 0
  private collecting: OvertakenRecords | undefined
  /** By checkpoint, until its snapshot begins. */
  private readonly uncaptured = new Map<number, OvertakenRecords>()
  private cancelTimer: Cancel = () => {}

  constructor({ subtask, channels, overtake }: OvertakingOptions) {
    this.subtask = subtask
    this.overtake = overtake
    for (const from of channels) from.channel.see = (message) => this.arrived(from, message)
  }

  /** The records overtaken by the barrier of a checkpoint; undefined when it is aligned. */
  capture(checkpointId: number): OvertakenRecords | undefined {
    const records = this.uncaptured.get(checkpointId)
    this.uncaptured.delete(checkpointId)
    return records
  }

  /** A checkpoint was aborted. */
  ended(checkpointId: number, reason: string): void {
    if (this.collecting?.checkpointId !== checkpointId) return
    this.collecting.discard(reason)
    this.collecting = undefined
  }

  private arrived(from: OvertakenChannel, message: ForwardMessage): ForwardMessage {
    if (message.kind === 'barrier') this.queued(message.barrier)
    if (message.kind === 'cancel') this.ended(message.checkpointId, 'it was aborted upstream')
    return this.collecting?.arrived(from, message) ?? message
  }

  private queued(barrier: Barrier): void {
    const { subtask, newest } = this
    const { checkpointId } = barrier
    const { alignment, clock } = subtask
    const decision = onQueuedBarrier({ barrier, newest, alignment, nowMs: clock.nowMs() })
    if (checkpointId <= newest) return
    this.newest = checkpointId
    this.cancelTimer()
    if (this.collecting !== undefined) {
      this.ended(this.collecting.checkpointId, 'a newer barrier came')
    }
    if (decision.kind === 'none') return
    const sinceMs = clock.monotonicMs()
    const overtake = (): void => this.begin(barrier, sinceMs)
    // Not at once: the message may come from within a step of this subtask, through a credit that it returned.
    if (decision.afterMs === 0) queueMicrotask(overtake)
    else this.cancelTimer = subtask.later(decision.afterMs, overtake)
  }

  private begin(barrier: Barrier, sinceMs: number): void {
    const { subtask } = this
    const { checkpointId } = barrier
    if (!subtask.running || checkpointId !== this.newest) return
    if (checkpointId <= subtask.alignment.lastSettled) return
    const read = channelsRead(subtask.alignment, checkpointId)
    this.collecting = new OvertakenRecords(checkpointId, read)
    this.uncaptured.set(checkpointId, this.collecting)
    this.overtake(barrier, subtask.clock.monotonicMs() - sinceMs)
  }
}

/** Lets a barrier that a subtask has forwarded overtake what waits in its channels for credit, when it is time. */
export function overtakeOutputs(subtask: Subtask, barrier: Barrier): void {
  const afterMs = overtakesAfter(barrier, subtask.clock.nowMs())
  const channels = subtask.channels.filter(({ overtakes }) => overtakes)
  if (afterMs === undefined || channels.length === 0) return
  const overtake = (): void => {
    if (!subtask.running) return
    for (const channel of channels) channel.sendUpTo(barrier.checkpointId)
    subtask.host.wake()
  }
  if (afterMs === 0) overtake()
  else if (channels.some(({ waiting }) => waiting > 0)) subtask.later(afterMs, overtake)
}
