import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { isWeirError } from '../../src/core/errors.ts'
import { generateRatings } from '../../src/models/ratings/generator.ts'
import { type RatingsTable, ratingsTable } from '../../src/training/data/ratings-table.ts'
import { type GpuProvider, openGpuRuntime } from '../../src/training/gpu/runtime.ts'
import type { BenchmarkOptions, Figure } from '../harness/benchmark.ts'
import { scaled } from '../load/model-shape.ts'

/** The software adapter of Debian's chromium, for machines without a GPU. */
const SOFTWARE_DRIVER = '/usr/lib/chromium/vk_swiftshader_icd.json'

/** A GPU of this machine. */
export interface GpuAdapter {
  /** Its name as far as the driver or `nvidia-smi` has it; ONNX Runtime does not give it. */
  readonly name: string
  readonly provider: GpuProvider
  /** A software adapter shows that the path works, not how fast it is. */
  readonly isSoftware: boolean
}

/**
 * The GPU that ONNX Runtime finds, or undefined. Where Linux has no graphics device, this selects the software
 * adapter first, because the runtime looks for adapters only once per process.
 */
async function gpuAdapter(): Promise<GpuAdapter | undefined> {
  const hasDevice = ['/dev/dri', '/dev/nvidia0', '/dev/dxg'].some((path) => existsSync(path))
  if (!hasDevice && existsSync(SOFTWARE_DRIVER)) process.env['VK_ICD_FILENAMES'] ??= SOFTWARE_DRIVER
  try {
    const { provider } = await openGpuRuntime()
    const name = adapterName()
    return { name, provider, isSoftware: /swiftshader/i.test(name) }
  } catch (error) {
    if (isWeirError(error, 'GPU_UNAVAILABLE')) return undefined
    throw error
  }
}

/** The driver that the environment selects, or what nvidia-smi reports. */
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

/** Share of the ratings on a software adapter. */
const SOFTWARE_SHARE = 0.0001

/** The ratings of `train-als` at a scale; a software adapter gets one ten-thousandth of them. */
function gpuRatings({ isSoftware }: GpuAdapter, scale: number): RatingsTable {
  const share = scale * (isSoftware ? SOFTWARE_SHARE : 1)
  return ratingsTable(
    generateRatings({
      users: scaled(138_493, share),
      items: scaled(26_744, share),
      ratings: scaled(20_000_000, share),
      factors: 16,
    }),
  )
}

/** What a benchmark measures on a GPU, with the ratings of `train-als`. */
export type MeasureOnGpu = (
  table: RatingsTable,
  adapter: GpuAdapter,
  say: (line: string) => void,
) => Promise<Figure>

/** The figure of a benchmark on the GPU of this machine; none where there is no GPU. */
export async function figuresOnGpu(
  { scale, say }: BenchmarkOptions,
  measure: MeasureOnGpu,
): Promise<Figure[]> {
  const adapter = await gpuAdapter()
  if (adapter === undefined) {
    say('no GPU, and no software adapter either (apt-get install chromium libvulkan1)')
    return []
  }
  say(`generating ratings for ${adapter.name}`)
  return [await measure(gpuRatings(adapter, scale), adapter, say)]
}
