import type { BatchingRule } from '../../../src/inference/policy/batching-facts.ts'
import { LatencyModel } from '../../../src/inference/policy/latency-model.ts'

/** Request of a simulation. Times are ms. */
export interface SimulatedRequest {
  readonly arrivalMs: number
  readonly deadlineMs: number
  readonly items: number
}

/** Batch that a simulation ran: requests by their index. */
export interface SimulatedBatch {
  readonly startMs: number
  readonly endMs: number
  readonly requests: readonly number[]
}

/** What a simulation did. */
export interface SimulatedRun {
  readonly batches: readonly SimulatedBatch[]
  readonly shed: readonly number[]
  /** Share of the requests that were not answered by their deadlines. */
  readonly missed: number
}

/** Settings of a simulation. */
export interface SimulationOptions {
  readonly maxItems: number
  readonly sloMs: number
  /** Time of a batch of so many items, ms. */
  readonly cost: (items: number) => number
  /** Most requests that a decision sees. @default 2 x maxItems + 16, as the worker */
  readonly viewed?: number
}

/**
 * One worker on a clock that only this loop moves: the rule and the latency model are those of production,
 * only the run is replaced by its cost. `requests` in order of arrival.
 */
export function simulate(
  rule: BatchingRule,
  requests: readonly SimulatedRequest[],
  options: SimulationOptions,
): SimulatedRun {
  const { maxItems, sloMs, cost } = options
  const viewed = options.viewed ?? maxItems * 2 + 16
  const latency = new LatencyModel()
  const batches: SimulatedBatch[] = []
  const shed: number[] = []
  let waiting: number[] = []
  let [nowMs, next, arrivedItems, lastRunAt, busyMs] = [0, 0, 0, 0, 0]
  let onTime = 0
  while (next < requests.length || waiting.length > 0) {
    while (next < requests.length && requests[next]!.arrivalMs <= nowMs) {
      arrivedItems += requests[next]!.items
      insert(waiting, next++, requests)
    }
    const view = waiting.slice(0, viewed).map((i) => requests[i]!)
    const facts = {
      nowMs,
      count: view.length,
      items: view.map(({ items }) => items),
      deadlines: view.map(({ deadlineMs }) => deadlineMs),
      arrivals: view.map(({ arrivalMs }) => arrivalMs),
      arrivedItems,
      latency: latency.estimate,
      arrivalRate: arrivedItems / Math.max(nowMs, 1),
      utilisation: Math.min(1, busyMs / Math.max(nowMs, 1)),
      maxItems,
      sloMs,
      lastRunAt,
    }
    const decision = rule.decide(facts)
    shed.push(...waiting.slice(0, decision.shed))
    waiting = waiting.slice(decision.shed)
    const nextArrival = requests[next]?.arrivalMs ?? Number.POSITIVE_INFINITY
    if (decision.kind === 'wait') {
      if (decision.shed > 0) continue
      const untilMs = Math.min(decision.untilMs, nextArrival)
      if (untilMs === Number.POSITIVE_INFINITY) break
      nowMs = Math.max(untilMs, nowMs)
      continue
    }
    const batch = waiting.slice(0, decision.count)
    waiting = waiting.slice(decision.count)
    const items = batch.reduce((sum, i) => sum + requests[i]!.items, 0)
    const runMs = cost(items)
    const endMs = nowMs + runMs
    batches.push({ startMs: nowMs, endMs, requests: batch })
    onTime += batch.filter((i) => endMs <= requests[i]!.deadlineMs).length
    latency.observe(items, runMs)
    rule.observe({ items, runMs, sloMs })
    busyMs += runMs
    lastRunAt = endMs
    nowMs = endMs
  }
  return { batches, shed, missed: 1 - onTime / requests.length }
}

/** Inserts by deadline, behind those with the same one. */
function insert(waiting: number[], index: number, requests: readonly SimulatedRequest[]): void {
  const { deadlineMs } = requests[index]!
  let at = waiting.length
  while (at > 0 && requests[waiting[at - 1]!]!.deadlineMs > deadlineMs) at--
  waiting.splice(at, 0, index)
}
