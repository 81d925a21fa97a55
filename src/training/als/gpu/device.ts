import { siblingModule } from '../../../core/sibling-module.ts'
import type { GpuProvider } from '../../gpu/runtime.ts'
import { GpuThread } from '../../gpu/thread.ts'
import type { AlsDevice } from '../solver/device.ts'
import type { AlsShare } from '../solver/share.ts'
import type { GpuAlsWork } from './worker.ts'

/** A GPU that solves ALS problems, and the thread that uses it. */
export class GpuAlsThread implements AsyncDisposable {
  private readonly thread: GpuThread<GpuAlsWork>

  private constructor(thread: GpuThread<GpuAlsWork>) {
    this.thread = thread
  }

  /** Starts the thread and opens a GPU. Throws GPU_UNAVAILABLE. */
  static async open(): Promise<GpuAlsThread> {
    return new GpuAlsThread(await GpuThread.open(siblingModule('./worker', import.meta.url)))
  }

  get provider(): GpuProvider {
    return this.thread.provider
  }

  /** Copies a problem to the GPU, replacing an earlier one. Throws GPU_FAILED. */
  async load(share: AlsShare): Promise<AlsDevice> {
    await this.thread.run({ kind: 'load', share })
    return {
      solve: (side, needsRows) => this.thread.run({ kind: 'solve', side, needsRows }),
      // The next problem or the end of the thread frees the memory.
      async [Symbol.asyncDispose]() {},
    }
  }

  /** Frees the memory of the GPU, then ends the thread. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.thread[Symbol.asyncDispose]()
  }
}
