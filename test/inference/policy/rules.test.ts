import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import type { BatchingFacts } from '../../../src/inference/policy/batching-facts.ts'
import { openRule } from '../../../src/inference/policy/open-rule.ts'
import { ThresholdRule } from '../../../src/inference/policy/threshold-rule.ts'
import type { BatchingSettings } from '../../../src/inference/port/deployment.ts'
import { type SimulatedRequest, simulate } from './simulated-worker.ts'

const RULES: readonly BatchingSettings[] = [
  { rule: 'slack' },
  { rule: 'slack', delayMs: 2 },
  { rule: 'aimd' },
  { rule: 'aimd', delayMs: 2 },
  { rule: 'quantile' },
  { rule: 'greedy', sizes: [4, 8, 16] },
  { rule: 'threshold' },
  { rule: 'window', delayMs: 5 },
  { rule: 'none' },
]

const MAX_ITEMS = 16

/** Poisson arrivals with 1 to 5 items and two goals. */
function arrivals(seed: number, count: number, perMs: number): SimulatedRequest[] {
  const random = seededRandom(seed)
  let arrivalMs = 0
  return Array.from({ length: count }, () => {
    arrivalMs += -Math.log(1 - random.next()) / perMs
    const goal = random.next() < 0.2 ? 20 : 60
    return { arrivalMs, deadlineMs: arrivalMs + goal, items: 1 + Math.floor(random.next() * 5) }
  })
}

/** Facts of requests with one item each, that arrived at 0 and have these deadlines. */
function factsOf(deadlines: readonly number[], more: Partial<BatchingFacts> = {}): BatchingFacts {
  return {
    nowMs: 0,
    count: deadlines.length,
    items: deadlines.map(() => 1),
    deadlines,
    arrivals: deadlines.map(() => 0),
    arrivedItems: deadlines.length,
    latency: { fixedMs: 1, itemMs: 1, ratio: 1, largest: 64 },
    arrivalRate: 1,
    utilisation: 0.5,
    maxItems: 64,
    sloMs: 20,
    lastRunAt: 0,
    ...more,
  }
}

describe.each(RULES)('every rule: %j', (settings) => {
  const options = { maxItems: MAX_ITEMS, sloMs: 60, cost: (items: number) => 1 + 0.2 * items }

  it.each([0.3, 1.5, 8])('loses no request and answers none twice at %d requests/ms', (perMs) => {
    const requests = arrivals(7, 600, perMs)
    const { batches, shed } = simulate(openRule(settings, MAX_ITEMS), requests, options)
    const ended = [...shed, ...batches.flatMap((batch) => batch.requests)]
    expect(ended.sort((a, b) => a - b)).toEqual(requests.map((_, i) => i))
  })

  it('runs earliest deadlines first (BentoML#4592: last in, first out)', () => {
    const requests = arrivals(3, 400, 2)
    const { batches } = simulate(openRule(settings, MAX_ITEMS), requests, options)
    for (const { startMs, requests: batch } of batches) {
      const latest = Math.max(...batch.map((i) => requests[i]!.deadlineMs))
      const passedOver = batches
        .filter((later) => later.startMs > startMs)
        .flatMap((later) => later.requests)
        .filter((i) => requests[i]!.arrivalMs <= startMs && requests[i]!.deadlineMs < latest)
      expect(passedOver).toEqual([])
    }
  })

  it('batch size counts items, not requests (BentoML#3859, BentoML#3710)', () => {
    const requests = arrivals(5, 400, 8)
    const { batches } = simulate(openRule(settings, MAX_ITEMS), requests, options)
    for (const { requests: batch } of batches) {
      const items = batch.reduce((sum, i) => sum + requests[i]!.items, 0)
      expect(batch.length === 1 || items <= MAX_ITEMS).toBe(true)
    }
  })

  it('runs a request that is larger than a batch, alone', () => {
    const requests = [
      { arrivalMs: 1, deadlineMs: 500, items: MAX_ITEMS * 3 },
      { arrivalMs: 1, deadlineMs: 501, items: 1 },
    ]
    const { batches, shed } = simulate(openRule(settings, MAX_ITEMS), requests, options)
    expect(shed).toEqual([])
    expect(batches.map((batch) => batch.requests)).toEqual([[0], [1]])
  })

  it('answers a single request, and does not wait for a second one forever', () => {
    const { batches } = simulate(
      openRule(settings, MAX_ITEMS),
      [{ arrivalMs: 1, deadlineMs: 61, items: 1 }],
      options,
    )
    expect(batches).toHaveLength(1)
    expect(batches[0]!.endMs).toBeLessThanOrEqual(61)
  })
})

describe('the slack rule', () => {
  const rule = openRule({ rule: 'slack' }, 64)

  it('chooses the largest batch that the oldest request has time for (triton#7776, triton#7318: no batches by a goal)', () => {
    const deadlines = [11, ...Array.from({ length: 10 }, () => 100)]
    // 1 + 1 x b is at most 11 for 10 of the 11.
    expect(rule.decide(factsOf(deadlines.slice(0, 10)))).toMatchObject({ shed: 0, count: 10 })
  })

  it('sheds what the next batch cannot serve in time, and answers the rest in one batch', () => {
    // The figures of the design: c(b) = 16.7 + 3.33 b, 64 requests with a goal of 200 ms.
    const latency = { fixedMs: 16.7, itemMs: 3.333, ratio: 1, largest: 64 }
    const decision = rule.decide(
      factsOf(
        Array.from({ length: 64 }, () => 200),
        { latency },
      ),
    )
    expect(decision).toEqual({ kind: 'run', shed: 10, count: 54, reason: 'idle' })
  })

  it('sheds nothing before it knows any time', () => {
    const latency = { fixedMs: 0, itemMs: 0, ratio: 1, largest: 0 }
    expect(rule.decide(factsOf([1, 1, 1], { latency }))).toMatchObject({ shed: 0, count: 1 })
  })

  it('sheds a request that would run alone only when the mean is late', () => {
    const latency = { fixedMs: 14, itemMs: 0, ratio: 1.5, largest: 1 }
    expect(rule.decide(factsOf([20], { latency }))).toMatchObject({
      kind: 'run',
      shed: 0,
      count: 1,
    })
    expect(rule.decide(factsOf([13], { latency, nowMs: 0.5 }))).toMatchObject({ shed: 1 })
  })

  it('tries an estimate again that sheds everything', () => {
    const latency = { fixedMs: 500, itemMs: 1, ratio: 3, largest: 8 }
    const busy = factsOf([20, 21], { latency, nowMs: 0.5, lastRunAt: 0 })
    expect(rule.decide(busy)).toMatchObject({ kind: 'wait', shed: 2 })
    const idle = factsOf([1020, 1021], { latency, nowMs: 1000, lastRunAt: 0 })
    expect(rule.decide(idle)).toMatchObject({ kind: 'run', shed: 1, count: 1 })
  })

  it('does not run further than twice the largest batch it has seen', () => {
    const latency = { fixedMs: 0.1, itemMs: 0.01, ratio: 1, largest: 4 }
    expect(
      rule.decide(
        factsOf(
          Array.from({ length: 64 }, () => 20),
          { latency },
        ),
      ),
    ).toMatchObject({
      count: 8,
      reason: 'full',
    })
  })

  it('waits for more only when the fixed part of a run is worth it', () => {
    const delayed = openRule({ rule: 'slack', delayMs: 2 }, 64)
    const fast = { fixedMs: 10, itemMs: 0.1, ratio: 1, largest: 64 }
    const busy = { latency: fast, arrivalRate: 5, utilisation: 0.9, sloMs: 100 }
    expect(delayed.decide(factsOf([100], busy))).toEqual({ kind: 'wait', shed: 0, untilMs: 2 })
    expect(delayed.decide(factsOf([100], { ...busy, nowMs: 2 }))).toMatchObject({ kind: 'run' })
    expect(delayed.decide(factsOf([100], { ...busy, utilisation: 0 }))).toMatchObject({
      kind: 'run',
    })
    // The oldest request has no time for the wait.
    expect(delayed.decide(factsOf([10.15], busy))).toMatchObject({ kind: 'run' })
  })
})

describe('delayed batching', () => {
  it('holds a batch from its first arrival, not from its last', () => {
    const rule = openRule({ rule: 'window', delayMs: 5 }, 8)
    const held = factsOf([100, 101], { arrivals: [0, 4], nowMs: 4 })
    expect(rule.decide(held)).toEqual({ kind: 'wait', shed: 0, untilMs: 5 })
    expect(rule.decide({ ...held, nowMs: 5 })).toMatchObject({ kind: 'run', reason: 'delay' })
  })
})

describe('the greedy rule', () => {
  const rule = openRule({ rule: 'greedy', sizes: [4, 8] }, 8)
  const latency = { fixedMs: 1, itemMs: 1, ratio: 1, largest: 8 }

  it('runs the largest size when it is there', () => {
    expect(
      rule.decide(
        factsOf(
          Array.from({ length: 9 }, () => 20),
          { latency },
        ),
      ),
    ).toMatchObject({
      count: 8,
      reason: 'full',
    })
  })

  it('else waits until the oldest request needs its run, less a tenth of the goal', () => {
    const facts = factsOf([20, 20, 20, 20, 20], { latency })
    expect(rule.decide(facts)).toEqual({ kind: 'wait', shed: 0, untilMs: 20 - 5 - 2 })
    expect(rule.decide({ ...facts, nowMs: 13 })).toMatchObject({ kind: 'run', count: 4 })
  })
})

describe('the adaptive threshold', () => {
  it('is back at 0 after 8 quanta when a load of 128 a quantum ends', () => {
    const rule = new ThresholdRule({ quantumMs: 5, cap: 128 })
    let arrivedItems = 0
    let nowMs = 0
    for (let quantum = 0; quantum < 12; quantum++) {
      arrivedItems += 128
      nowMs += 5
      rule.decide(factsOf([nowMs + 20], { nowMs, arrivedItems }))
    }
    expect(rule.level).toBe(128)
    const levels: number[] = []
    for (let quantum = 0; quantum < 8; quantum++) {
      nowMs += 5
      rule.decide(factsOf([], { nowMs, arrivedItems }))
      levels.push(rule.level)
    }
    expect(levels).toEqual([64, 32, 16, 8, 4, 2, 1, 0])
  })
})

describe('overdue requests on the workload of Rafiki', () => {
  /** c(16) = 70 ms, c(64) = 230 ms; goal 560 ms; a sine of arrivals around `perSecond`. */
  function missed(settings: BatchingSettings, perSecond: number): number {
    const random = seededRandom(11)
    const requests: SimulatedRequest[] = []
    const periodMs = 30_000
    for (let arrivalMs = 0; arrivalMs < periodMs; ) {
      const rate = (perSecond / 1000) * (1 + 0.1 * Math.sin((2 * Math.PI * arrivalMs) / periodMs))
      arrivalMs += -Math.log(1 - random.next()) / rate
      requests.push({ arrivalMs, deadlineMs: arrivalMs + 560, items: 1 })
    }
    const cost = (items: number): number => 16.7 + 3.333 * items
    return simulate(openRule(settings, 64), requests, { maxItems: 64, sloMs: 560, cost }).missed
  }

  it('are under 3 % with shedding, and many more without, at the rate of the largest batch', () => {
    const slack = missed({ rule: 'slack' }, 272)
    const greedy = missed({ rule: 'greedy' }, 272)
    expect(slack).toBeLessThan(0.03)
    expect(greedy).toBeGreaterThan(0.2)
  })

  it('are under 0.1 % at the rate of the smallest batch', () => {
    expect(missed({ rule: 'slack' }, 228)).toBeLessThan(0.001)
  })
})
