import { trainAls } from '../../src/training/als/train.ts'
import { Chain } from '../../src/training/bmf/chain.ts'
import { bmfShare } from '../../src/training/bmf/drawing/share.ts'
import { GpuDrawer } from '../../src/training/bmf/gpu/drawer.ts'
import { type BmfOptions, type BmfProgress, bmfSettings } from '../../src/training/bmf/options.ts'
import { trainBmf } from '../../src/training/bmf/train.ts'
import { type RatingsTable, ratingStatistics } from '../../src/training/data/ratings-table.ts'
import { openGpuRuntime } from '../../src/training/gpu/runtime.ts'
import type { Benchmark, Figure } from '../harness/benchmark.ts'
import { median, rounded } from '../load/statistics.ts'
import { secondsOf } from './als-gpu.ts'
import { figuresOnGpu, type GpuAdapter } from './gpu-adapter.ts'
import { phaseText, timedRuntime } from './gpu-profile.ts'

const FACTORS = 32
const SWEEPS = 4

/**
 * `train-bmf-gpu`: ratings a second of a sweep of Bayesian factorisation on the GPU beside two threads of the CPU, and in
 * the details beside ALS on the GPU, on the ratings of `train-als`. A software adapter gets one ten-thousandth of
 * them. The details say where the time of a half sweep goes.
 */
export const trainBmfGpuBenchmark: Benchmark = {
  name: 'train-bmf-gpu',
  summary: `Bayesian factorisation on a GPU, ${FACTORS} factors; the figure names the adapter`,
  run: (options) => figuresOnGpu(options, measure),
}

async function measure(
  table: RatingsTable,
  adapter: GpuAdapter,
  say: (line: string) => void,
): Promise<Figure> {
  const options: BmfOptions = { factors: FACTORS, sweeps: SWEEPS, burnIn: 1, threads: 2 }
  const gpu = (await trainBmf(table, { ...options, device: 'gpu' })).history
  say(`GPU: ${rounded(secondsOfSweep(gpu))} s a sweep`)
  const profile = await profileOf(table, options)
  for (const [half, text] of Object.entries(profile)) say(`${half}: ${text}`)
  const als = await trainAls(table, {
    ...{ factors: FACTORS, iterations: SWEEPS, solver: 'cg', threads: 2, device: 'gpu' },
  })
  const cpu = (await trainBmf(table, options)).history
  const [ours, theirs] = [gpu.at(-1)?.trainRmse ?? 0, cpu.at(-1)?.trainRmse ?? 1]
  return {
    name: `train-bmf-gpu-${FACTORS}`,
    value: table.size / secondsOfSweep(gpu),
    unit: 'ratings/s',
    rival: table.size / secondsOfSweep(cpu),
    rivalName: 'the CPU, two threads',
    details: {
      adapter: adapter.name,
      provider: adapter.provider,
      ratings: table.size,
      users: table.users.length,
      items: table.items.length,
      secondsPerSweep: rounded(secondsOfSweep(gpu)),
      firstSweepSeconds: rounded(gpu[0]?.seconds ?? 0),
      alsRatingsPerSecond: Math.round(table.size / secondsOf(als.history)),
      rmseBesideCpu: rounded(Math.abs(ours / theirs - 1)),
      ...profile,
    },
  }
}

/** Where the time of the second half sweeps goes, which compile nothing. */
async function profileOf(
  table: RatingsTable,
  options: BmfOptions,
): Promise<Record<string, string>> {
  const { runtime, take } = timedRuntime(await openGpuRuntime())
  const settings = bmfSettings(options)
  const statistics = ratingStatistics(table)
  const share = bmfShare(table, settings, statistics.mean)
  const chain = new Chain(share, table, statistics, { burnIn: 1, variance: false })
  chain.start()
  await using drawer = await GpuDrawer.create(runtime, share, { threads: settings.threads })
  const profile: Record<string, string> = {}
  for (const sweep of [1, 2]) {
    for (const side of ['users', 'items'] as const) {
      take()
      const startMs = performance.now()
      await chain.drawSide(drawer, { side, sweep, read: false })
      const groups = drawer.batchesOf(side).join(' + ')
      const text = phaseText(performance.now() - startMs, take())
      profile[`${side}Half`] = `${text}; batches ${groups}`
    }
    chain.endSweep(sweep)
  }
  return profile
}

/** Median seconds of a sweep; the first one also compiles. */
function secondsOfSweep(history: readonly BmfProgress[]): number {
  return median(history.slice(1).map(({ seconds }, i) => seconds - (history[i]?.seconds ?? 0)))
}
