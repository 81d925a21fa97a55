import {
  type BatchingDecision,
  type BatchingFacts,
  type BatchingRule,
  fitting,
} from './batching-facts.ts'

/** Settings of `ThresholdRule`. */
export interface ThresholdOptions {
  readonly quantumMs: number
  /** Largest threshold. */
  readonly cap: number
}

/**
 * Adaptive threshold (Rafiqi, 3.2). Every quantum the arrivals in it are compared with the threshold: above
 * it, the threshold moves halfway towards them and the batch runs; below it, it is halved. So it rises
 * fast, falls faster, and a quiet model runs each request at once.
 */
export class ThresholdRule implements BatchingRule {
  readonly limit = undefined
  private readonly options: ThresholdOptions
  private threshold = 0
  private quantumEndsAt = 0
  private arrivedBefore = 0

  constructor(options: ThresholdOptions) {
    this.options = options
  }

  decide(facts: BatchingFacts): BatchingDecision {
    if (facts.nowMs >= this.quantumEndsAt) this.endQuantum(facts)
    if (facts.count === 0) return { kind: 'wait', shed: 0, untilMs: Number.POSITIVE_INFINITY }
    const arrived = facts.arrivedItems - this.arrivedBefore
    const count = fitting(facts, 0, facts.maxItems)
    if (arrived >= this.threshold) return { kind: 'run', shed: 0, count, reason: 'full' }
    // What came before this quantum has waited for one quantum already.
    if (facts.arrivals[0]! + this.options.quantumMs <= facts.nowMs) {
      return { kind: 'run', shed: 0, count, reason: 'delay' }
    }
    return { kind: 'wait', shed: 0, untilMs: this.quantumEndsAt }
  }

  observe(): void {}

  /** The threshold now, items a quantum. */
  get level(): number {
    return this.threshold
  }

  private endQuantum(facts: BatchingFacts): void {
    const { quantumMs, cap } = this.options
    const arrived = facts.arrivedItems - this.arrivedBefore
    const passed = Math.floor((facts.nowMs - this.quantumEndsAt) / quantumMs)
    if (arrived > this.threshold) {
      this.threshold = Math.min(cap, Math.ceil(0.5 * this.threshold + 0.5 * arrived))
    } else if (arrived < this.threshold) {
      this.threshold = Math.floor(this.threshold / 2)
    }
    // Quanta without a decision had no arrivals.
    for (let i = 0; i < Math.min(passed, 8); i++) this.threshold = Math.floor(this.threshold / 2)
    this.arrivedBefore = facts.arrivedItems
    this.quantumEndsAt = facts.nowMs + quantumMs
  }
}
