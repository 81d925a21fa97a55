import { MIN_TIMESTAMP } from '../../core/time.ts'
import { type BatchMessage, type ControlMessage, type ForwardMessage, RESTORED } from './message.ts'
import type { ProgressReport } from './progress-combiner.ts'

/** Sees a message before the queue gets it; returns what the queue gets. */
export type SeeMessage = (message: ForwardMessage) => ForwardMessage

/**
 * The receiving end of a channel: messages that have arrived and were not taken yet. Credit bounds the
 * batches; repeated watermarks and progress reports are merged, so that the queue does not grow while
 * the receiver does not read.
 */
export class InputChannel {
  readonly id: number
  /** Number within the subtask, over all its inputs. */
  readonly index: number
  /** Input of the first operator, 0 or 1. */
  readonly input: number
  /** Whether it waits for the barriers of the other channels. */
  blocked = false
  idle = false
  ended = false
  watermark = MIN_TIMESTAMP
  /** Undefined where no barrier overtakes. */
  see: SeeMessage | undefined
  private readonly queue: ForwardMessage[] = []

  constructor(id: number, index: number, input: number) {
    this.id = id
    this.index = index
    this.input = input
  }

  /** Whether a message can be taken. */
  get readable(): boolean {
    return this.queue.length > 0 && !this.blocked
  }

  /** Number of messages that wait. */
  get length(): number {
    return this.queue.length
  }

  /** Whether the next message is a restored batch, which comes before any input. */
  get holdsRestored(): boolean {
    const [next] = this.queue
    return next?.kind === 'batch' && next.channel === RESTORED
  }

  /**
   * Takes the next barrier of a checkpoint, or its cancellation, from behind watermarks and reports, which are no part of a
   * checkpoint; undefined where records are in front of it, or there is none.
   */
  takeBarrier(): ControlMessage | undefined {
    if (this.blocked) return undefined
    for (const [at, message] of this.queue.entries()) {
      switch (message.kind) {
        case 'barrier':
        case 'cancel':
          this.queue.splice(at, 1)
          return message
        case 'watermark':
        case 'idle':
        case 'progress':
        case 'loaded':
          break
        default:
          return undefined
      }
    }
    return undefined
  }

  /** Adds a message that arrived. */
  push(arrived: ForwardMessage): void {
    const message = this.see === undefined ? arrived : this.see(arrived)
    if (message.kind === 'watermark' || message.kind === 'progress') {
      const at = this.replaceable(message)
      if (at >= 0) {
        this.queue[at] = message
        return
      }
    }
    this.queue.push(message)
  }

  /** Takes the oldest message; call only while `readable`. */
  take(): ForwardMessage {
    return this.queue.shift()!
  }

  /**
   * Replaces the batches that wait in front of the barrier of a checkpoint, or all if it has not come; returns
   * whether it has.
   */
  replaceBatches(checkpointId: number, replace: (batch: BatchMessage) => BatchMessage): boolean {
    for (const [at, message] of this.queue.entries()) {
      if (message.kind === 'barrier' && message.barrier.checkpointId === checkpointId) return true
      if (message.kind === 'batch') this.queue[at] = replace(message)
    }
    return false
  }

  /** Index of a control message at the queue's end that `message` replaces, or -1. */
  private replaceable(message: ForwardMessage): number {
    for (let at = this.queue.length - 1; at >= 0; at--) {
      const earlier = this.queue[at]!
      if (earlier.kind !== 'watermark' && earlier.kind !== 'progress') return -1
      if (earlier.kind !== message.kind) continue
      if (earlier.kind === 'watermark') return at
      if (message.kind === 'progress' && isSamePartition(earlier.report, message.report)) return at
    }
    return -1
  }
}

function isSamePartition(a: ProgressReport, b: ProgressReport): boolean {
  return a.partition === b.partition && a.source === b.source
}
