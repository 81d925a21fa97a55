import type { Clock } from '../../core/clock.ts'
import type { Subtask } from '../subtask/subtask.ts'

/** Longest time that one subtask works before the next one's turn. */
const SHARE_MS = 0.25

/**
 * How a slice of work ended: nothing was there to do, all that was there is done, or the time was over and more
 * may be there.
 */
export type SliceEnd = 'idle' | 'drained' | 'more'

/** Divides the time of a slot among its subtasks, in the order in which they are given. */
export class SubtaskScheduler {
  private readonly subtasks: readonly Subtask[]
  private readonly clock: Clock
  private readonly bufferTimeoutMs: number
  private first = 0
  private lastFlushMs = 0

  /**
   * `subtasks`: downstream first, so that records in the slot are processed before more are taken in;
   * may be filled later. `bufferTimeoutMs`: longest time between two flushes of a busy slot.
   */
  constructor(subtasks: readonly Subtask[], clock: Clock, bufferTimeoutMs: number) {
    this.subtasks = subtasks
    this.clock = clock
    this.bufferTimeoutMs = bufferTimeoutMs
  }

  /**
   * Gives every subtask its share until the slice is over or nothing is left to do. `takeDelivered`: whether one
   * subtask was sent something by another one since the last call.
   */
  process(untilMs: number, takeDelivered: () => boolean): SliceEnd {
    const { subtasks } = this
    const count = subtasks.length
    let end: SliceEnd = 'idle'
    for (;;) {
      let worked = false
      for (let i = 0; i < count; i++) {
        const subtask = subtasks[(this.first + i) % count]!
        const shareEndMs = Math.min(untilMs, this.clock.monotonicMs() + SHARE_MS)
        if (subtask.step(shareEndMs)) worked = true
      }
      if (takeDelivered()) worked = true
      if (!worked) break
      end = 'drained'
      if (this.clock.monotonicMs() >= untilMs) {
        end = 'more'
        break
      }
    }
    if (count > 0) this.first = (this.first + 1) % count
    return end
  }

  /** Fires timers and does what else is due by the wall clock. */
  tick(nowMs: number, outOfInput: boolean): void {
    for (const subtask of this.subtasks) subtask.tick(nowMs, outOfInput)
  }

  /** Whether the buffer timeout has passed since the last flush. */
  get isFlushDue(): boolean {
    return this.clock.monotonicMs() - this.lastFlushMs >= this.bufferTimeoutMs
  }

  /** Sends what the subtasks have collected. */
  flush(): void {
    this.lastFlushMs = this.clock.monotonicMs()
    for (const subtask of this.subtasks) subtask.flush()
  }

  /** When `tick` must be called at the latest, ms of the wall clock; undefined when only on input. */
  nextTickMs(nowMs: number): number | undefined {
    let nextMs: number | undefined
    for (const subtask of this.subtasks) {
      const atMs = subtask.nextTickMs(nowMs)
      if (atMs !== undefined && (nextMs === undefined || atMs < nextMs)) nextMs = atMs
    }
    return nextMs
  }
}
