import type { OperatorContext } from '../../../operators/port/operator.ts'
import { inSlices } from '../../../runtime/pacing/in-slices.ts'

/** A version whose learned rows are to be forgotten. */
interface Forgotten {
  /** Puts the rows back. A step is a row. */
  beginAgain(): Generator<void, void>
  /** Called when all are. */
  done(): void
}

/**
 * Puts the rows of versions back to what they were before they were learned, at an order of the coordinator. The order may
 * come before the rows are restored: until then no timer fires, and no checkpoint is taken. The operator calls `due` with each
 * of its timers.
 */
export class Forgetting {
  private readonly context: OperatorContext
  private readonly waiting: Forgotten[] = []
  private isClosed = false

  constructor(context: OperatorContext) {
    this.context = context
  }

  /** Has rows put back as soon as all are restored. */
  add(forgotten: Forgotten): void {
    this.waiting.push(forgotten)
    this.context.scheduleProcessingTime(this.context.clock.nowMs())
  }

  /** Puts them back, while the operator takes no input. */
  due(): void {
    const { context } = this
    for (const { beginAgain, done } of this.waiting.splice(0)) {
      context.suspend(async () => {
        await inSlices(beginAgain(), context.clock, () => !this.isClosed)
        done()
      })
    }
  }

  /** Puts them back at once: a checkpoint that has a phase has forgotten what was learned before it. */
  beforeSnapshot(): void {
    for (const { beginAgain, done } of this.waiting.splice(0)) {
      const rows = beginAgain()
      while (rows.next().done !== true);
      done()
    }
  }

  /** Leaves the rest undone: the slot ends. */
  close(): void {
    this.isClosed = true
  }
}
