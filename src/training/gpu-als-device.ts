import { Worker } from 'node:worker_threads'
import { isWeirError, WeirError } from '../core/errors.ts'
import type { AlsDevice } from './als-device.ts'
import type { AlsOptions } from './als-options.ts'
import type { AlsShare } from './als-share.ts'
import type { GpuAnswer, GpuRequest } from './gpu-als-worker.ts'
import type { GpuProvider } from './gpu-runtime.ts'

/** A GPU that was found, in a thread of its own. */
export class GpuAlsThread implements AsyncDisposable {
  readonly provider: GpuProvider
  private readonly worker: Worker

  private constructor(worker: Worker, provider: GpuProvider) {
    this.worker = worker
    this.provider = provider
  }

  /** Starts the thread and looks for a GPU. Throws GPU_UNAVAILABLE. */
  static async open(providers: readonly GpuProvider[] = ['cuda', 'webgpu']): Promise<GpuAlsThread> {
    const extension = import.meta.url.endsWith('.ts') ? '.ts' : '.js'
    const worker = new Worker(new URL(`./gpu-als-worker${extension}`, import.meta.url))
    try {
      const provider = await request(worker, { kind: 'open', providers })
      return new GpuAlsThread(worker, provider ?? 'cpu')
    } catch (error) {
      await worker.terminate()
      throw error
    }
  }

  /** Moves a problem to the GPU; it stays there until the thread ends. Throws GPU_FAILED. */
  async load(share: AlsShare): Promise<AlsDevice> {
    await request(this.worker, { kind: 'load', share })
    return {
      solve: async (side, isWanted) => {
        await request(this.worker, { kind: 'solve', side, isWanted })
      },
      // What holds the thread ends it.
      async [Symbol.asyncDispose]() {},
    }
  }

  /** Frees what is on the GPU, then ends the thread. */
  async [Symbol.asyncDispose](): Promise<void> {
    await request(this.worker, { kind: 'close' })
    await this.worker.terminate()
  }
}

/**
 * The GPU that the options ask for, or undefined for the CPU; tells `onDevice` which it is. Throws
 * GPU_UNAVAILABLE where a GPU is a must.
 */
export async function gpuOf(options: AlsOptions): Promise<GpuAlsThread | undefined> {
  const { device = 'cpu', onDevice } = options
  if (device === 'auto' && options.solver === 'cholesky') {
    onDevice?.('cpu', 'a GPU has no exact solver')
    return undefined
  }
  try {
    const gpu = device === 'cpu' ? undefined : await GpuAlsThread.open()
    onDevice?.(gpu?.provider ?? 'cpu')
    return gpu
  } catch (error) {
    if (device !== 'auto' || !isWeirError(error, 'GPU_UNAVAILABLE')) throw error
    onDevice?.('cpu', String(error.details['cause']))
    return undefined
  }
}

/** Sends a request and waits for the answer; fails if the thread ends instead. */
function request(worker: Worker, message: GpuRequest): Promise<GpuProvider | undefined> {
  return new Promise((resolve, reject) => {
    const settle = (finish: () => void): void => {
      worker.off('message', onMessage).off('error', onError).off('exit', onExit)
      finish()
    }
    const onError = (error: unknown): void => settle(() => reject(error))
    const onExit = (code: number): void =>
      settle(() => reject(new WeirError('GPU_FAILED', `the GPU's thread ended with code ${code}`)))
    const onMessage = (answer: GpuAnswer): void =>
      settle(() => {
        if ('provider' in answer) resolve(answer.provider)
        else {
          const { code, message, details } = answer.failed
          reject(new WeirError(code, message, { details }))
        }
      })
    worker.once('message', onMessage).once('error', onError).once('exit', onExit)
    worker.postMessage(message)
  })
}
