import { describe, expect, it } from 'vitest'
import { matrixOf } from '../../../../src/training/als/solver/sides.ts'
import { Chain } from '../../../../src/training/bmf/chain.ts'
import { BmfDrawer, type BmfTask } from '../../../../src/training/bmf/drawing/drawer.ts'
import { type BmfShare, bmfShare } from '../../../../src/training/bmf/drawing/share.ts'
import { GpuDrawer } from '../../../../src/training/bmf/gpu/drawer.ts'
import { type BmfOptions, bmfSettings } from '../../../../src/training/bmf/options.ts'
import { ratingStatistics } from '../../../../src/training/data/ratings-table.ts'
import { openGpuRuntime } from '../../../../src/training/gpu/runtime.ts'
import {
  callingThread,
  type TrainingThreads,
} from '../../../../src/training/threads/training-threads.ts'
import { fewRatings, relativeDistance } from '../../als/fixture.ts'

const table = fewRatings(120, 60, 3000)
const SWEEPS = 4
const BURN_IN = 1

/** A chain at its start. */
function startedChain(options: BmfOptions): { chain: Chain; share: BmfShare } {
  const settings = bmfSettings({ threads: 0, sweeps: SWEEPS, burnIn: BURN_IN, ...options })
  const statistics = ratingStatistics(table)
  const share = bmfShare(table, settings, statistics.mean)
  const chain = new Chain(share, table, statistics)
  chain.start()
  return { chain, share }
}

/** Runs a sweep; returns the RMSE of the training ratings. */
async function sweepOf(
  chain: Chain,
  threads: TrainingThreads<BmfTask>,
  sweep: number,
): Promise<number> {
  const kept = Math.max(0, sweep - BURN_IN)
  for (const side of ['users', 'items'] as const) {
    await chain.drawSide(threads, { side, sweep, kept, read: true })
  }
  return chain.drawNoise(sweep)
}

const VARIANTS: BmfOptions[] = [{ factors: 1 }, { factors: 6 }, { factors: 9, variance: true }]

describe.each(VARIANTS)('the graphs of a GPU with %o', (options) => {
  it('draw what the kernels draw: rows, means, moments and errors', async () => {
    // The processor runs the same graphs; test/system/training/gpu-bmf.test.ts has them on WebGPU.
    const runtime = await openGpuRuntime(['cpu'])
    const [expected, actual] = [startedChain(options), startedChain(options)]
    const cpu = callingThread(new BmfDrawer(expected.share, 0))
    await using gpu = await GpuDrawer.create(runtime, actual.share, 4000)
    expect(gpu.batchesOf('users')).toBeGreaterThan(2)
    for (let sweep = 1; sweep <= SWEEPS; sweep++) {
      const rmse = await sweepOf(expected.chain, cpu, sweep)
      const actualRmse = await sweepOf(actual.chain, gpu, sweep)
      expect(Math.abs(actualRmse / rmse - 1)).toBeLessThan(1e-4)
      for (const side of ['users', 'items'] as const) {
        const [a, b] = [expected.share, actual.share].map((share) => ({
          rows: matrixOf(share, share[side]),
          means: share[side].means,
          moments: share[side].moments,
        }))
        expect(relativeDistance(a!.rows, b!.rows)).toBeLessThan(1e-3)
        if (sweep > BURN_IN) expect(relativeDistance(a!.means, b!.means)).toBeLessThan(1e-3)
        if (sweep > BURN_IN + 1 && options.variance === true) {
          expect(relativeDistance(a!.moments, b!.moments)).toBeLessThan(1e-3)
        }
      }
    }
  })
})
