import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { formatRating } from '../../../src/models/ratings/format.ts'
import type { AlsModel } from '../../../src/training/als/solver/model.ts'
import { chainFile } from '../../../src/training/bmf/chain-file.ts'
import type { BmfOptions } from '../../../src/training/bmf/options.ts'
import type { RowVariances } from '../../../src/training/bmf/score-variances.ts'
import { trainBmf } from '../../../src/training/bmf/train.ts'
import { ratingsOf } from '../../../src/training/data/ratings-table.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { commitSeed } from '../../services/commit-seed.ts'
import { NO_GPU, softwareGpu } from '../../services/software-gpu.ts'
import { fewRatings, relativeDistance } from '../../training/als/fixture.ts'
import { type CommandResult, weir } from '../cli/command-process.ts'

/**
 * Users with a few ratings, and items with so many that they are summed in segments. Few lengths and factors, because
 * a software GPU takes long to compile the operations of each factor.
 */
const table = fewRatings(260, 4, 900)
const OPTIONS: BmfOptions = { factors: 2, sweeps: 6, burnIn: 2, threads: 0 }

const rowsOf = (from: AlsModel | RowVariances): number[] => [
  ...from.users.flatMap((_, row) => [...from.row('U', row)]),
  ...from.items.flatMap((_, row) => [...from.row('I', row)]),
]

let folder: string

beforeAll(() => {
  Object.assign(process.env, softwareGpu())
  folder = mkdtempSync(join(tmpdir(), 'weir-gpu-bmf-'))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('Bayesian factorisation on a GPU', () => {
  it('gives the means, the variances and the errors of the CPU, also of validation ratings', async () => {
    const devices: string[] = []
    const options = { ...OPTIONS, variance: true, validation: table }
    const expected = await trainBmf(table, options)
    const actual = await trainBmf(table, {
      ...options,
      threads: 2,
      device: 'gpu',
      onDevice: (device) => devices.push(device),
    })
    expect(devices).toEqual(['webgpu'])
    expect(relativeDistance(rowsOf(expected.model), rowsOf(actual.model))).toBeLessThan(1e-3)
    expect(relativeDistance(rowsOf(expected.variances!), rowsOf(actual.variances!))).toBeLessThan(
      1e-3,
    )
    for (const [sweep, there] of expected.history.entries()) {
      const here = actual.history[sweep]!
      expect(Math.abs(here.trainRmse / there.trainRmse - 1)).toBeLessThan(1e-4)
      expect(Math.abs(here.validationRmse! / there.validationRmse! - 1)).toBeLessThan(1e-3)
      expect(Math.abs(here.noise / there.noise - 1)).toBeLessThan(1e-4)
    }
  })

  it('continues a chain of the CPU, and the CPU one of the GPU', async () => {
    const whole = await trainBmf(table, OPTIONS)
    const ways = [
      ['cpu', 'gpu'],
      ['gpu', 'cpu'],
    ] as const
    // The short part has one of them, by the seed.
    for (const [first, second] of ways.filter((_, n) =>
      campaignSize(n === commitSeed() % 2, true),
    )) {
      const store = chainFile(join(folder, `${first}.chain`))
      await trainBmf(table, { ...OPTIONS, sweeps: 3, device: first, store })
      const { model, history } = await trainBmf(table, { ...OPTIONS, device: second, store })
      expect(history.map(({ sweep }) => sweep)).toEqual([4, 5, 6])
      expect(relativeDistance(rowsOf(whole.model), rowsOf(model))).toBeLessThan(1e-3)
    }
  })

  it('ends with TRAINING_DIVERGED where ratings are not finite, and leaves no thread running', async () => {
    const infinite = [...ratingsOf(table)].map((rating, k) =>
      k === 0 ? { ...rating, rating: 3e38 } : rating,
    )
    const training = trainBmf(infinite, { ...OPTIONS, threads: 1, device: 'gpu' })
    await expect(training).rejects.toMatchObject({ code: 'TRAINING_DIVERGED' })
    expect(process.getActiveResourcesInfo()).not.toContain('MessagePort')
  })
})

describe('weir train bmf --device', () => {
  let ratings: string

  beforeAll(() => {
    ratings = join(folder, 'u.data')
    writeFileSync(ratings, [...ratingsOf(table)].map((r) => formatRating(r, 'tab')).join('\n'))
  })

  const train = (device: string, env: Readonly<Record<string, string>>): Promise<CommandResult> =>
    weir(
      [
        ...['train', 'bmf', '--no-publish', '--ratings', ratings, '--device', device],
        ...['--factors', '1', '--sweeps', '2'],
      ],
      { env },
    ).ended

  it('gpu trains on the GPU and reports it', async () => {
    const { code, stdout } = await train('gpu', softwareGpu())
    expect(stdout).toMatch(/ratings in .* s on the GPU \(webgpu\)/)
    expect(code).toBe(0)
  })

  it('gpu fails with advice if there is no adapter', async () => {
    const { code, stderr } = await train('gpu', NO_GPU)
    expect(code).toBe(1)
    expect(stderr).toContain('GPU_UNAVAILABLE: no GPU found')
    expect(stderr).toContain('train with device cpu instead')
  })

  it('knows no auto', async () => {
    const { code, stderr } = await train('auto', NO_GPU)
    expect(code).toBe(2)
    expect(stderr).toContain('--device must be one of cpu, gpu')
  })
})

it('more than 128 factors on a GPU are refused before anything is loaded', async () => {
  await expect(trainBmf(table, { device: 'gpu', factors: 129 })).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: expect.stringContaining('up to 128 factors, not 129'),
  })
})
