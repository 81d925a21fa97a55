import { MiniCluster } from '../../src/testing/mini-cluster.ts'
import type { Benchmark, BenchmarkOptions, Figure } from '../harness/benchmark.ts'
import { median } from '../load/statistics.ts'
import type { ShuffleJobOptions } from './shuffle-job.ts'

const RECORDS = 6_000_000
const KEYS = 100_000
const ROUNDS = 3

type Kind = ShuffleJobOptions['kind']

async function round(kind: Kind, records: number): Promise<number> {
  await using cluster = new MiniCluster()
  const options: ShuffleJobOptions = { kind, records, keys: KEYS }
  const job = await cluster.startWorkers(new URL('./shuffle-job.ts', import.meta.url), options, {
    configuration: { 'parallelism.default': '2', 'state.backend.type': 'heap' },
  })
  await job.waitFor('RUNNING')
  const start = performance.now()
  await job.result
  return records / ((performance.now() - start) / 1000)
}

async function figureOf(
  name: string,
  kind: Kind,
  target: number,
  { scale, say }: BenchmarkOptions,
): Promise<Figure> {
  const records = Math.round((RECORDS * scale) / 2) * 2
  const rates: number[] = []
  for (let i = 0; i < ROUNDS; i++) {
    rates.push(await round(kind, records))
    say(`${kind}, round ${i + 1}: ${Math.round(rates[i]!)} records/s`)
  }
  const details = { records, rounds: ROUNDS, keys: KEYS }
  return { name, value: median(rates), unit: 'records/s', target, details }
}

/** `shuffle`: keyed records through one shuffle on 2 slots, 16 bytes and objects with ten fields, heap state. */
export const shuffleBenchmark: Benchmark = {
  name: 'shuffle',
  summary: 'keyed records through one shuffle on 2 slots: 16 bytes, and objects with ten fields',
  async run(options) {
    return [
      await figureOf('shuffle', 'bytes', 5_000_000, options),
      await figureOf('shuffle-objects', 'objects', 2_000_000, options),
    ]
  },
}
