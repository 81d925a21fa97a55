import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Clock, systemClock } from '../../../src/core/clock.ts'
import { formatRating } from '../../../src/models/ratings/format.ts'
import type { AlsModel } from '../../../src/training/als/solver/model.ts'
import type { AlsOptions } from '../../../src/training/als/solver/options.ts'
import { trainAls } from '../../../src/training/als/train.ts'
import { ratingsOf } from '../../../src/training/data/ratings-table.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { commitSeed } from '../../services/commit-seed.ts'
import { NO_GPU, softwareGpu } from '../../services/software-gpu.ts'
import { fewRatings, relativeDistance } from '../../training/als/fixture.ts'
import { type CommandResult, weir } from '../cli/command-process.ts'

/**
 * Users with a few ratings, and items with so many that they are summed in segments: few lengths, because a software
 * GPU takes milliseconds per operation of each batch.
 */
const table = fewRatings(260, 4, 900)
const OPTIONS: AlsOptions = { solver: 'cg', factors: 5, iterations: 2, threads: 0 }

const rowsOf = (model: AlsModel): number[] => [
  ...model.users.flatMap((_, row) => [...model.row('U', row)]),
  ...model.items.flatMap((_, row) => [...model.row('I', row)]),
]

/** A clock on which each interval is half as long as the one before, so that the CPU, timed first, seems slow. */
function slowingClock(): Clock {
  let leftMs = 1000
  return {
    ...systemClock,
    monotonicMs() {
      leftMs /= 2
      return 1000 - leftMs
    },
  }
}

beforeAll(() => {
  Object.assign(process.env, softwareGpu())
})

describe('training on a GPU', () => {
  const variants = [
    ['explicit feedback with biases', {}],
    ['implicit feedback', { feedback: 'implicit' }],
  ] as const
  // The short part has one of them, by the seed.
  const chosen = variants.filter((_, n) => campaignSize(n === commitSeed() % 2, true))

  it.each(chosen)('gives the rows of the CPU: %s', async (_, variant) => {
    const options = { ...OPTIONS, ...variant }
    const devices: string[] = []
    const expected = await trainAls(table, options)
    const actual = await trainAls(table, {
      ...options,
      device: 'gpu',
      onDevice: (device) => devices.push(device),
    })
    expect(devices).toEqual(['webgpu'])
    expect(relativeDistance(rowsOf(expected), rowsOf(actual))).toBeLessThan(1e-3)
    for (const [half, { objective }] of expected.history.entries()) {
      expect(Math.abs((actual.history[half]?.objective ?? 0) / objective - 1)).toBeLessThan(1e-3)
    }
  })

  it('is chosen by auto if the GPU needs less time than the CPU', async () => {
    const devices: unknown[] = []
    const expected = await trainAls(table, OPTIONS)
    const actual = await trainAls(table, {
      ...OPTIONS,
      device: 'auto',
      clock: slowingClock(),
      onDevice: (...told) => devices.push(told),
    })
    expect(devices).toEqual([['webgpu']])
    expect(relativeDistance(rowsOf(expected), rowsOf(actual))).toBeLessThan(1e-3)
  })

  it('stops between two half iterations on request, and leaves no thread running', async () => {
    const abort = new AbortController()
    const training = trainAls(table, {
      ...OPTIONS,
      device: 'gpu',
      signal: abort.signal,
      onProgress: () => abort.abort(new Error('enough')),
    })
    await expect(training).rejects.toThrow('enough')
    expect(process.getActiveResourcesInfo()).not.toContain('MessagePort')
  })
})

describe('weir train als --device', () => {
  let folder: string
  let ratings: string

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'weir-gpu-'))
    ratings = join(folder, 'u.data')
    writeFileSync(ratings, [...ratingsOf(table)].map((r) => formatRating(r, 'tab')).join('\n'))
  })

  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  const train = (device: string, env: Readonly<Record<string, string>>): Promise<CommandResult> =>
    weir(
      [
        ...['train', 'als', '--no-publish', '--ratings', ratings, '--device', device],
        ...['--factors', '4', '--iterations', '1'],
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

  it('auto trains on the CPU if the adapter is slower, and reports why', async () => {
    const { code, stdout, stderr } = await train('auto', softwareGpu())
    expect(stderr).toMatch(
      /training on the CPU: the GPU took [\d.]+ ms for work that takes the CPU [\d.]+ ms; use device gpu/,
    )
    expect(stdout).toMatch(/ratings in .* s on the CPU/)
    expect(code).toBe(0)
  })

  it('auto trains on the CPU if there is no adapter, and reports why', async () => {
    const { code, stdout, stderr } = await train('auto', NO_GPU)
    expect(stderr).toContain('training on the CPU: no GPU found')
    expect(stdout).toMatch(/ratings in .* s on the CPU/)
    expect(code).toBe(0)
  })

  it('gpu fails with the name of a missing package; the CPU does not need it', async () => {
    const preload = pathToFileURL(join(import.meta.dirname, '../../fixtures/without-package.ts'))
    const env = { NODE_OPTIONS: `--import=${preload}`, WITHOUT_PACKAGE: 'onnxruntime-node' }
    const { code, stderr } = await train('gpu', env)
    expect(code).toBe(1)
    expect(stderr).toContain(
      'run `ONNXRUNTIME_NODE_INSTALL=skip npm install onnxruntime-node` or train with device cpu',
    )
    expect(await train('cpu', env)).toMatchObject({ code: 0 })
  })
})
