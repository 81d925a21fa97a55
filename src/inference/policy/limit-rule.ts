import {
  type BatchingDecision,
  type BatchingFacts,
  type BatchingRule,
  fitting,
  itemsFrom,
  type ObservedRun,
} from './batching-facts.ts'
import { doomedHeads } from './doomed.ts'
import type { SizeLimit } from './size-limits.ts'

/** Settings of `LimitRule`. */
export interface LimitRuleOptions {
  /** Longest wait from the first arrival, ms; 0 runs at once. */
  readonly delayMs: number
  /** Sheds what cannot be in time. */
  readonly sheds: boolean
}

/**
 * Batches up to a limit that is fixed (`window`, `none`) or learned (`aimd`, `quantile`). A batch below the
 * limit is held for at most `delayMs` from its first arrival (Clipper's delayed batching).
 */
export class LimitRule implements BatchingRule {
  private readonly size: SizeLimit
  private readonly options: LimitRuleOptions

  constructor(size: SizeLimit, options: LimitRuleOptions) {
    this.size = size
    this.options = options
  }

  get limit(): number {
    return this.size.items
  }

  decide(facts: BatchingFacts): BatchingDecision {
    const limit = Math.min(facts.maxItems, this.size.items)
    const shed = this.options.sheds ? doomedHeads(facts, limit) : 0
    if (shed === facts.count) return { kind: 'wait', shed, untilMs: Number.POSITIVE_INFINITY }
    const count = fitting(facts, shed, limit)
    if (itemsFrom(facts, shed) >= limit) return { kind: 'run', shed, count, reason: 'full' }
    const untilMs = firstArrival(facts, shed) + this.options.delayMs
    if (this.options.delayMs > 0 && untilMs > facts.nowMs) return { kind: 'wait', shed, untilMs }
    return { kind: 'run', shed, count, reason: this.options.delayMs > 0 ? 'delay' : 'idle' }
  }

  observe(run: ObservedRun): void {
    this.size.observe(run)
  }
}

/** Earliest arrival: the order is by deadline, so it need not be the first. */
function firstArrival(facts: BatchingFacts, first: number): number {
  let earliest = Number.POSITIVE_INFINITY
  for (let i = first; i < facts.count; i++) earliest = Math.min(earliest, facts.arrivals[i]!)
  return earliest
}
