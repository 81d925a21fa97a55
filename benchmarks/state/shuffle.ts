import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../src/core/clock.ts'
import { MiniCluster } from '../../src/testing/mini-cluster.ts'
import type { Benchmark, BenchmarkOptions, Figure } from '../harness/benchmark.ts'
import { median } from '../load/statistics.ts'
import { amountOf, PARTITIONS, type ShuffleJobOptions, TOTAL } from './shuffle-job.ts'

/** Records that are measured. */
const RECORDS = 12_000_000
/** Records before them, in which the job starts and its code is compiled. */
const WARM_UP = 6_000_000
const KEYS = 100_000
const ROUNDS = 3

type Kind = ShuffleJobOptions['kind']

/** The amounts of all records. */
function totalOf({ recordsPerPartition }: ShuffleJobOptions): number {
  let total = 0
  for (let index = 0; index < recordsPerPartition; index++) total += amountOf(index)
  return total * PARTITIONS
}

/** When the first partition had read its warm-up, ms. */
function startOf({ starts }: ShuffleJobOptions): number {
  const times = readFileSync(starts, 'utf8').trim().split('\n')
  if (times.length !== PARTITIONS) throw new Error(`${times.length} partitions wrote their start`)
  return Math.min(...times.map(Number))
}

/** Records per second; those of the warm-up do not count, although the slower partition reads some of its own later. */
async function round(options: ShuffleJobOptions): Promise<number> {
  await using cluster = new MiniCluster()
  const job = await cluster.startWorkers(new URL('./shuffle-job.ts', import.meta.url), options, {
    configuration: { 'parallelism.default': '2', 'state.backend.type': 'heap' },
  })
  const result = await job.result
  const endMs = systemClock.monotonicMs()
  const total = result.getAccumulatorResult<number>(TOTAL)
  if (total !== totalOf(options)) throw new Error(`the sum of all amounts is ${total}`)
  const measured = (options.recordsPerPartition - options.warmUp) * PARTITIONS
  return (measured / (endMs - startOf(options))) * 1000
}

async function figureOf(
  name: string,
  kind: Kind,
  target: number,
  { scale, say, scratch }: BenchmarkOptions,
): Promise<Figure> {
  const warmUp = Math.round((WARM_UP * scale) / PARTITIONS)
  const recordsPerPartition = warmUp + Math.round((RECORDS * scale) / PARTITIONS)
  const rates: number[] = []
  for (let i = 0; i < ROUNDS; i++) {
    const starts = join(scratch, `${name}-${i}`)
    rates.push(await round({ kind, recordsPerPartition, warmUp, keys: KEYS, starts }))
    say(`${kind}, round ${i + 1}: ${Math.round(rates[i]!)} records/s`)
  }
  const records = (recordsPerPartition - warmUp) * PARTITIONS
  const details = { records, warmUp: warmUp * PARTITIONS, rounds: ROUNDS, keys: KEYS }
  return { name, value: median(rates), unit: 'records/s', target, details }
}

/**
 * `shuffle`: keyed records through one shuffle on 2 slots, 16 bytes and objects with ten fields, heap state. The clock
 * runs from when the first partition of the source has read a first part until the job has ended, every record summed.
 */
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
