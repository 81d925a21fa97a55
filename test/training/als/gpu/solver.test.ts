import { describe, expect, it } from 'vitest'
import { batchSide, paddedLength } from '../../../../src/training/als/gpu/batches.ts'
import { openGpuRuntime } from '../../../../src/training/als/gpu/runtime.ts'
import { GpuAlsSolver } from '../../../../src/training/als/gpu/solver.ts'
import { cpuDevice } from '../../../../src/training/als/solver/device.ts'
import type { AlsOptions } from '../../../../src/training/als/solver/options.ts'
import { trainAls } from '../../../../src/training/als/train.ts'
import { fewRatings, sideDistances, startedShare } from '../fixture.ts'

const table = fewRatings(120, 60, 3000)

const VARIANTS: AlsOptions[] = [
  { factors: 9 },
  { factors: 9, penalty: 'n', regularization: 0.1, cgSteps: 2 },
  { factors: 8, biases: false },
  { factors: 7, feedback: 'implicit', alpha: 2, cgSteps: 4 },
]

describe.each(VARIANTS)('the graphs of a GPU with %o', (options) => {
  it('solve what the kernels solve: rows, objective and penalty', async () => {
    // The processor runs the same graphs; test/system/training/gpu-training.test.ts has them on WebGPU.
    const runtime = await openGpuRuntime(['cpu'])
    const [expected, actual] = [startedShare(table, options), startedShare(table, options)]
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
  })
})

describe('batches', () => {
  const share = startedShare(table, { factors: 8 })

  it('have every row once, padded by less than half', () => {
    const { batches, positions } = batchSide(share.users, share.unknowns, 5000)
    const rows = batches.flatMap((batch) => [...batch.rows])
    expect(rows.toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: share.users.rows }, (_, row) => row),
    )
    expect(rows.map((row) => positions[row])).toEqual(rows.map((_, position) => position))
    for (const batch of batches) {
      for (const row of batch.rows) {
        const count = share.users.offsets[row + 1]! - share.users.offsets[row]!
        expect(count).toBeLessThanOrEqual(batch.length)
        expect(batch.length).toBeLessThan(Math.max(9, (count * 3) / 2))
      }
    }
  })

  it('stay below the limit of floats, unless a single row is longer', () => {
    for (const { rows, length } of batchSide(share.items, share.unknowns, 5000).batches) {
      if (rows.length > 1) expect(rows.length * length * share.unknowns).toBeLessThanOrEqual(5000)
    }
  })

  it.each([
    [1, 8],
    [8, 8],
    [9, 12],
    [13, 16],
    [17, 24],
    [25, 32],
    [1000, 1024],
    [1025, 1536],
  ])('pad %i ratings to %i', (count, length) => {
    expect(paddedLength(count)).toBe(length)
  })
})

it('an exact solve on a GPU is refused before anything is loaded', async () => {
  await expect(trainAls(table, { device: 'gpu', solver: 'cholesky' })).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: expect.stringContaining('a GPU supports only the solver cg'),
  })
})
