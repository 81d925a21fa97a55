import { Worker } from 'node:worker_threads'
import { WeirError } from '../core/errors.ts'
import type { AlsShare } from './als-share.ts'
import { type AlsSideName, AlsSolver } from './als-solver.ts'

/** Runs half iterations on some threads. */
export interface AlsThreads extends AsyncDisposable {
  /** Resolves when every row of the side is solved. */
  runHalf(side: AlsSideName): Promise<void>
}

/** Threads for a share; 0 threads solve in the calling one, for tests and tiny data. */
export function alsThreads(share: AlsShare, threads: number): AlsThreads {
  if (threads === 0) return new CallingThread(share)
  return new WorkerThreads(share, threads)
}

class CallingThread implements AlsThreads {
  private readonly share: AlsShare
  private readonly solver: AlsSolver

  constructor(share: AlsShare) {
    this.share = share
    this.solver = new AlsSolver(share, 0)
  }

  runHalf(side: AlsSideName): Promise<void> {
    Atomics.store(this.share.nextChunk, 0, 0)
    this.solver.runHalf(side)
    return Promise.resolve()
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

/** The worker's module: TypeScript in development, JavaScript in the built package. */
function workerModule(): URL {
  const extension = import.meta.url.endsWith('.ts') ? '.ts' : '.js'
  return new URL(`./als-worker${extension}`, import.meta.url)
}

class WorkerThreads implements AlsThreads {
  private readonly share: AlsShare
  private readonly workers: readonly Worker[]

  constructor(share: AlsShare, threads: number) {
    this.share = share
    this.workers = Array.from(
      { length: threads },
      (_, worker) => new Worker(workerModule(), { workerData: { share, worker } }),
    )
  }

  async runHalf(side: AlsSideName): Promise<void> {
    Atomics.store(this.share.nextChunk, 0, 0)
    await Promise.all(this.workers.map((worker) => solveOn(worker, side)))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.terminate()))
  }
}

/** Resolves at the worker's answer; fails if it ends instead. */
function solveOn(worker: Worker, side: AlsSideName): Promise<void> {
  return new Promise((resolve, reject) => {
    const onMessage = (): void => settle(resolve)
    const onError = (error: unknown): void => settle(() => reject(error))
    const onExit = (code: number): void =>
      settle(() =>
        reject(new WeirError('OPERATOR_FAILED', `a training thread ended with code ${code}`)),
      )
    const settle = (finish: () => void): void => {
      worker.off('message', onMessage).off('error', onError).off('exit', onExit)
      finish()
    }
    worker.once('message', onMessage).once('error', onError).once('exit', onExit)
    worker.postMessage(side)
  })
}
