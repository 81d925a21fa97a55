import type { Cancel, Clock } from '../core/clock.ts'

/** What a turn of the loop found. */
export interface LoopTurn {
  /** Whether there is more to do at once. */
  readonly more: boolean
  /** When the loop must turn again without being woken, ms of the wall clock. */
  readonly wakeAtMs: number | undefined
}

/**
 * Runs a slot's work in short turns of the event loop: between two turns messages, timers and I/O
 * come through. Sleeps when there is nothing to do.
 */
export class SlotLoop {
  private readonly clock: Clock
  private readonly turn: () => LoopTurn
  private scheduled = false
  private closed = false
  private cancelTimer: Cancel | undefined
  private timerAtMs = Number.POSITIVE_INFINITY

  constructor(clock: Clock, turn: () => LoopTurn) {
    this.clock = clock
    this.turn = turn
  }

  /** There is something to do: a turn follows soon. */
  wake(): void {
    if (this.scheduled || this.closed) return
    this.scheduled = true
    setImmediate(this.run)
  }

  close(): void {
    this.closed = true
    this.cancelTimer?.()
  }

  private readonly run = (): void => {
    this.scheduled = false
    if (this.closed) return
    const { more, wakeAtMs } = this.turn()
    if (more) this.wake()
    else if (wakeAtMs !== undefined) this.sleepUntil(wakeAtMs)
  }

  private sleepUntil(wakeAtMs: number): void {
    if (this.timerAtMs <= wakeAtMs) return
    this.cancelTimer?.()
    this.timerAtMs = wakeAtMs
    this.cancelTimer = this.clock.after(Math.max(0, wakeAtMs - this.clock.nowMs()), () => {
      this.timerAtMs = Number.POSITIVE_INFINITY
      this.wake()
    })
  }
}
