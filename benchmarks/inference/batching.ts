import type { BatchingSettings, Deployment } from '../../src/inference/port/deployment.ts'
import type { Benchmark, Figure } from '../harness/benchmark.ts'
import { costing, floats, type LoadResult, percentile, serve } from './serving.ts'

const SECONDS = 5
const GOAL_MS = 20

async function closed(
  batching: BatchingSettings,
  cost: { readonly fixedMs: number; readonly itemMs: number },
  seconds: number,
): Promise<LoadResult> {
  const deployment: Deployment = {
    sloMs: GOAL_MS,
    batching,
    maxBatchItems: 128,
    queueCapacity: 512,
  }
  await using served = await serve(costing(cost), deployment, [floats('x', [1])])
  await served.closedLoop(128, seconds * 0.4)
  return await served.closedLoop(128, seconds)
}

/** `batching-gain`: the adaptive rules over no batching, for a runner with a fixed cost of 2 ms. */
export const batchingGainBenchmark: Benchmark = {
  name: 'batching-gain',
  summary: 'adaptive rules over no batching; 2 ms a run and 0.05 ms an item, goal 20 ms',
  async run({ scale, say }) {
    const rates = new Map<string, number>()
    for (const rule of ['none', 'window', 'slack', 'aimd', 'quantile'] as const) {
      const cost = { fixedMs: 2, itemMs: 0.05 }
      const { perSecond, times } = await closed({ rule }, cost, SECONDS * scale)
      say(`${rule}: ${Math.round(perSecond)}/s, p99 ${percentile(times, 0.99).toFixed(1)} ms`)
      rates.set(rule, perSecond)
    }
    const adaptive = ['slack', 'aimd', 'quantile'].map((rule) => rates.get(rule)!)
    return [
      {
        name: 'batching-gain',
        value: rates.get('slack')!,
        unit: 'answers/s',
        rival: rates.get('none')!,
        rivalName: 'no batching',
        targetRatio: 10,
        details: {
          window: rates.get('window')!,
          aimd: rates.get('aimd')!,
          quantile: rates.get('quantile')!,
          spread: Math.max(...adaptive) / Math.min(...adaptive) - 1,
        },
      },
    ]
  },
}

/** `delay-gain`: two milliseconds of waiting, for a high and for a low fixed cost. */
export const delayGainBenchmark: Benchmark = {
  name: 'delay-gain',
  summary: 'delayed batching of 2 ms over none at a moderate load: answers a second of run time',
  async run({ scale }) {
    const efficiency = async (fixedMs: number, itemMs: number, delayMs: number) => {
      const deployment: Deployment = {
        sloMs: GOAL_MS,
        batching: { rule: 'aimd', delayMs },
        maxBatchItems: 64,
      }
      await using served = await serve(costing({ fixedMs, itemMs }), deployment, [floats('x', [1])])
      await served.openLoop(() => 1200, SECONDS * scale)
      const { items, runMs } = served.statistics()
      return (1000 * items) / runMs
    }
    const figure = async (
      name: string,
      fixedMs: number,
      itemMs: number,
      targetRatio: number,
    ): Promise<Figure> => ({
      name,
      targetRatio,
      value: await efficiency(fixedMs, itemMs, 2),
      unit: 'answers/s of run time',
      rival: await efficiency(fixedMs, itemMs, 0),
      rivalName: 'without delay',
    })
    return [
      await figure('delay-gain-high', 0.6, 0.005, 2),
      await figure('delay-gain-low', 0.02, 0.6, 0.95),
    ]
  },
}

/** `overload`: ten times the capacity; answers in time beside the capacity, and beside the window rule. */
export const overloadBenchmark: Benchmark = {
  name: 'overload',
  summary: 'ten times the capacity: answers within the goal of 100 ms, beside the capacity',
  async run({ scale, say }) {
    const cost = { fixedMs: 4, itemMs: 1 }
    // A batch of 32 takes 36 ms.
    const capacity = (32 / (cost.fixedMs + cost.itemMs * 32)) * 1000
    const run = async (batching: BatchingSettings): Promise<LoadResult> => {
      const deployment = { sloMs: 100, batching, maxBatchItems: 32, queueCapacity: 512 }
      await using served = await serve(costing(cost), deployment, [floats('x', [1])])
      await served.closedLoop(64, 2 * scale)
      const result = await served.openLoop(() => capacity * 10, 2 * SECONDS * scale)
      const { shedDoomed, shedFull, expired } = served.statistics()
      say(`${batching.rule}: ${JSON.stringify({ shedDoomed, shedFull, expired })}`)
      return result
    }
    const ours = await run({ rule: 'slack' })
    const window = await run({ rule: 'window' })
    return [
      {
        name: 'overload',
        value: ours.perSecond,
        unit: 'answers/s',
        rival: capacity,
        rivalName: 'capacity',
        targetRatio: 0.95,
        details: {
          p99Ms: percentile(ours.times, 0.99),
          window: window.perSecond,
          windowP99Ms: percentile(window.times, 0.99),
        },
      },
    ]
  },
}

/** `overdue-rafiki`: Rafiki's workload in real time at a fifth of its times; missed at both rates. */
export const overdueBenchmark: Benchmark = {
  name: 'overdue-rafiki',
  summary: "missed requests on Rafiki's workload (five times as fast), beside its greedy rule",
  async run({ scale }) {
    const missed = async (batching: BatchingSettings, perSecond: number): Promise<number> => {
      const cost = { fixedMs: 16.7 / 5, itemMs: 3.333 / 5 }
      const deployment = { sloMs: 560 / 5, batching, maxBatchItems: 64, queueCapacity: 1024 }
      await using served = await serve(costing(cost), deployment, [floats('x', [1])])
      await served.closedLoop(64, 2 * scale)
      const wave = (ms: number): number => perSecond * 5 * (1 + 0.1 * Math.sin(ms / 1000))
      // Whole periods: half a period more would be a crest, and the mean rate not the named one.
      const seconds = 2 * Math.PI * Math.max(1, Math.round(3 * scale))
      const { answered, refused } = await served.openLoop(wave, seconds)
      return (100 * refused) / (answered + refused)
    }
    const figure = async (name: string, rate: number, target: number): Promise<Figure> => ({
      name,
      value: await missed({ rule: 'slack' }, rate),
      unit: '% missed',
      target,
      higher: false,
      rival: await missed({ rule: 'greedy' }, rate),
      rivalName: "Rafiki's greedy rule",
    })
    return [
      await figure('overdue-rafiki-upper', 272, 3),
      await figure('overdue-rafiki-lower', 228, 0.1),
    ]
  },
}

/** `worker-scaling`: a model that waits 5 ms, with one worker and with four. */
export const workerScalingBenchmark: Benchmark = {
  name: 'worker-scaling',
  summary: 'a model that waits 5 ms a request: four workers over one',
  async run({ scale }) {
    const perSecond = async (workers: number): Promise<number> => {
      const deployment = {
        sloMs: 1000,
        workers,
        maxBatchItems: 1,
        batching: { rule: 'none' } as const,
      }
      const cost = { fixedMs: 5, itemMs: 0 }
      await using served = await serve(costing(cost), deployment, [floats('x', [1])])
      return (await served.closedLoop(16, SECONDS * scale)).perSecond
    }
    return [
      {
        name: 'worker-scaling',
        value: await perSecond(4),
        unit: 'answers/s',
        rival: await perSecond(1),
        rivalName: 'one worker',
        targetRatio: 3.8,
      },
    ]
  },
}
