import { MIN_TIMESTAMP } from '../core/time.ts'
import type { ForwardMessage } from './channel-message.ts'

/**
 * The receiving end of a channel: what has arrived and was not taken yet. Batches are bounded by
 * credit; repeated watermarks and progress reports are merged, so that nothing grows while the
 * receiver stands still.
 */
export class InputChannel {
  readonly id: number
  /** Number within the subtask, over all its inputs. */
  readonly index: number
  /** Input of the head operator: 0 or 1. */
  readonly input: number
  /** Waits for the barriers of the other channels. */
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

  /** Messages that wait. */
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

  /** Index of a control message at the queue's end that `message` makes superfluous, or -1. */
  private replaceable(message: ForwardMessage): number {
    for (let at = this.queue.length - 1; at >= 0; at--) {
      const earlier = this.queue[at]!
      if (earlier.kind !== 'watermark' && earlier.kind !== 'progress') return -1
      if (earlier.kind !== message.kind) continue
      if (earlier.kind === 'watermark') return at
      if (message.kind === 'progress' && earlier.partition === message.partition) return at
    }
    return -1
  }
}
