import { Worker } from 'node:worker_threads'
import { WeirError } from '../core/errors.ts'

/** What takes part in a training run: does its share of one phase, then waits for the next. */
export interface TrainingParticipant<Phase> {
  /** Returns when nothing of the phase is left to take. */
  run(phase: Phase): void
}

/** Runs the phases of a training run on some threads. */
export interface TrainingThreads<Phase> extends AsyncDisposable {
  /** Resolves when every thread has finished the phase; what they wrote is visible then. */
  run(phase: Phase): Promise<void>
}

/** One participant in the calling thread, for tests and tiny data. */
export function callingThread<Phase>(
  participant: TrainingParticipant<Phase>,
): TrainingThreads<Phase> {
  return {
    async run(phase) {
      participant.run(phase)
    },
    async [Symbol.asyncDispose]() {},
  }
}

/**
 * `threads` workers of a module in this folder. Each is started with `dataOf(worker)`, makes its
 * participant and hands it to `serveTraining`.
 */
export function workerThreads<Phase>(
  module: string,
  threads: number,
  dataOf: (worker: number) => unknown,
): TrainingThreads<Phase> {
  // TypeScript in development, JavaScript in the built package.
  const extension = import.meta.url.endsWith('.ts') ? '.ts' : '.js'
  const url = new URL(`./${module}${extension}`, import.meta.url)
  const workers = Array.from(
    { length: threads },
    (_, worker) => new Worker(url, { workerData: dataOf(worker) }),
  )
  return {
    async run(phase) {
      await Promise.all(workers.map((worker) => runOn(worker, phase)))
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(workers.map((worker) => worker.terminate()))
    },
  }
}

/** Resolves at the worker's answer; fails if it ends instead. */
function runOn(worker: Worker, phase: unknown): Promise<void> {
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
    worker.postMessage(phase)
  })
}
