import type { Cancel, Clock } from '../../core/clock.ts'

/** Pause between two copies for a checkpoint when there is nothing else to do. */
const COPY_PAUSE_MS = 1

/** Result of a turn of the loop. */
export interface LoopTurn {
  /** Whether there is more to do now. */
  readonly more: boolean
  /** When the loop must turn again without being woken, ms of the wall clock. */
  readonly wakeAtMs: number | undefined
}

/** Facts about a turn of a slot. */
export interface TurnFacts {
  /** There may be records, messages or queries to process now. */
  readonly more: boolean
  /** State was copied out for a checkpoint, and there may be more to copy. */
  readonly copied: boolean
  /** Wall clock. */
  readonly nowMs: number
  /** When a subtask must be called next, ms of the wall clock. */
  readonly nextTickMs: number | undefined
}

/**
 * Decides when the slot turns again. A slot that copies and has nothing to process pauses between two
 * copies: several slots that copy at once would use every processor, and queries, other slots and the
 * threads that write the copies would have to wait.
 */
export function afterTurn({ more, copied, nowMs, nextTickMs }: TurnFacts): LoopTurn {
  if (!copied) return { more, wakeAtMs: nextTickMs }
  const copyAtMs = nowMs + COPY_PAUSE_MS
  return { more, wakeAtMs: Math.min(nextTickMs ?? copyAtMs, copyAtMs) }
}

/**
 * Runs a slot's work in short turns of the event loop: messages, timers and I/O are handled between
 * two turns. Sleeps when there is nothing to do.
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

  /** Schedules a turn, because there is something to do. */
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
