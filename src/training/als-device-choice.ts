import type { Clock } from '../core/clock.ts'
import { isWeirError } from '../core/errors.ts'
import { type AlsDevice, cpuDevice } from './als-device.ts'
import type { AlsOptions, AlsSettings } from './als-options.ts'
import { type AlsShare, alsShare } from './als-share.ts'
import { initialiseFactors } from './als-start.ts'
import { trialSample } from './als-trial-sample.ts'
import { GpuAlsThread } from './gpu-als-device.ts'
import type { RatingsTable } from './ratings-table.ts'

/** What is to be trained, before it is laid out for a device. */
export interface AlsProblem {
  readonly table: RatingsTable
  /** Those of the CPU; a GPU solves by conjugate gradient instead of exactly. */
  readonly settings: AlsSettings
  readonly mean: number
}

/** How long each device took for the same half iteration, in milliseconds. */
export interface DeviceTimes {
  readonly cpuMs: number
  readonly gpuMs: number
}

/** The device to train on, and why where it is not the GPU. */
export type DeviceVerdict =
  | { readonly device: 'gpu' }
  | { readonly device: 'cpu'; readonly reason: string }

/** The two devices of a trial: each lays out a problem. */
export interface TrialDevices {
  cpu(share: AlsShare): AlsDevice
  gpu(share: AlsShare): Promise<AlsDevice>
}

/** Ratings of one trial after the other: the last fills batches, the first shows what is hopeless. */
const TRIAL_RATINGS = [1000, 16_000, 256_000]
/** A GPU that needs longer for a trial gets no larger one: it would take up to 16 times as long. */
const LONGEST_TRIAL_MS = 100

/**
 * The GPU that the options ask for, or undefined for the CPU; tells `onDevice` which it is. `auto`
 * takes a GPU that has been seen to be faster. Throws GPU_UNAVAILABLE where a GPU is a must.
 */
export async function gpuOf(
  options: AlsOptions,
  problem: AlsProblem,
): Promise<GpuAlsThread | undefined> {
  const { device = 'cpu', onDevice } = options
  if (device === 'auto') {
    const found =
      options.solver === 'cholesky' ? 'a GPU has no exact solver' : await fasterGpu(problem)
    if (typeof found !== 'string') onDevice?.(found.provider)
    else onDevice?.('cpu', found)
    return typeof found === 'string' ? undefined : found
  }
  const gpu = device === 'gpu' ? await GpuAlsThread.open() : undefined
  onDevice?.(gpu?.provider ?? 'cpu')
  return gpu
}

/** A GPU that is faster than the CPU, or why there is none. */
async function fasterGpu(problem: AlsProblem): Promise<GpuAlsThread | string> {
  const { clock, threads } = problem.settings
  try {
    await using opened = new AsyncDisposableStack()
    const gpu = opened.use(await GpuAlsThread.open())
    const devices: TrialDevices = {
      cpu: (share) => cpuDevice(share, threads),
      gpu: (share) => gpu.load(share),
    }
    const verdict = deviceVerdict(await timeDevices(problem, devices, clock))
    if (verdict.device === 'cpu') return verdict.reason
    opened.move()
    return gpu
  } catch (error) {
    if (isWeirError(error, 'GPU_UNAVAILABLE')) return String(error.details['cause'])
    if (isWeirError(error, 'GPU_FAILED')) return error.message
    throw error
  }
}

/** The GPU if it took less time than the CPU. */
export function deviceVerdict({ cpuMs, gpuMs }: DeviceTimes): DeviceVerdict {
  if (gpuMs < cpuMs) return { device: 'gpu' }
  const [gpu, cpu] = [gpuMs, cpuMs].map((ms) => Number(ms.toPrecision(2)))
  const reason = `the graphics adapter took ${gpu} ms for what the CPU does in ${cpu} ms; device gpu insists`
  return { device: 'cpu', reason }
}

/**
 * Times both devices on more and more ratings of the problem, up to all of a small one. The last
 * times count. Throws GPU_FAILED.
 */
export async function timeDevices(
  { table, settings, mean }: AlsProblem,
  devices: TrialDevices,
  clock: Clock,
): Promise<DeviceTimes> {
  const startedShare = (sample: RatingsTable, solver: AlsSettings['solver']): AlsShare => {
    const share = alsShare(sample, { ...settings, solver }, mean)
    initialiseFactors(share, sample, settings, mean, undefined)
    return share
  }
  let times: DeviceTimes = { cpuMs: 0, gpuMs: 0 }
  for (const ratings of TRIAL_RATINGS) {
    const sample = trialSample(table, ratings)
    await using cpu = devices.cpu(startedShare(sample, settings.solver))
    await using gpu = await devices.gpu(startedShare(sample, 'cg'))
    times = { cpuMs: await secondSolveMs(cpu, clock), gpuMs: await secondSolveMs(gpu, clock) }
    if (sample.size === table.size || times.gpuMs > LONGEST_TRIAL_MS) break
  }
  return times
}

/** Milliseconds of a user half; the one before compiles shaders and starts threads. */
async function secondSolveMs(device: AlsDevice, clock: Clock): Promise<number> {
  await device.solve('users', false)
  const startMs = clock.monotonicMs()
  await device.solve('users', false)
  return clock.monotonicMs() - startMs
}
