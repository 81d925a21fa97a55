import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { refusal } from '../../../src/inference/policy/doomed.ts'
import { itemsWithin, LatencyModel, meanMs } from '../../../src/inference/policy/latency-model.ts'
import {
  AimdLimit,
  QuantileLimit,
  quantileLine,
} from '../../../src/inference/policy/size-limits.ts'

describe('the latency model', () => {
  it('finds the fixed and the variable part of a run', () => {
    const model = new LatencyModel()
    for (let i = 0; i < 200; i++) model.observe(1 + (i % 32), 3 + 0.5 * (1 + (i % 32)))
    expect(model.estimate.fixedMs).toBeCloseTo(3, 6)
    expect(model.estimate.itemMs).toBeCloseTo(0.5, 6)
    expect(model.estimate).toMatchObject({ largest: 32 })
    expect(model.estimate.ratio).toBeCloseTo(1, 6)
    expect(itemsWithin(model.estimate, 8.1)).toBe(10)
  })

  it('learns again when a run takes twice as long', () => {
    const model = new LatencyModel()
    for (let i = 0; i < 300; i++) model.observe(1 + (i % 16), 2 + (1 + (i % 16)))
    for (let i = 0; i < 300; i++) model.observe(1 + (i % 16), 4 + 2 * (1 + (i % 16)))
    expect(meanMs(model.estimate, 16)).toBeCloseTo(36, 0)
  })

  it('keeps the slope when all runs have one size', () => {
    const model = new LatencyModel({ fixedMs: 1, itemMs: 2, ratio: 1, largest: 8 })
    for (let i = 0; i < 500; i++) model.observe(4, 20)
    expect(model.estimate.itemMs).toBeGreaterThanOrEqual(0)
    expect(meanMs(model.estimate, 4)).toBeCloseTo(20, 3)
  })

  it('has a ratio that 99 of 100 runs stay below, and one pause does not move it', () => {
    const model = new LatencyModel()
    for (let i = 0; i < 128; i++) model.observe(4, i === 60 ? 1000 : 10)
    for (let i = 0; i < 400; i++) model.observe(4, 10)
    expect(model.estimate.ratio).toBeLessThan(1.1)
  })

  it('does not take pauses of the machine for the nature of the model', () => {
    const model = new LatencyModel()
    for (let i = 0; i < 256; i++) model.observe(4, i % 10 === 0 ? 100 : 10)
    expect(model.estimate.ratio).toBe(1.5)
  })

  it('never has a negative part', () => {
    const model = new LatencyModel()
    const random = seededRandom(2)
    for (let i = 0; i < 500; i++) {
      model.observe(1 + Math.floor(random.next() * 8), random.next() * 5)
      expect(model.estimate.fixedMs).toBeGreaterThanOrEqual(0)
      expect(model.estimate.itemMs).toBeGreaterThanOrEqual(0)
    }
  })
})

describe('the limit of AIMD', () => {
  const limit = () => new AimdLimit({ maxItems: 64, increase: 2, decrease: 0.9 })

  it('grows by two after a full batch in time, and says nothing of a smaller one', () => {
    const aimd = limit()
    for (let i = 0; i < 5; i++) aimd.observe({ items: aimd.items, runMs: 1, sloMs: 20 })
    expect(aimd.items).toBe(11)
    aimd.observe({ items: 3, runMs: 1, sloMs: 20 })
    expect(aimd.items).toBe(11)
  })

  it('shrinks by a tenth over the goal, never below 1', () => {
    const aimd = limit()
    for (let i = 0; i < 10; i++) aimd.observe({ items: aimd.items, runMs: 1, sloMs: 20 })
    aimd.observe({ items: 21, runMs: 30, sloMs: 20 })
    expect(aimd.items).toBe(18)
    for (let i = 0; i < 100; i++) aimd.observe({ items: 1, runMs: 30, sloMs: 20 })
    expect(aimd.items).toBe(1)
  })

  it('settles around the largest batch in time, and again when the cost doubles', () => {
    const aimd = limit()
    let itemMs = 0.5
    const settle = (): void => {
      for (let i = 0; i < 200; i++) {
        aimd.observe({ items: aimd.items, runMs: 2 + itemMs * aimd.items, sloMs: 20 })
      }
    }
    settle()
    expect(Math.abs(aimd.items - 36)).toBeLessThanOrEqual(4)
    itemMs = 1
    settle()
    expect(Math.abs(aimd.items - 18)).toBeLessThanOrEqual(3)
  })
})

describe('the limit of AIMD over runs', () => {
  /** The limit after so many full batches. */
  const settled = (cost: (items: number) => number, runs = 3000) => {
    const aimd = new AimdLimit({ maxItems: 4096, increase: 2, decrease: 0.9 })
    const run = (): void => aimd.observe({ items: aimd.items, runMs: cost(aimd.items), sloMs: 20 })
    for (let i = 0; i < runs; i++) run()
    return { aimd, run }
  }

  it('is back within a tenth after a pause of two seconds, in less than five seconds of runs', () => {
    const cost = (items: number): number => 2 + 0.5 * items
    const { aimd, run } = settled(cost)
    const before = aimd.items
    aimd.observe({ items: before, runMs: 2000, sloMs: 20 })
    let ms = 0
    for (; aimd.items < 0.9 * before; run()) ms += cost(aimd.items)
    expect(ms).toBeLessThan(5000)
    expect(before).toBeGreaterThan(30)
  })

  it('is more than 50 times as large for a linear model as for a kernel machine (Clipper, figure 3)', () => {
    const linear = settled((items) => 0.2 + 0.02 * items).aimd.items
    const kernel = settled((items) => 1 + 4 * items).aimd.items
    expect(linear / kernel).toBeGreaterThan(50)
  })
})

describe('the limit of the quantile regression', () => {
  it('is the size whose slow runs just reach the goal', () => {
    const random = seededRandom(4)
    const limit = new QuantileLimit(64, 0.99)
    for (let i = 0; i < 1000; i++) {
      const items = 1 + Math.floor(random.next() * limit.items)
      limit.observe({ items, runMs: (2 + 0.5 * items) * (1 + 0.2 * random.next()), sloMs: 20 })
    }
    // 1.2 x (2 + 0.5 b) = 20 for b = 29.
    expect(limit.items).toBeGreaterThanOrEqual(27)
    expect(limit.items).toBeLessThanOrEqual(32)
  })

  it('is a line that a hundredth of the times is above', () => {
    const random = seededRandom(9)
    const sizes = Float64Array.from({ length: 1000 }, () => 1 + Math.floor(random.next() * 32))
    const times = sizes.map((size) => 1 + size * (1 + random.next()))
    const line = quantileLine(sizes, times, 1000, 0.99)!
    const above = times.filter((time, i) => time > line.start + line.slope * sizes[i]!).length
    expect(above).toBeGreaterThanOrEqual(3)
    expect(above).toBeLessThanOrEqual(25)
    expect(quantileLine(sizes.fill(4), times, 1000, 0.99)).toBeUndefined()
  })
})

describe('admission', () => {
  const facts = {
    latency: { fixedMs: 1, itemMs: 1, ratio: 1, largest: 8 },
    waitingItems: 80,
    items: 1,
    maxItems: 8,
    workers: 1,
    slackMs: 50,
    sinceRunMs: 0,
    sloMs: 50,
  }

  it('refuses what the queue would make late, and says when to come again', () => {
    // Ten batches of 9 ms, then its own run of 2 ms: 42 ms too late.
    expect(refusal(facts)).toBe(42)
    expect(refusal({ ...facts, workers: 2 })).toBeUndefined()
    expect(refusal({ ...facts, slackMs: 92 })).toBeUndefined()
  })

  it('admits into an empty queue, before the first run, and when no run has ended for long', () => {
    expect(refusal({ ...facts, waitingItems: 0 })).toBeUndefined()
    expect(refusal({ ...facts, latency: { ...facts.latency, largest: 0 } })).toBeUndefined()
    expect(refusal({ ...facts, sinceRunMs: 101 })).toBeUndefined()
  })
})
