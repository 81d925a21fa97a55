import { siblingModule } from '../../core/sibling-module.ts'
import type { AlsDeviceName } from '../als/solver/options.ts'
import { GpuThread } from '../gpu/thread.ts'
import { callingThread, type TrainingThreads, workerThreads } from '../threads/training-threads.ts'
import { BmfDrawer, type BmfTask } from './drawing/drawer.ts'
import type { BmfShare } from './drawing/share.ts'
import type { BmfWorkerData } from './drawing/worker.ts'
import type { GpuBmfWork } from './gpu/worker.ts'

/** What draws the rows of a chain: threads of this machine, or the thread of a GPU. */
export interface BmfDevice extends TrainingThreads<BmfTask> {
  readonly name: AlsDeviceName
}

/** The CPU: `count` workers, or this thread for 0 (tests and small data). */
export function cpuDevice(share: BmfShare, count: number): BmfDevice {
  const threads =
    count === 0 ? callingThread(new BmfDrawer(share, 0)) : drawingThreads(share, count)
  return {
    name: 'cpu',
    run: (task) => threads.run(task),
    [Symbol.asyncDispose]: () => threads[Symbol.asyncDispose](),
  }
}

function drawingThreads(share: BmfShare, count: number): TrainingThreads<BmfTask> {
  const dataOf = (worker: number): BmfWorkerData => ({ share, worker })
  return workerThreads(siblingModule('./drawing/worker', import.meta.url), count, dataOf)
}

/**
 * A GPU, with the chain's state of the share copied to it, and `threads` workers that compute normal numbers for it, or its
 * own thread for 0. Throws GPU_UNAVAILABLE and GPU_FAILED.
 */
export async function gpuDevice(share: BmfShare, threads: number): Promise<BmfDevice> {
  const thread = await GpuThread.open<GpuBmfWork>(siblingModule('./gpu/worker', import.meta.url))
  try {
    await thread.run({ kind: 'load', share, threads })
  } catch (error) {
    await thread[Symbol.asyncDispose]()
    throw error
  }
  return {
    name: thread.provider,
    run: (task) => thread.run(task),
    [Symbol.asyncDispose]: () => thread[Symbol.asyncDispose](),
  }
}
