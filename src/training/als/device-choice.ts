import type { Clock } from '../../core/clock.ts'
import { isWeirError } from '../../core/errors.ts'
import { ResourceStack } from '../../core/lifetime/resource-stack.ts'
import type { RatingsTable } from '../data/ratings-table.ts'
import { GpuAlsThread } from './gpu/device.ts'
import { type AlsDevice, cpuDevice } from './solver/device.ts'
import type { AlsOptions, AlsSettings } from './solver/options.ts'
import { type AlsShare, alsShare } from './solver/share.ts'
import { initialiseFactors } from './solver/start.ts'
import { trialSample } from './trial-sample.ts'

/** A training problem, before it is laid out for a device. */
export interface AlsProblem {
  readonly table: RatingsTable
  /** Settings for the CPU; a GPU always solves by conjugate gradient. */
  readonly settings: AlsSettings
  readonly mean: number
}

/** Time of each device for the same half iteration, ms. */
export interface DeviceTimes {
  readonly cpuMs: number
  readonly gpuMs: number
}

/** The device to train on; for the CPU with the reason. */
export type DeviceVerdict =
  | { readonly device: 'gpu' }
  | { readonly device: 'cpu'; readonly reason: string }

/** Opens the two devices of a trial. */
export interface TrialDevices {
  cpu(share: AlsShare): AlsDevice
  gpu(share: AlsShare): Promise<AlsDevice>
}

/** Ratings of each trial. The last one fills whole batches; the first one finds very slow devices. */
const TRIAL_RATINGS = [1000, 16_000, 256_000]
/** If a GPU needs longer for a trial, the larger trials are left out: they take up to 16 times as long. */
const LONGEST_TRIAL_MS = 100

/**
 * The GPU of the options, or undefined for the CPU; reports the device to `onDevice`. `auto` takes a
 * GPU that is faster in a trial. Throws GPU_UNAVAILABLE if the options require a GPU.
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

/** A GPU that is faster than the CPU, or the reason why there is none. */
async function fasterGpu(problem: AlsProblem): Promise<GpuAlsThread | string> {
  const { clock, threads } = problem.settings
  try {
    await using opened = new ResourceStack()
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
  const reason = `the GPU took ${gpu} ms for work that takes the CPU ${cpu} ms; use device gpu to train on it anyway`
  return { device: 'cpu', reason }
}

/**
 * Times both devices on growing samples of the problem, at most on all its ratings; returns the last
 * times. Throws GPU_FAILED.
 */
export async function timeDevices(
  { table, settings, mean }: AlsProblem,
  devices: TrialDevices,
  clock: Clock,
): Promise<DeviceTimes> {
  const startedShare = (sample: RatingsTable, solver: AlsSettings['solver']): AlsShare => {
    const share = alsShare(sample, { ...settings, solver }, mean)
    initialiseFactors(share, { table: sample, settings, mean })
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

/** Time of a user half iteration, ms; an untimed one before compiles shaders and starts threads. */
async function secondSolveMs(device: AlsDevice, clock: Clock): Promise<number> {
  await device.solve('users', false)
  const startMs = clock.monotonicMs()
  await device.solve('users', false)
  return clock.monotonicMs() - startMs
}
