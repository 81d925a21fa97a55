import { Worker } from 'node:worker_threads'
import { WeirError } from '../core/errors.ts'
import type { AlsDevice } from './als-device.ts'
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

  /** Moves a problem to the GPU, in place of an earlier one. Throws GPU_FAILED. */
  async load(share: AlsShare): Promise<AlsDevice> {
    await request(this.worker, { kind: 'load', share })
    return {
      solve: async (side, isWanted) => {
        await request(this.worker, { kind: 'solve', side, isWanted })
      },
      // The next problem or the end of the thread frees it.
      async [Symbol.asyncDispose]() {},
    }
  }

  /** Frees what is on the GPU, then ends the thread. */
  async [Symbol.asyncDispose](): Promise<void> {
    await request(this.worker, { kind: 'close' })
    await this.worker.terminate()
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
