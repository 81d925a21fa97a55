import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { isWeirError } from '../../src/core/errors.ts'
import { generateRatings } from '../../src/models/ratings/generator.ts'
import type {
  AlsDeviceName,
  AlsOptions,
  AlsProgress,
} from '../../src/training/als/solver/options.ts'
import { trainAls } from '../../src/training/als/train.ts'
import { type RatingsTable, ratingsTable } from '../../src/training/data/ratings-table.ts'
import type { Benchmark, Figure } from '../harness/benchmark.ts'
import { scaled } from '../load/model-shape.ts'
import { median, rounded } from '../load/statistics.ts'

const FACTORS = 64
const ITERATIONS = 3
/** The software adapter of Debian's chromium, for machines without a GPU. */
const SOFTWARE_DRIVER = '/usr/lib/chromium/vk_swiftshader_icd.json'
/** Share of the ratings on a software adapter, which shows that the path works but not how fast it is. */
const SOFTWARE_SHARE = 0.0001

/**
 * `train-als-gpu`: ratings a second of explicit ALS on the GPU beside two threads of the CPU, on the ratings
 * of `train-als`. A software adapter gets one ten-thousandth of them.
 */
export const trainAlsGpuBenchmark: Benchmark = {
  name: 'train-als-gpu',
  summary: 'ALS on a GPU, 64 factors, CG 3; the figure names the adapter',
  async run({ scale, say }) {
    const provider = await providerHere()
    if (provider === undefined) {
      say('no GPU, and no software adapter either (apt-get install chromium libvulkan1)')
      return []
    }
    const adapter = adapterName()
    const share = scale * (/swiftshader/i.test(adapter) ? SOFTWARE_SHARE : 1)
    say(`generating ratings for ${adapter}`)
    const table = ratingsTable(
      generateRatings({
        users: scaled(138_493, share),
        items: scaled(26_744, share),
        ratings: scaled(20_000_000, share),
        factors: 16,
      }),
    )
    return [await measure(table, adapter, provider)]
  },
}

async function measure(
  table: RatingsTable,
  adapter: string,
  provider: AlsDeviceName,
): Promise<Figure> {
  const options: AlsOptions = { factors: FACTORS, iterations: ITERATIONS, solver: 'cg', threads: 2 }
  const gpu = (await trainAls(table, { ...options, device: 'gpu' })).history
  const cpu = (await trainAls(table, options)).history
  const [ours, rival] = [gpu.at(-1)?.objective ?? 0, cpu.at(-1)?.objective ?? 1]
  return {
    name: `train-als-gpu-${FACTORS}`,
    value: table.size / secondsOf(gpu),
    unit: 'ratings/s',
    rival: table.size / secondsOf(cpu),
    rivalName: 'the CPU, two threads',
    details: {
      adapter,
      provider,
      ratings: table.size,
      users: table.users.length,
      items: table.items.length,
      secondsPerIteration: rounded(secondsOf(gpu)),
      objectiveBesideCpu: rounded(Math.abs(ours / rival - 1)),
    },
  }
}

/** Median seconds of an iteration, without the first one, which also compiles. */
function secondsOf(history: readonly AlsProgress[]): number {
  const ends = history.filter(({ side }) => side === 'items').map(({ seconds }) => seconds)
  return median(ends.slice(1).map((end, i) => end - (ends[i] ?? 0)))
}

/**
 * The execution provider that reaches a GPU on this machine. Where Linux has no graphics device, this selects
 * the software adapter first, because the runtime looks for adapters only once per process.
 */
async function providerHere(): Promise<AlsDeviceName | undefined> {
  const hasDevice = ['/dev/dri', '/dev/nvidia0', '/dev/dxg'].some((path) => existsSync(path))
  if (!hasDevice && existsSync(SOFTWARE_DRIVER)) process.env['VK_ICD_FILENAMES'] ??= SOFTWARE_DRIVER
  let provider: AlsDeviceName | undefined
  const onDevice = (name: AlsDeviceName): void => {
    provider = name
  }
  const one = [{ user: 'u', item: 'i', rating: 1, timestamp: 0 }]
  try {
    await trainAls(one, { device: 'gpu', factors: 1, iterations: 1, onDevice })
  } catch (error) {
    if (!isWeirError(error, 'GPU_UNAVAILABLE')) throw error
  }
  return provider
}

/** The driver that the environment selects, or what nvidia-smi reports. ONNX Runtime does not give the name. */
function adapterName(): string {
  const drivers = process.env['VK_ICD_FILENAMES']
  if (drivers !== undefined) {
    const { ICD } = JSON.parse(readFileSync(drivers, 'utf8')) as { ICD: { library_path: string } }
    return basename(ICD.library_path).includes('swiftshader')
      ? 'SwiftShader (software, on the CPU)'
      : basename(ICD.library_path)
  }
  try {
    const query = ['--query-gpu=name', '--format=csv,noheader']
    return execFileSync('nvidia-smi', query, { encoding: 'utf8' }).trim()
  } catch {
    return 'a GPU of unknown name'
  }
}
