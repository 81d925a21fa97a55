import {
  type BatchingDecision,
  type BatchingFacts,
  type BatchingRule,
  fitting,
  itemsFrom,
} from './batching-facts.ts'
import { doomedHeads } from './doomed.ts'
import { itemsWithin, slowMs } from './latency-model.ts'

/**
 * The default rule. The oldest request's slack, that is the time until its deadline, sets the size of the
 * batch; requests that the next batch cannot serve in time are shed first. It runs at once, unless a
 * wait of at most `delayMs` pays: the time in which the waiting items arrived, n / rate, is below
 * fixed * utilisation / (1 - utilisation), the time that the fixed part of a run costs the others.
 */
export class SlackRule implements BatchingRule {
  readonly limit = undefined
  private readonly delayMs: number

  constructor(delayMs: number) {
    this.delayMs = delayMs
  }

  decide(facts: BatchingFacts): BatchingDecision {
    const limit = knownLimit(facts)
    const shed = doomedHeads(facts, limit)
    if (shed === facts.count) return { kind: 'wait', shed, untilMs: Number.POSITIVE_INFINITY }
    const slack = facts.deadlines[shed]! - facts.nowMs
    const inTime = Math.max(1, Math.min(limit, itemsWithin(facts.latency, slack)))
    const waiting = itemsFrom(facts, shed)
    const count = fitting(facts, shed, inTime)
    if (waiting >= limit) return { kind: 'run', shed, count, reason: 'full' }
    if (count < facts.count - shed) return { kind: 'run', shed, count, reason: 'slack' }
    const untilMs = this.waitUntil(facts, shed, waiting)
    if (untilMs > facts.nowMs) return { kind: 'wait', shed, untilMs }
    return { kind: 'run', shed, count, reason: this.delayMs > 0 ? 'delay' : 'idle' }
  }

  observe(): void {}

  private waitUntil(facts: BatchingFacts, first: number, waiting: number): number {
    if (this.delayMs <= 0) return 0
    const { latency, arrivalRate, utilisation } = facts
    const load = Math.min(utilisation, 0.99)
    const pays = waiting / Math.max(arrivalRate, 1e-9) < (latency.fixedMs * load) / (1 - load)
    if (!pays) return 0
    const latest = facts.deadlines[first]! - slowMs(latency, waiting + 1)
    return Math.min(facts.arrivals[first]! + this.delayMs, latest)
  }
}

/** Largest batch that the latency model can judge: twice the largest one that was run. */
const knownLimit = (facts: BatchingFacts): number =>
  Math.min(facts.maxItems, Math.max(1, facts.latency.largest * 2))
