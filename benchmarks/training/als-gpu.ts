import { GpuAlsSolver } from '../../src/training/als/gpu/solver.ts'
import type { AlsOptions, AlsProgress } from '../../src/training/als/solver/options.ts'
import { alsSettings } from '../../src/training/als/solver/options.ts'
import { alsShare } from '../../src/training/als/solver/share.ts'
import { initialiseFactors } from '../../src/training/als/solver/start.ts'
import { trainAls } from '../../src/training/als/train.ts'
import { type RatingsTable, ratingStatistics } from '../../src/training/data/ratings-table.ts'
import { openGpuRuntime } from '../../src/training/gpu/runtime.ts'
import type { Benchmark, Figure } from '../harness/benchmark.ts'
import { median, rounded } from '../load/statistics.ts'
import { figuresOnGpu, type GpuAdapter } from './gpu-adapter.ts'
import { phaseText, timedRuntime } from './gpu-profile.ts'

const FACTORS = 64
const ITERATIONS = 3

/**
 * `train-als-gpu`: ratings a second of explicit ALS on the GPU beside two threads of the CPU, on the ratings
 * of `train-als`. A software adapter gets one ten-thousandth of them. The details say where the time of
 * a half iteration goes.
 */
export const trainAlsGpuBenchmark: Benchmark = {
  name: 'train-als-gpu',
  summary: 'ALS on a GPU, 64 factors, CG 3; the figure names the adapter',
  run: (options) => figuresOnGpu(options, measure),
}

async function measure(
  table: RatingsTable,
  adapter: GpuAdapter,
  say: (line: string) => void,
): Promise<Figure> {
  const options: AlsOptions = { factors: FACTORS, iterations: ITERATIONS, solver: 'cg', threads: 2 }
  const gpu = (await trainAls(table, { ...options, device: 'gpu' })).history
  say(`GPU: ${rounded(secondsOf(gpu))} s an iteration`)
  const profile = await profileOf(table, options)
  for (const [half, text] of Object.entries(profile)) say(`${half}: ${text}`)
  const cpu = (await trainAls(table, options)).history
  const [ours, rival] = [gpu.at(-1)?.objective ?? 0, cpu.at(-1)?.objective ?? 1]
  return {
    name: `train-als-gpu-${FACTORS}`,
    value: table.size / secondsOf(gpu),
    unit: 'ratings/s',
    rival: table.size / secondsOf(cpu),
    rivalName: 'the CPU, two threads',
    details: {
      adapter: adapter.name,
      provider: adapter.provider,
      ratings: table.size,
      users: table.users.length,
      items: table.items.length,
      secondsPerIteration: rounded(secondsOf(gpu)),
      objectiveBesideCpu: rounded(Math.abs(ours / rival - 1)),
      ...profile,
    },
  }
}

/** Where the time of the second half iterations goes, which compile nothing. */
async function profileOf(
  table: RatingsTable,
  options: AlsOptions,
): Promise<Record<string, string>> {
  const { runtime, take } = timedRuntime(await openGpuRuntime())
  const settings = alsSettings(options)
  const { mean } = ratingStatistics(table)
  const share = alsShare(table, settings, mean)
  initialiseFactors(share, { table, settings, mean })
  await using solver = await GpuAlsSolver.create(runtime, share)
  const profile: Record<string, string> = {}
  for (const half of ['users', 'items', 'users', 'items'] as const) {
    take()
    const startMs = performance.now()
    await solver.solve(half, false)
    profile[`${half}Half`] = phaseText(performance.now() - startMs, take())
  }
  return profile
}

/** Median seconds of an iteration, without the first one, which also compiles. */
export function secondsOf(history: readonly AlsProgress[]): number {
  const ends = history.filter(({ side }) => side === 'items').map(({ seconds }) => seconds)
  return median(ends.slice(1).map((end, i) => end - (ends[i] ?? 0)))
}
