import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Benchmark, Figure } from '../harness/benchmark.ts'
import { KeySchedule } from '../load/key-schedule.ts'
import { median } from '../load/statistics.ts'
import { stretch, warmUp } from '../load/stretch.ts'
import { startRedis } from '../rivals/redis.ts'
import { loadRedisModel, redisPredictor } from '../rivals/redis-model.ts'
import type { MemoryReadingPlan, MemoryReadingResult } from './memory-reading-thread.ts'

/** The machine on which the absolute targets were set: GB/s that one and two threads read, predictions/s from Redis. */
const REFERENCE = { name: 'the machine of the targets', readGb: [21, 32], redisPerSecond: 98_000 }
const ROUNDS = 3
const SHAPE = { users: 200_000, items: 50_000, factors: 100 }

/**
 * `machine-speed`: the speed of this machine beside that of the machine on which the absolute targets were
 * set, in figures without Weir. The ratio shows how to scale the targets.
 */
export const machineSpeedBenchmark: Benchmark = {
  name: 'machine-speed',
  summary: 'memory reading and Redis beside the machine of the absolute targets',
  async run({ say }) {
    const figures: Figure[] = []
    for (const [index, reference] of REFERENCE.readGb.entries()) {
      const threads = index + 1
      const figure = {
        name: `memory-read-${threads}`,
        value: await readingGb(threads),
        unit: 'GB/s',
      }
      figures.push(beside(reference, figure))
    }
    const redis = await redisPerSecond(say)
    if (redis === undefined) return figures
    const figure = { name: 'redis', value: redis, unit: 'predictions/s' }
    return [...figures, beside(REFERENCE.redisPerSecond, figure)]
  },
}

/** A figure of this machine beside that of the reference machine. */
function beside(rival: number, figure: Figure): Figure {
  return { ...figure, name: `machine-speed-${figure.name}`, rival, rivalName: REFERENCE.name }
}

/** GB (10^9 bytes) a second that `threads` threads read together, the median of some rounds. */
async function readingGb(threads: number): Promise<number> {
  const rounds: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const gate = new SharedArrayBuffer(4)
    const results = await Promise.all(Array.from({ length: threads }, () => read(gate, threads)))
    rounds.push(results.reduce((sum, { bytesPerSecond }) => sum + bytesPerSecond, 0) / 1e9)
  }
  return median(rounds)
}

async function read(gate: SharedArrayBuffer, threads: number): Promise<MemoryReadingResult> {
  const workerData: MemoryReadingPlan = { gate, threads }
  const worker = new Worker(new URL('./memory-reading-thread.ts', import.meta.url), { workerData })
  const [result] = (await once(worker, 'message')) as [MemoryReadingResult]
  return result
}

/** Predictions a second from Redis, 256 outstanding. Without Redis, says so and returns undefined. */
async function redisPerSecond(say: (line: string) => void): Promise<number | undefined> {
  await using redis = await startRedis()
  if (redis === undefined) {
    say('redis-server is not installed (Debian: apt-get install redis-server): not measured')
    return undefined
  }
  await loadRedisModel(redis.client, SHAPE)
  const ask = redisPredictor(redis.client, new KeySchedule(SHAPE, 'uniform'), SHAPE.factors)
  await warmUp(ask)
  const rounds: number[] = []
  for (let round = 0; round < ROUNDS; round++) rounds.push((await stretch(ask)).perSecond)
  return median(rounds)
}
