import { Worker } from 'node:worker_threads'
import { WeirError } from '../../../core/errors.ts'
import { siblingModule } from '../../../core/sibling-module.ts'
import type { AlsDevice } from '../solver/device.ts'
import type { AlsShare } from '../solver/share.ts'
import type { GpuProvider } from './runtime.ts'
import type { GpuAnswer, GpuRequest } from './worker.ts'

/** A GPU and the thread that uses it. */
export class GpuAlsThread implements AsyncDisposable {
  readonly provider: GpuProvider
  private readonly worker: Worker

  private constructor(worker: Worker, provider: GpuProvider) {
    this.worker = worker
    this.provider = provider
  }

  /** Starts the thread and opens a GPU. Throws GPU_UNAVAILABLE. */
  static async open(providers: readonly GpuProvider[] = ['cuda', 'webgpu']): Promise<GpuAlsThread> {
    const worker = new Worker(siblingModule('./worker', import.meta.url))
    try {
      const provider = await request(worker, { kind: 'open', providers })
      return new GpuAlsThread(worker, provider ?? 'cpu')
    } catch (error) {
      await worker.terminate()
      throw error
    }
  }

  /** Copies a problem to the GPU, replacing an earlier one. Throws GPU_FAILED. */
  async load(share: AlsShare): Promise<AlsDevice> {
    await request(this.worker, { kind: 'load', share })
    return {
      solve: async (side, needsRows) => {
        await request(this.worker, { kind: 'solve', side, needsRows })
      },
      // The next problem or the end of the thread frees the memory.
      async [Symbol.asyncDispose]() {},
    }
  }

  /** Frees the memory of the GPU, then ends the thread. */
  async [Symbol.asyncDispose](): Promise<void> {
    await request(this.worker, { kind: 'close' })
    await this.worker.terminate()
  }
}

/** Sends a request and waits for the answer. Rejects if the thread ends first. */
function request(worker: Worker, message: GpuRequest): Promise<GpuProvider | undefined> {
  return new Promise((resolve, reject) => {
    const settle = (finish: () => void): void => {
      worker.off('message', onMessage).off('error', onError).off('exit', onExit)
      finish()
    }
    const onError = (error: unknown): void => settle(() => reject(error))
    const onExit = (code: number): void =>
      settle(() =>
        reject(new WeirError('GPU_FAILED', `the thread of the GPU ended with exit code ${code}`)),
      )
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
