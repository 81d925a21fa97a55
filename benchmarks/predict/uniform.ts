import type { Benchmark } from '../harness/benchmark.ts'
import { measureAgainstRedis } from './against-redis.ts'

/** `predict-uniform`: 256 predictions outstanding, uniform keys. */
export const predictUniformBenchmark: Benchmark = {
  name: 'predict-uniform',
  summary: '256 predictions outstanding, 2 M users and 500 k items, uniform keys, against Redis',
  async run(options) {
    const goal = { name: 'predict-uniform', distribution: 'uniform', target: 300_000 } as const
    return [await measureAgainstRedis(goal, options)]
  },
}
