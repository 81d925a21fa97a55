import {
  type BatchingDecision,
  type BatchingFacts,
  type BatchingRule,
  fitting,
  itemsFrom,
} from './batching-facts.ts'
import { meanMs } from './latency-model.ts'

/** Share of the goal that is kept free. */
const MARGIN = 0.1

/**
 * Fixed batch sizes (Wang et al., "Rafiki", VLDB 2018, algorithm 3). With the largest size or more in the
 * queue, that size runs. Else the largest size that is there runs at the moment when the oldest request
 * would miss the goal with it: time + wait + margin >= goal. Below the smallest size, which the paper
 * leaves open, all requests run at that moment. It sheds nothing, as in the paper.
 */
export class GreedyRule implements BatchingRule {
  private readonly sizes: readonly number[]

  /** `sizes` ascending. */
  constructor(sizes: readonly number[]) {
    this.sizes = sizes
  }

  get limit(): number {
    return this.sizes[this.sizes.length - 1]!
  }

  decide(facts: BatchingFacts): BatchingDecision {
    if (facts.count === 0) return { kind: 'wait', shed: 0, untilMs: Number.POSITIVE_INFINITY }
    const waiting = itemsFrom(facts, 0)
    const most = Math.min(this.limit, facts.maxItems)
    if (waiting >= most) {
      return { kind: 'run', shed: 0, count: fitting(facts, 0, most), reason: 'full' }
    }
    const size = this.sizes.findLast((candidate) => candidate <= waiting) ?? waiting
    const dueMs =
      facts.deadlines[0]! -
      meanMs(facts.latency, Math.max(size, this.sizes[0]!)) -
      MARGIN * facts.sloMs
    if (facts.nowMs < dueMs) return { kind: 'wait', shed: 0, untilMs: dueMs }
    return { kind: 'run', shed: 0, count: fitting(facts, 0, size), reason: 'slack' }
  }

  observe(): void {}
}
