import type { Benchmark } from '../harness/benchmark.ts'
import { measureAgainstRedis } from './against-redis.ts'

/** `predict-hot`: 256 predictions outstanding, Zipf keys. */
export const predictHotBenchmark: Benchmark = {
  name: 'predict-hot',
  summary: '256 predictions outstanding, 2 M users and 500 k items, Zipf keys, against Redis',
  async run(options) {
    const goal = {
      name: 'predict-hot',
      distribution: 'zipf',
      target: 400_000,
      targetRatio: 4,
    } as const
    return [await measureAgainstRedis(goal, options)]
  },
}
