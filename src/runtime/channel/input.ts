import { MIN_TIMESTAMP } from '../../core/time.ts'
import type { ForwardMessage } from './message.ts'
import type { ProgressReport } from './progress-combiner.ts'

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

  /** Adds a message that arrived. */
  push(message: ForwardMessage): void {
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
