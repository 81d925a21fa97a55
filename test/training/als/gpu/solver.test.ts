import { describe, expect, it } from 'vitest'
import { GpuAlsSolver } from '../../../../src/training/als/gpu/solver.ts'
import { cpuDevice } from '../../../../src/training/als/solver/device.ts'
import type { AlsOptions } from '../../../../src/training/als/solver/options.ts'
import { trainAls } from '../../../../src/training/als/train.ts'
import type { RatingsTable } from '../../../../src/training/data/ratings-table.ts'
import { openGpuRuntime } from '../../../../src/training/gpu/runtime.ts'
import { campaignSize } from '../../../run/campaign-size.ts'
import { commitSeed } from '../../../services/commit-seed.ts'
import { fewRatings, sideDistances, startedShare } from '../fixture.ts'

const table = fewRatings(120, 60, 3000)
/** Some items have more ratings than a segment. */
const popular = fewRatings(300, 3, 700)

const VARIANTS: AlsOptions[] = [
  { factors: 9 },
  { factors: 9, penalty: 'n', regularization: 0.1, cgSteps: 2 },
  { factors: 8, biases: false },
  { factors: 7, feedback: 'implicit', alpha: 2, cgSteps: 4 },
]

/** In the short part each variant with one of the tables, by the commit. */
const seed = commitSeed()

describe.each(VARIANTS)('the graphs of a GPU with %o', (options) => {
  const all: readonly [string, RatingsTable][] = [
    ['short rows', table],
    ['long rows', popular],
  ]
  it.each(campaignSize([all[(VARIANTS.indexOf(options) + seed) % 2]!], all))(
    'solve what the kernels solve: rows, objective and penalty of %s',
    async (_, ratings) => {
      // The processor runs the same graphs; test/system/training/gpu-training.test.ts has them on WebGPU.
      const runtime = await openGpuRuntime(['cpu'])
      const [expected, actual] = [startedShare(ratings, options), startedShare(ratings, options)]
      await using cpu = cpuDevice(expected, 0)
      await using solver = await GpuAlsSolver.create(runtime, actual, 2000)
      for (const side of ['users', 'items', 'users', 'items'] as const) {
        await cpu.solve(side, true)
        await solver.solve(side, true)
        const distances = sideDistances(expected, actual, side)
        expect(distances.rows).toBeLessThan(1e-3)
        expect(distances.objective).toBeLessThan(1e-3)
        expect(distances.penalties).toBeLessThan(1e-3)
      }
    },
  )
})

it('an exact solve on a GPU is refused before anything is loaded', async () => {
  await expect(trainAls(table, { device: 'gpu', solver: 'cholesky' })).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: expect.stringContaining('a GPU supports only the solver cg'),
  })
})
