import type { Clock } from '../../core/clock.ts'
import { StepSize } from './step-size.ts'

/** Time for the due timers of one watermark before the subtask must wait for its next turn, ms. */
const FIRST_SLICE_MS = 0.25

/** The subtask whose timers fire, as its passes see it. */
export interface TimerPassesHost {
  readonly clock: Clock
  /** Whether operators may emit now, and none of them is full. */
  mayFire(): boolean
  wake(): void
}

/** An operator whose timers may be due. */
export interface TimedTask {
  /** See `FiringOperator`. */
  fireDue(most: number): number
  /** See `FiringOperator`. */
  readonly isInRecord: boolean
}

interface TimerPass {
  readonly task: TimedTask
  readonly after: () => void
}

/**
 * The passes over due timers of a subtask. A pass that is too long for one turn is cut into slices: in between, the
 * slot answers heartbeats, requests and cancels, and the subtask takes barriers. It takes no records: they come after
 * the watermark, so they must not see a key before its timers have fired.
 */
export class TimerPasses {
  private readonly host: TimerPassesHost
  private readonly passes: TimerPass[] = []
  private readonly waiting: (() => void)[] = []
  private readonly size = new StepSize()

  constructor(host: TimerPassesHost) {
    this.host = host
  }

  /** Whether no pass is under way. */
  get isEmpty(): boolean {
    return this.passes.length === 0
  }

  /** Whether an operator has done a part of a record: then no barrier may be taken. */
  get isInRecord(): boolean {
    return this.passes[0]?.task.isInRecord === true
  }

  /** Fires the due timers of an operator, then calls `after`: at once if there are few. */
  begin(task: TimedTask, after: () => void): void {
    const { host } = this
    const { clock } = host
    const startMs = clock.monotonicMs()
    // The operators of a chain fire one after the other: one that follows waits for those before it.
    if (!this.isEmpty || !this.fire(task, startMs + FIRST_SLICE_MS)) {
      this.passes.push({ task, after })
      host.wake()
      return
    }
    after()
  }

  /** Goes on until `untilMs` of the monotonic clock; false when it could do nothing. */
  step(untilMs: number): boolean {
    let worked = false
    for (;;) {
      const pass = this.passes[0]
      if (pass === undefined || !this.host.mayFire()) return worked
      worked = true
      if (!this.fire(pass.task, untilMs)) return worked
      this.passes.shift()
      pass.after()
      while (this.isEmpty && this.waiting.length > 0) this.waiting.shift()!()
    }
  }

  /** Calls when no pass is under way. */
  whenDone(action: () => void): void {
    if (this.isEmpty) action()
    else this.waiting.push(action)
  }

  /** Fires due timers of an operator until `untilMs`; false when more are due. */
  private fire(task: TimedTask, untilMs: number): boolean {
    const { host, size } = this
    for (let startMs = -1; ; ) {
      const most = size.records
      const fired = task.fireDue(most)
      if (fired < most) return true
      const nowMs = host.clock.monotonicMs()
      if (startMs >= 0) size.observe(fired, nowMs - startMs)
      startMs = nowMs
      if (nowMs >= untilMs || !host.mayFire()) return false
    }
  }
}
