import type { Counter } from '../../core/metrics.ts'
import type { OperatorContext } from '../../operators/port/operator.ts'

/** From a learner or a reader of observations to the coordinator: what it left out of the error in this attempt. */
export interface OutOfReachReport {
  readonly kind: 'out-of-reach'
  readonly count: number
}

/** Whether an event is an `OutOfReachReport`. */
export function isOutOfReachReport(event: unknown): event is OutOfReachReport {
  return (event as { readonly kind?: unknown }).kind === 'out-of-reach'
}

/**
 * Counts observations that were learned without a row that is spilled in another slot, and tells the coordinator of the
 * first one and at each tenfold. They are left out of the error, which is of what is served.
 */
export class OutOfReach {
  private readonly context: OperatorContext
  private readonly counter: Counter
  private reportAt = 1

  constructor(context: OperatorContext, counter: Counter) {
    this.context = context
    this.counter = counter
  }

  add(): void {
    this.counter.increment()
    if (this.counter.value < this.reportAt) return
    this.reportAt *= 10
    const report: OutOfReachReport = { kind: 'out-of-reach', count: this.counter.value }
    this.context.sendEvent(report)
  }
}
