import { Worker } from 'node:worker_threads'
import { WeirError } from '../../core/errors.ts'

/** Participant of a training run: does its share of a phase, then waits for the next phase. */
export interface TrainingParticipant<Phase> {
  /** Returns, or resolves, when no work of the phase is left to take. */
  run(phase: Phase): void | Promise<void>
}

/** Threads that run the phases of a training run. */
export interface TrainingThreads<Phase> extends AsyncDisposable {
  /** Resolves when every thread has finished the phase and its writes are visible. */
  run(phase: Phase): Promise<void>
}

/** One participant in the calling thread, for tests and small data. */
export function callingThread<Phase>(
  participant: TrainingParticipant<Phase>,
): TrainingThreads<Phase> {
  return {
    async run(phase) {
      await participant.run(phase)
    },
    async [Symbol.asyncDispose]() {},
  }
}

/**
 * `threads` workers of a module. Each starts with the data `dataOf(worker)` and passes its participant
 * to `serveTraining`.
 */
export function workerThreads<Phase>(
  module: URL,
  threads: number,
  dataOf: (worker: number) => unknown,
): TrainingThreads<Phase> {
  const workers = Array.from(
    { length: threads },
    (_, worker) => new Worker(module, { workerData: dataOf(worker) }),
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

/** Resolves at the answer of the worker; rejects if the worker ends first. */
function runOn(worker: Worker, phase: unknown): Promise<void> {
  return new Promise((resolve, reject) => {
    const onMessage = (): void => settle(resolve)
    const onError = (error: unknown): void => settle(() => reject(error))
    const onExit = (code: number): void =>
      settle(() =>
        reject(new WeirError('OPERATOR_FAILED', `a training thread ended with exit code ${code}`)),
      )
    const settle = (finish: () => void): void => {
      worker.off('message', onMessage).off('error', onError).off('exit', onExit)
      finish()
    }
    worker.once('message', onMessage).once('error', onError).once('exit', onExit)
    worker.postMessage(phase)
  })
}
