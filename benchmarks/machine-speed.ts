import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { type Benchmark, type Figure, median } from './benchmark.ts'
import { KeySchedule } from './key-schedule.ts'
import type { MemoryReadingPlan, MemoryReadingResult } from './memory-reading-thread.ts'
import { stretch, warmUp } from './predict-against-redis.ts'
import { loadRedisModel, redisPredictor } from './redis-model.ts'
import { startRedis } from './redis-rival.ts'

/** The machine on which the absolute targets were set: GB/s that threads read, Redis's predictions/s. */
const REFERENCE = { name: 'the machine of the targets', readGb: [21, 32], redisPerSecond: 98_000 }
const ROUNDS = 3
const SHAPE = { users: 200_000, items: 50_000, factors: 100 }

/**
 * `machine-speed`: how fast this machine is beside the one on which the absolute targets were set, in
 * figures that have nothing to do with Weir. The ratio says how to scale the targets.
 */
export const machineSpeedBenchmark: Benchmark = {
  name: 'machine-speed',
  summary: 'memory reading and Redis beside the machine of the absolute targets',
  async run({ say }) {
    const figures: Figure[] = []
    for (const [index, reference] of REFERENCE.readGb.entries()) {
      const threads = index + 1
      figures.push(figureOf(`memory-read-${threads}`, await readingGb(threads), 'GB/s', reference))
    }
    const redis = await redisPerSecond(say)
    if (redis === undefined) return figures
    return [...figures, figureOf('redis', redis, 'predictions/s', REFERENCE.redisPerSecond)]
  },
}

function figureOf(name: string, value: number, unit: string, rival: number): Figure {
  return { name: `machine-speed-${name}`, value, unit, rival, rivalName: REFERENCE.name }
}

/** GB (10^9 bytes) a second that so many threads read together: the median of some rounds. */
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

/** Predictions a second out of Redis, 256 outstanding; undefined, and said, when it is not installed. */
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
