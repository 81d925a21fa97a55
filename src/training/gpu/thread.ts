import { Worker } from 'node:worker_threads'
import { WeirError } from '../../core/errors.ts'
import type { GpuProvider } from './runtime.ts'
import type { GpuAnswer, GpuRequest } from './serve-gpu.ts'

/** A GPU and the thread that uses it, because ONNX Runtime blocks the calling thread. */
export class GpuThread<Work> implements AsyncDisposable {
  readonly provider: GpuProvider
  private readonly worker: Worker

  private constructor(worker: Worker, provider: GpuProvider) {
    this.worker = worker
    this.provider = provider
  }

  /**
   * Starts a thread on a module that calls `serveGpu`, and opens a GPU in it. Throws GPU_UNAVAILABLE.
   */
  static async open<Work>(
    module: URL,
    providers: readonly GpuProvider[] = ['cuda', 'webgpu'],
  ): Promise<GpuThread<Work>> {
    const worker = new Worker(module)
    try {
      const provider = await request<Work>(worker, { kind: 'open', providers })
      return new GpuThread<Work>(worker, provider ?? 'cpu')
    } catch (error) {
      await worker.terminate()
      throw error
    }
  }

  /** Resolves when the work is done; one work at a time. Throws GPU_FAILED. */
  async run(work: Work): Promise<void> {
    await request(this.worker, { kind: 'work', work })
  }

  /** Frees the memory of the GPU, then ends the thread. */
  async [Symbol.asyncDispose](): Promise<void> {
    await request<Work>(this.worker, { kind: 'close' })
    await this.worker.terminate()
  }
}

/** Sends a request and waits for the answer. Rejects if the thread ends first. */
function request<Work>(
  worker: Worker,
  message: GpuRequest<Work>,
): Promise<GpuProvider | undefined> {
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
