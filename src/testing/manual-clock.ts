import type { Cancel, Clock } from '../core/clock.ts'
import { requireArgument } from '../core/errors.ts'
import { aFunction, numberIn, type OptionKind, objectWith } from '../core/options/kinds.ts'
import { checkArgument } from '../core/options/shape.ts'

interface Waiting {
  readonly dueMs: number
  readonly order: number
  readonly callback: () => void
}

/** A clock that stands still until a test moves it. */
export class ManualClock implements Clock {
  private readonly startMs: number
  private elapsedMs = 0
  private order = 0
  private waiting: Waiting[] = []

  /** `startMs`: the first wall-clock time, ms since 1970. */
  constructor(startMs = 0) {
    checkArgument('new ManualClock', 'startMs', numberIn(), startMs)
    this.startMs = startMs
  }

  nowMs(): number {
    return this.startMs + this.elapsedMs
  }

  monotonicMs(): number {
    return this.elapsedMs
  }

  after(delayMs: number, callback: () => void): Cancel {
    checkArgument('clock.after', 'delayMs', numberIn({ orInfinity: true }), delayMs)
    checkArgument('clock.after', 'callback', aFunction(), callback)
    const entry = { dueMs: this.elapsedMs + Math.max(0, delayMs), order: this.order++, callback }
    this.waiting.push(entry)
    return () => {
      this.waiting = this.waiting.filter((other) => other !== entry)
    }
  }

  /** Number of callbacks that are still to be called. */
  get pending(): number {
    return this.waiting.length
  }

  /**
   * Advances the time and calls all callbacks that are due, in the order of their times. A callback can add
   * others, which are called, too. Throws INVALID_ARGUMENT when `ms` is below 0.
   */
  advance(ms: number): void {
    checkArgument('clock.advance', 'ms', numberIn(), ms)
    requireArgument(ms >= 0, `the clock cannot go back by ${-ms} ms`)
    const target = this.elapsedMs + ms
    for (;;) {
      const next = this.nextDue(target)
      if (next === undefined) break
      this.waiting = this.waiting.filter((entry) => entry !== next)
      this.elapsedMs = Math.max(this.elapsedMs, next.dueMs)
      next.callback()
    }
    this.elapsedMs = target
  }

  /** Advances the wall clock to `nowMs`, as `advance`. */
  advanceTo(nowMs: number): void {
    checkArgument('clock.advanceTo', 'nowMs', numberIn(), nowMs)
    this.advance(nowMs - this.nowMs())
  }

  private nextDue(target: number): Waiting | undefined {
    let next: Waiting | undefined
    for (const entry of this.waiting) {
      if (entry.dueMs > target) continue
      const earlier =
        next === undefined ||
        entry.dueMs < next.dueMs ||
        (entry.dueMs === next.dueMs && entry.order < next.order)
      if (earlier) next = entry
    }
    return next
  }
}

/** The clock of a harness. */
export const MANUAL_CLOCK: OptionKind<ManualClock> = objectWith(
  'a ManualClock',
  'nowMs',
  'monotonicMs',
  'advance',
)
