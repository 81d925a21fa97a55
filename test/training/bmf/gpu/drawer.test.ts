import { describe, expect, it } from 'vitest'
import { matrixOf } from '../../../../src/training/als/solver/sides.ts'
import { Chain } from '../../../../src/training/bmf/chain.ts'
import { BmfDrawer, type BmfTask } from '../../../../src/training/bmf/drawing/drawer.ts'
import { type BmfShare, bmfShare } from '../../../../src/training/bmf/drawing/share.ts'
import { GpuDrawer } from '../../../../src/training/bmf/gpu/drawer.ts'
import { deviceWidth } from '../../../../src/training/bmf/gpu/graph.ts'
import { type BmfOptions, bmfSettings } from '../../../../src/training/bmf/options.ts'
import { type RatingsTable, ratingStatistics } from '../../../../src/training/data/ratings-table.ts'
import { openGpuRuntime } from '../../../../src/training/gpu/runtime.ts'
import {
  callingThread,
  type TrainingThreads,
} from '../../../../src/training/threads/training-threads.ts'
import { campaignSize } from '../../../run/campaign-size.ts'
import { commitSeed } from '../../../services/commit-seed.ts'
import { fewRatings, relativeDistance } from '../../als/fixture.ts'

const SWEEPS = campaignSize(3, 4)
const BURN_IN = 1

/** A chain at its start. */
function startedChain(table: RatingsTable, options: BmfOptions): { chain: Chain; share: BmfShare } {
  const settings = bmfSettings({ threads: 0, sweeps: SWEEPS, burnIn: BURN_IN, ...options })
  const statistics = ratingStatistics(table)
  const share = bmfShare(table, settings, statistics.mean)
  const chain = new Chain(share, table, statistics, settings)
  chain.start()
  return { chain, share }
}

/** Runs a sweep; returns the RMSE of the training ratings. */
async function sweepOf(
  chain: Chain,
  threads: TrainingThreads<BmfTask>,
  sweep: number,
): Promise<number> {
  for (const side of ['users', 'items'] as const) {
    await chain.drawSide(threads, { side, sweep, read: true })
  }
  return chain.endSweep(sweep)
}

const CASES: readonly [string, RatingsTable, BmfOptions][] = [
  ['one factor', fewRatings(120, 60, 3000), { factors: 1 }],
  ['six factors', fewRatings(120, 60, 3000), { factors: 6 }],
  ['rows that are summed in segments', fewRatings(300, 3, 700), { factors: 2 }],
]

describe('the graphs of a GPU', () => {
  it.each(campaignSize([CASES[commitSeed() % 3]!], CASES))(
    'draw what the kernels draw: %s',
    async (_, table, options) => {
      // The processor runs the same graphs; test/system/training/gpu-bmf.test.ts has them on WebGPU.
      const runtime = await openGpuRuntime(['cpu'])
      const [expected, actual] = [startedChain(table, options), startedChain(table, options)]
      const cpu = callingThread(new BmfDrawer(expected.share, 0))
      const batchFloats = 60 * deviceWidth(expected.share.unknowns) ** 2
      await using gpu = await GpuDrawer.create(runtime, actual.share, { batchFloats })
      expect(Math.max(...gpu.batchesOf('users'))).toBeGreaterThan(1)
      expect(gpu.batchesOf('users').length).toBeGreaterThan(1)
      for (let sweep = 1; sweep <= SWEEPS; sweep++) {
        const rmse = await sweepOf(expected.chain, cpu, sweep)
        const actualRmse = await sweepOf(actual.chain, gpu, sweep)
        expect(Math.abs(actualRmse / rmse - 1)).toBeLessThan(1e-4)
        for (const side of ['users', 'items'] as const) {
          const [a, b] = [expected.share, actual.share].map((share) => ({
            rows: matrixOf(share, share[side]),
            means: share[side].means,
          }))
          expect(relativeDistance(a!.rows, b!.rows)).toBeLessThan(1e-3)
          if (sweep > BURN_IN) expect(relativeDistance(a!.means, b!.means)).toBeLessThan(1e-3)
        }
      }
    },
  )
})
