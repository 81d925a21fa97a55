import { MiniCluster } from '../../src/testing/mini-cluster.ts'
import type { Benchmark } from '../harness/benchmark.ts'
import { median } from '../load/statistics.ts'
import type { ShuffleJobOptions } from './shuffle-job.ts'

const RECORDS = 6_000_000
const ROUNDS = 3

async function round(records: number): Promise<number> {
  await using cluster = new MiniCluster()
  const options: ShuffleJobOptions = { records, keys: 100_000 }
  const job = await cluster.startWorkers(new URL('./shuffle-job.ts', import.meta.url), options, {
    configuration: { 'parallelism.default': '2', 'state.backend.type': 'heap' },
  })
  await job.waitFor('RUNNING')
  const start = performance.now()
  await job.result
  return records / ((performance.now() - start) / 1000)
}

/** `shuffle`: keyed records through one shuffle on 2 slots, 16-byte records, heap state. */
export const shuffleBenchmark: Benchmark = {
  name: 'shuffle',
  summary: 'keyed 16-byte records through one shuffle on 2 slots, heap state',
  async run({ scale, say }) {
    const rates: number[] = []
    for (let i = 0; i < ROUNDS; i++) {
      rates.push(await round(Math.round((RECORDS * scale) / 2) * 2))
      say(`round ${i + 1}: ${Math.round(rates[i]!)} records/s`)
    }
    return [
      {
        name: 'shuffle',
        value: median(rates),
        unit: 'records/s',
        target: 500_000,
        details: { records: RECORDS * scale, rounds: ROUNDS, keys: 100_000 },
      },
    ]
  },
}
